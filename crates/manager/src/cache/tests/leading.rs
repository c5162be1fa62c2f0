//! The caches of a standby that becomes the leader.

use crate::{kind, metadata};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kbr_testing::eventually;
use kube::api::ObjectMeta;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use super::{
    faulty::{Fault, Faulty, Line, Streamed},
    *,
};
use crate::cache::{caches::Caches, reader::Reader};

const SOON: Duration = Duration::from_secs(60);

/// The Lease, held by this process for an hour.
fn lease(holder: &str) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some("test.example.com".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(3600),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }),
    }
}

fn map(text: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some("a".to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), text.to_owned())].into()),
        ..ConfigMap::default()
    }
}

/// A warm standby whose caches are filled, beside another leader. It sends the text of each object that it reconciles.
async fn standby(server: &Server) -> mpsc::UnboundedReceiver<String> {
    server.api.put(&lease("another"));
    server.api.put(&map("old"));
    let mut manager = server.empty_manager(Options {
        leader_elect: true,
        warm_standby: true,
        ..patient()
    });
    let (sender, texts) = mpsc::unbounded_channel();
    manager
        .controller::<ConfigMap>("map")
        .owns(metadata::<Secret>())
        .reconcile(move |map: Arc<ConfigMap>, _| {
            let text = map.data.as_ref().and_then(|data| data.get("text"));
            let sent = sender.send(text.cloned().unwrap_or_default());
            async move { Ok(sent.map(|()| Action::await_change())?) }
        });
    let caches = manager.caches.clone();
    run(manager);
    filled(&caches).await;
    texts
}

async fn filled(caches: &Caches) {
    let filled = async || {
        let states = caches.states();
        let mut states = states.values();
        Ok(states.all(|it| it.cache.is_complete()).then_some(()))
    };
    eventually(SOON, "the caches", filled).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_standby_whose_watches_were_dead_reconciles_what_is_there_when_it_leads() {
    let server = Server::new();
    let mut texts = standby(&server).await;
    server.frozen.send_modify(|times| *times += 1);
    server.api.put(&map("new"));
    let asked = server.asked("configmaps").len();
    server.api.put(&lease(""));
    assert_eq!(texts.recv().await.as_deref(), Some("new"));
    // It lists nothing again.
    let asked = server.asked("configmaps").split_off(asked);
    assert_eq!(asked, ["latest", "watch"]);
}

/// The first object that a warm standby reconciles when it leads, if there is a new one which its watches do not deliver
/// from now on.
async fn first_reconciled(fault: Fault) -> String {
    let server = Faulty::new(Streamed::Faulty);
    server.api.put(&lease("another"));
    let (manager, seen) = server.manager(Options {
        leader_elect: true,
        warm_standby: true,
        ..patient()
    });
    let caches = manager.caches.clone();
    let running = run(manager);
    filled(&caches).await;
    server.set(fault);
    server.api.put(&faulty::map("new"));
    server.api.put(&lease(""));
    let first = async || Ok(seen.lock().unwrap().first().cloned());
    let first = eventually(5 * SOON, "a reconcile", first).await.unwrap();
    running.abort();
    first
}

#[tokio::test(start_paused = true)]
async fn a_standby_reconciles_nothing_before_its_watch_or_a_list_has_reached_the_latest_version() {
    const SECONDS: Duration = Duration::from_secs(3);
    for fault in [
        // The connection of the new watch is frozen, too.
        Fault::Unanswered,
        Fault::Silent(&[]),
        Fault::Silent(&[Line::Old]),
        // The API server lags.
        Fault::Ends(&[], SECONDS),
        Fault::Ends(&[Line::Old], SECONDS),
        Fault::Breaks(&[Line::Old], SECONDS),
        Fault::Ends(&[Line::Old, Line::Old], SECONDS * 100),
        Fault::Ends(&[Line::Error(410)], SECONDS),
        Fault::Status(403),
    ] {
        assert_eq!(first_reconciled(fault).await, "new", "{fault:?}");
    }
}

/// A replica that caches Secrets for its webhooks, and waits to lead.
async fn reads_everywhere(server: &Server) -> (Reader, JoinHandle<anyhow::Result<()>>) {
    server.api.put(&lease("another"));
    server.api.put(&map("old"));
    let mut manager = server.empty_manager(Options {
        leader_elect: true,
        ..Options::default()
    });
    manager.reads(kind::<Secret>());
    manager
        .controller::<ConfigMap>("map")
        .reads(kind::<Secret>())
        .reconcile(async |_, _| Ok(Action::await_change()));
    let reader = manager.reader();
    let running = run(manager);
    reader.synced().await;
    (reader, running)
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_that_cannot_bring_the_caches_of_every_replica_up_to_date_ends() {
    let server = Server::new();
    let (_, running) = reads_everywhere(&server).await;
    // Longer than the limit for the caches of a new replica.
    sleep(SOON * 5).await;
    server.reject(&[("secrets", 403)]);
    sleep(SOON).await;
    server.api.put(&lease(""));
    let ended = timeout(Duration::from_secs(150), running).await;
    let error = ended.unwrap().unwrap().unwrap_err().to_string();
    assert!(error.contains("Secret: cannot list"), "{error}");
    assert!(!error.contains("ConfigMap"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn webhooks_read_what_is_complete_while_a_new_leader_waits_for_it_to_be_up_to_date() {
    let server = Server::new();
    let mut secret = Secret::default();
    secret.metadata.name = Some("a".to_owned());
    server.api.put(&secret);
    let (reader, _running) = reads_everywhere(&server).await;
    server.reject(&[("secrets", 403)]);
    server.api.put(&lease(""));
    sleep(SOON).await;
    timeout(Duration::from_secs(1), reader.synced())
        .await
        .unwrap();
    assert!(reader.get::<Secret>("default/a").unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_standby_reconciles_nothing_before_each_of_its_caches_is_proved() {
    let server = Server::new();
    let mut texts = standby(&server).await;
    server.reject(&[("secrets", 500)]);
    server.api.put(&lease(""));
    let early = timeout(Duration::from_secs(300), texts.recv()).await;
    assert!(early.is_err(), "{early:?}");
    server.reject(&[]);
    assert_eq!(texts.recv().await.as_deref(), Some("old"));
}

#[tokio::test(start_paused = true)]
async fn a_standby_reconciles_a_second_after_it_leads() {
    let server = Server::new();
    let mut texts = standby(&server).await;
    server.api.put(&lease(""));
    let leads = async || {
        let lease: Lease = server.api.get("default", "test.example.com").unwrap();
        let holder = lease.spec.unwrap().holder_identity;
        Ok(holder.filter(|holder| !holder.is_empty()))
    };
    eventually(SOON, "it leads", leads).await.unwrap();
    let led = Instant::now();
    assert!(texts.recv().await.is_some());
    assert!(
        led.elapsed() <= Duration::from_millis(1_100),
        "{:?}",
        led.elapsed()
    );
}
