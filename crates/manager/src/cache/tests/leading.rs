//! The caches of a standby that becomes the leader.

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kbr_testing::eventually;
use kube::api::ObjectMeta;
use tokio::{sync::mpsc, time::timeout};

use super::*;

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
        .owns::<Secret>()
        .reconcile(move |map: Arc<ConfigMap>, _| {
            let text = map.data.as_ref().and_then(|data| data.get("text"));
            let sent = sender.send(text.cloned().unwrap_or_default());
            async move { Ok(sent.map(|()| Action::await_change())?) }
        });
    let caches = manager.caches.clone();
    run(manager);
    let filled = async || {
        let states = caches.states();
        let mut states = states.values();
        Ok(states.all(|it| it.cache.is_complete()).then_some(()))
    };
    eventually(SOON, "the caches", filled).await.unwrap();
    texts
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
    assert!(asked.iter().all(|what| what == "watch"), "{asked:?}");
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
