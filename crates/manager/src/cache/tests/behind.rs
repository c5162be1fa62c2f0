//! Caches whose watch delivers nothing while controllers write.

use crate::{kind, metadata};
use std::sync::atomic::AtomicUsize;

use k8s_openapi::api::core::v1::Service;
use kbr_testing::eventually;
use kube::{Resource, ResourceExt, api::PartialObjectMeta};

use super::*;
use crate::controller::context::Context as Cx;

const SOON: Duration = Duration::from_secs(60);

fn named<K: Resource + Default>(name: &str) -> K {
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    object
}

/// A manager of `ConfigMap`s with children, and how often this function has ended well. Its watches deliver nothing
/// once it has synced.
fn behind<F, R>(server: &Server, reconcile: F) -> Arc<AtomicUsize>
where
    F: Fn(Arc<ConfigMap>, Cx<ConfigMap>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = anyhow::Result<Action>> + Send + 'static,
{
    let (ended, held) = (Arc::new(AtomicUsize::new(0)), server.held.clone());
    let count = ended.clone();
    server.api.put(&named::<ConfigMap>("parent"));
    let mut manager = server.empty_manager(Options::default());
    manager
        .controller::<ConfigMap>("map")
        .owns(kind::<Secret>())
        .owns(metadata::<Service>())
        .reconcile(move |map, cx| {
            // The first reconcile starts when the caches have synced.
            if count.load(Ordering::SeqCst) == 0 {
                held.send_replace(true);
            }
            let (count, result) = (count.clone(), reconcile(map, cx));
            async move {
                let action = result.await?;
                count.fetch_add(1, Ordering::SeqCst);
                Ok(action)
            }
        });
    run(manager);
    ended
}

async fn reached(count: &AtomicUsize, wanted: usize) {
    let look = async || Ok((count.load(Ordering::SeqCst) >= wanted).then_some(()));
    eventually(SOON, "the reconciles", look).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_child_with_a_generated_name_is_created_once() {
    async fn reconcile(_: Arc<ConfigMap>, cx: Cx<ConfigMap>) -> anyhow::Result<Action> {
        if cx.children::<Secret>()?.is_empty() {
            let mut secret = Secret::default();
            secret.metadata.generate_name = Some("child-".to_owned());
            let secret = cx.create(&secret).await?;
            let found = cx.get::<Secret>(&*secret.name_any())?;
            anyhow::ensure!(found.is_some(), "a created child is not read");
        }
        if cx.children::<PartialObjectMeta<Service>>()?.is_empty() {
            cx.create(&named::<Service>("child")).await?;
        }
        anyhow::ensure!(cx.list::<Secret>().keys()?.len() == 1, "not in the list");
        Ok(Action::requeue(Duration::from_secs(1)))
    }
    let server = Server::new();
    let ended = behind(&server, reconcile);
    reached(&ended, 3).await;
    server.held.send_replace(false);
    let before = ended.load(Ordering::SeqCst);
    reached(&ended, before + 3).await;
    assert_eq!(server.api.all::<Secret>().len(), 1);
    let sent = server.api.requests();
    let creations = sent.iter().filter(|request| request.starts_with("POST"));
    assert_eq!(creations.count(), 2, "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn each_write_of_a_reconcile_is_seen_by_the_reads_after_it() {
    async fn reconcile(map: Arc<ConfigMap>, cx: Cx<ConfigMap>) -> anyhow::Result<Action> {
        let read = |cx: &Cx<ConfigMap>| cx.get::<Secret>("child");
        let first = cx.apply(&named::<Secret>("child")).await?;
        anyhow::ensure!(read(&cx)?.is_some(), "not applied");
        let label = |secret: &mut Secret| {
            secret.labels_mut().insert("a".to_owned(), "b".to_owned());
        };
        cx.update(&*first, label).await?;
        let labelled = cx.list::<Secret>().with_label("a", "b").all()?;
        anyhow::ensure!(labelled.len() == 1, "not labelled");
        cx.delete(&*first).await?;
        anyhow::ensure!(read(&cx)?.is_none(), "not deleted");
        anyhow::ensure!(cx.children::<Secret>()?.is_empty(), "still a child");
        // The deleted child does not count as up to date.
        let second = cx.apply(&named::<Secret>("child")).await?;
        let found = read(&cx)?.and_then(|found| found.uid());
        anyhow::ensure!(
            second.uid() != first.uid() && found == second.uid(),
            "not new"
        );
        let mark = |map: &mut ConfigMap| {
            map.labels_mut().insert("done".to_owned(), String::new());
        };
        cx.update(&*map, mark).await?;
        let own = cx.get::<ConfigMap>("parent")?;
        anyhow::ensure!(
            own.is_some_and(|own| own.labels().contains_key("done")),
            "not marked"
        );
        Ok(Action::await_change())
    }
    let server = Server::new();
    reached(&behind(&server, reconcile), 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_metadata_of_a_deleted_child_hides_it() {
    async fn reconcile(_: Arc<ConfigMap>, cx: Cx<ConfigMap>) -> anyhow::Result<Action> {
        cx.create(&named::<Service>("child")).await?;
        cx.create(&named::<Secret>("child")).await?;
        for child in cx.children::<PartialObjectMeta<Service>>()? {
            cx.delete(&*child).await?;
        }
        anyhow::ensure!(
            cx.children::<PartialObjectMeta<Service>>()?.is_empty(),
            "still there"
        );
        cx.delete(&named::<Secret>("child")).await?;
        anyhow::ensure!(cx.children::<Secret>()?.is_empty(), "still a child");
        Ok(Action::await_change())
    }
    let server = Server::new();
    reached(&behind(&server, reconcile), 1).await;
    assert!(server.api.all::<Service>().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_write_is_read_by_every_controller_and_by_code_outside_of_them() {
    let (server, read) = (Server::new(), Arc::new(AtomicUsize::new(0)));
    server.api.put(&named::<ConfigMap>("writer"));
    server.api.put(&named::<Service>("reader"));
    let mut manager = server.empty_manager(Options::default());
    manager.reads(kind::<Secret>());
    let (held, outside) = (server.held.clone(), manager.reader());
    manager
        .controller::<ConfigMap>("writer")
        .reconcile(move |_, cx: Cx<ConfigMap>| {
            held.send_replace(true);
            let outside = outside.clone();
            async move {
                outside.synced().await;
                let (child, key) = (named::<Secret>("child"), "default/child");
                let found = || anyhow::Ok(outside.get::<Secret>(key)?.is_some());
                cx.apply(&child).await?;
                anyhow::ensure!(found()?, "an applied child is not read");
                cx.delete(&child).await?;
                anyhow::ensure!(!found()?, "a deleted child is read");
                cx.create(&child).await?;
                anyhow::ensure!(found()?, "a created child is not read");
                Ok(Action::await_change())
            }
        });
    let counted = read.clone();
    manager
        .controller::<Service>("reader")
        .reads(kind::<Secret>())
        .reconcile(move |_, cx: Cx<Service>| {
            let found = cx.get::<Secret>("child").map(|found| found.is_some());
            counted.fetch_add(usize::from(matches!(found, Ok(true))), Ordering::SeqCst);
            async { Ok(Action::requeue(Duration::from_secs(1))) }
        });
    run(manager);
    reached(&read, 1).await;
}
