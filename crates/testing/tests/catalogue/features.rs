//! What the library offers, under simulation: selections, optional kinds, kinds without a Rust type, migrations of the stored
//! version, and bookmarks. Its own writes and warm standbys are elsewhere: all twins have the ones, and `failover` the others.

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use futures_util::StreamExt as _;
use k8s_openapi::{
    NamespaceResourceScope, api::core::v1::ConfigMap,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kbr_testing::{FakeApi, Oracle, simulate};
use kube::{
    Api, CustomResourceExt as _,
    api::{ApiResource, GroupVersionKind, WatchEvent, WatchParams},
};
use manager::{Context, Dynamic, DynamicKind, Manager, kind};
use serde_json::json;

use crate::kinds::{Reconciled, Ship, clean, done, flag, log, map, name, ship, ships, voyage};

/// Caches only the maps with a label. One that loses it looks as if it were deleted.
#[test]
fn a_selection_of_a_kind() {
    const LABEL: &str = "app.kubernetes.io/part-of";
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut log = log(&ship);
        log.metadata.labels = Some([(LABEL.to_owned(), "ships".to_owned())].into());
        cx.apply(&log).await?;
        let count = cx.list::<ConfigMap>().all()?.len();
        cx.status(|status| status.count = u32::try_from(count).unwrap_or_default());
        done()
    }
    let simulation = voyage(|manager| {
        manager.cache::<ConfigMap>().with_label(LABEL, "ships");
        let ships = manager.controller::<Ship>("ship");
        ships.owns(kind::<ConfigMap>()).reconcile(reconcile);
    });
    let simulation = simulation.world(&map("other", "a", "b")).user(
        "takes the label off the log",
        |api: &FakeApi| {
            if api.get::<ConfigMap>("default", "argo-log").is_some() {
                api.edit::<ConfigMap>("default", "argo-log", |map| map.metadata.labels = None);
            }
        },
    );
    clean(simulation);
}

/// A kind of another operator, which may be missing.
enum Monitor {}

impl DynamicKind for Monitor {
    type Scope = NamespaceResourceScope;

    fn resource() -> &'static ApiResource {
        static MONITORS: LazyLock<ApiResource> = LazyLock::new(|| {
            let kind = GroupVersionKind::gvk("monitoring.example.com", "v1", "Monitor");
            ApiResource::from_gvk_with_plural(&kind, "monitors")
        });
        &MONITORS
    }
}

async fn monitor(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    cx.apply(&log(&ship)).await?;
    if cx.is_installed::<Dynamic<Monitor>>()? {
        let spec = json!({"spec": {"flag": flag(&ship)}});
        let monitor = Dynamic::<Monitor>::new(&name(&ship, "monitor"), spec);
        cx.apply(&monitor).await?;
    }
    done()
}

/// Writes a kind without a Rust type.
#[test]
fn a_kind_without_a_rust_type() {
    let simulation = voyage(|manager| {
        let ships = ships(manager).owns(kind::<Dynamic<Monitor>>().optional());
        ships.reconcile(monitor);
    });
    clean(simulation);
}

/// Goes on while an optional kind is removed, and writes it once it is back.
#[test]
fn an_optional_kind() {
    fn register(manager: &mut Manager) {
        let ships = ships(manager).owns(kind::<Dynamic<Monitor>>().optional());
        ships.reconcile(monitor);
    }
    let simulation = simulate(register)
        .object(&ship("argo"))
        .user("removes the kind of monitors", |api: &FakeApi| {
            api.uninstall::<Dynamic<Monitor>>();
        })
        .user("installs it again", |api: &FakeApi| {
            api.install::<Dynamic<Monitor>>();
        });
    clean(simulation);
}

/// Rewrites the ships of an earlier version, and then drops that version from the definition.
#[test]
fn a_migration_of_the_stored_version() {
    static IS_MIGRATED: AtomicBool = AtomicBool::new(false);
    let mut crd = Ship::crd();
    let status = crd.status.get_or_insert_default();
    status.stored_versions = Some(vec!["v1alpha1".to_owned(), "v1".to_owned()]);
    let name = Ship::crd_name();
    let simulation = voyage(|manager| {
        manager.migrate_storage::<Ship>();
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            done()
        });
    });
    let simulation = simulation
        .without(Oracle::Counts, "the next process delegates it again")
        .world(&crd)
        .always("a stored version is kept", move |api| {
            let crds = api.all::<CustomResourceDefinition>();
            let crd = crds
                .iter()
                .find(|crd| crd.metadata.name.as_deref() == Some(name));
            let stored = crd.and_then(|crd| crd.status.as_ref()?.stored_versions.clone());
            let stored = stored.unwrap_or_default();
            if stored == ["v1"] {
                IS_MIGRATED.store(true, Ordering::Relaxed);
            }
            stored.iter().any(|version| version == "v1")
        });
    clean(simulation);
    assert!(IS_MIGRATED.load(Ordering::Relaxed));
}

/// A watch is sent a bookmark once a minute.
#[test]
fn bookmarks_arrive() {
    static HAVE_ARRIVED: AtomicBool = AtomicBool::new(false);
    fn register(manager: &mut Manager) {
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            done()
        });
        let client = manager.client();
        manager.always("look", move |_| async move {
            let ships = Api::<Ship>::namespaced(client, "default");
            let events = ships.watch(&WatchParams::default(), "0").await?;
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                if matches!(event?, WatchEvent::Bookmark(_)) {
                    HAVE_ARRIVED.store(true, Ordering::Relaxed);
                }
            }
            std::future::pending().await
        });
    }
    let summary = voyage(register).histories(5).check().unwrap();
    assert!(HAVE_ARRIVED.load(Ordering::Relaxed), "{summary}");
}
