//! What the issues of well-known operators report.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        batch::v1::Job,
        core::v1::{ConfigMap, Container},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kbr_testing::{External, FakeApi, Simulation, simulate};
use kube::{
    Resource as _,
    api::{ApiResource, GroupVersionKind, PostParams},
};
use manager::{
    Action, Cleanup, Context, Dynamic, DynamicKind, Manager, kind,
    webhook::{Defaulter, Rejection, Request},
};
use serde_json::json;

use crate::kinds::{
    CleanedUp, Reconciled, Ship, clean, done, flag, found, histories, log, map, name, pair,
    pair_in, raw, ship, ships, unsuspected,
};

const FINALIZER: &str = "crew.example.com/ship";

fn one(register: fn(&mut Manager)) -> Simulation {
    simulate(register).object(&ship("argo"))
}

/// Changes the template of a Job, which no one can change: each reconcile fails from then on, as in `VolSync`.
#[test]
fn the_template_of_a_job_is_changed() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let flag = flag(&ship);
        let mut job = Job::default();
        job.metadata.name = Some(name(&ship, if BUGGY { "job" } else { &flag }));
        let template = &mut job.spec.get_or_insert_default().template;
        template.spec.get_or_insert_default().containers = vec![Container {
            name: "sail".to_owned(),
            image: Some(flag),
            ..Container::default()
        }];
        cx.apply(&job).await?;
        for other in cx.children::<Job>()? {
            if other.metadata.name != job.metadata.name {
                cx.delete(&*other).await?;
            }
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        let ships = ships.owns(kind::<Job>());
        ships.reconcile(reconcile::<BUGGY>);
    }
    pair(register::<true>, register::<false>);
}

/// Asks only once whether an optional kind is there, and works with it after a restart, as the Kuadrant operator did.
#[test]
fn a_kind_that_is_installed_later_is_not_noticed() {
    enum Monitor {}
    impl DynamicKind for Monitor {
        type Scope = NamespaceResourceScope;

        fn resource() -> &'static ApiResource {
            static MONITORS: std::sync::LazyLock<ApiResource> = std::sync::LazyLock::new(|| {
                let kind = GroupVersionKind::gvk("monitoring.example.com", "v1", "Monitor");
                ApiResource::from_gvk_with_plural(&kind, "monitors")
            });
            &MONITORS
        }
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let memory = Arc::new(Mutex::new(None));
        let ships = ships(manager).owns(kind::<Dynamic<Monitor>>().optional());
        ships.reconcile(move |ship: Arc<Ship>, cx: Context<Ship>| {
            let memory = memory.clone();
            async move {
                let now = cx.is_installed::<Dynamic<Monitor>>()?;
                let first = *memory.lock().unwrap().get_or_insert(now);
                if if BUGGY { first } else { now } {
                    let spec = json!({"spec": {"flag": "red"}});
                    let monitor = Dynamic::<Monitor>::new(&name(&ship, "monitor"), spec);
                    cx.apply(&monitor).await?;
                }
                done()
            }
        });
    }
    pair_in(register::<true>, register::<false>, |register| {
        one(register)
            .user("removes the kind", |api: &FakeApi| {
                api.uninstall::<Dynamic<Monitor>>();
            })
            .user("installs it", |api: &FakeApi| {
                api.install::<Dynamic<Monitor>>();
            })
    });
}

/// What several objects share belongs to the one that came first, and goes with it, as in the operator of Istio.
#[test]
fn what_is_shared_belongs_to_the_first_one() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let maps = raw::<ConfigMap>(&cx);
        let owner = OwnerReference {
            controller: None,
            block_owner_deletion: None,
            ..ship.controller_owner_ref(&()).unwrap_or_default()
        };
        let mut shared = map("shared", "to", "all");
        let Some(found) = cx.get_live::<ConfigMap>("shared").await? else {
            shared.metadata.owner_references = Some(vec![owner]);
            maps.create(&PostParams::default(), &shared).await?;
            return done();
        };
        let mut wanted = (*found).clone();
        wanted.data = shared.data;
        let owners = wanted.metadata.owner_references.get_or_insert_default();
        if !BUGGY && !owners.iter().any(|it| it.uid == owner.uid) {
            owners.push(owner);
        }
        if wanted != *found {
            let params = PostParams::default();
            maps.replace("shared", &params, &wanted).await?;
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        let ships = ships.watches(kind::<ConfigMap>(), |map, cached| {
            // The buggy one looks after it, and not after who owns it.
            let is_it = map.metadata.name.as_deref() == Some("shared");
            if is_it && !BUGGY || map.metadata.deletion_timestamp.is_some() {
                return cached.list::<Ship>().keys();
            }
            Ok(Vec::new())
        });
        ships.reconcile(reconcile::<BUGGY>);
    }
    pair_in(register::<true>, register::<false>, |register| {
        one(register).object(&ship("bounty"))
    });
}

/// Adds something to what the user has written, each time anyone writes the object.
#[test]
fn a_default_is_set_again() {
    struct Marks<const BUGGY: bool>;
    impl<const BUGGY: bool> Defaulter<Ship> for Marks<BUGGY> {
        async fn default(&self, ship: &mut Ship, _: &Request<Ship>) -> Result<(), Rejection> {
            let flag = flag(ship);
            if BUGGY || !flag.ends_with("-flag") {
                ship.spec.flag = Some(format!("{flag}-flag"));
            }
            Ok(())
        }
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager.defaulter::<Ship>(Marks::<BUGGY>);
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            done()
        });
    }
    pair_in(register::<true>, register::<false>, one);
}

/// What a service outside the cluster holds: a state by name.
type Rooms = BTreeMap<String, String>;

/// A pair that differs in how it cleans up.
#[track_caller]
fn served<A, B>(buggy: fn(External<Rooms>) -> A, repaired: fn(External<Rooms>) -> B)
where
    A: Future<Output = CleanedUp> + Send + 'static,
    B: Future<Output = CleanedUp> + Send + 'static,
{
    found(cleaned_up_by(buggy));
    unsuspected(cleaned_up_by(repaired).histories(histories()));
}

fn cleaned_up_by<R>(cleanup: fn(External<Rooms>) -> R) -> Simulation
where
    R: Future<Output = CleanedUp> + Send + 'static,
{
    let cloud = External::new("cloud");
    let simulation = simulate(move |manager| register(manager, cloud.clone(), cleanup));
    simulation.object(&ship("argo"))
}

/// A controller that puts its object into the service, and cleans up so.
fn register<R>(manager: &mut Manager, cloud: External<Rooms>, cleanup: fn(External<Rooms>) -> R)
where
    R: Future<Output = CleanedUp> + Send + 'static,
{
    let service = cloud.clone();
    let ships = manager.controller::<Ship>("ship");
    let ships = ships.finalizer(FINALIZER, move |_, _| cleanup(service.clone()));
    ships.reconcile(move |ship: Arc<Ship>, _: Context<Ship>| {
        let cloud = cloud.clone();
        async move {
            let put = |rooms: &mut Rooms| drop(rooms.insert("room".to_owned(), flag(&ship)));
            cloud.call("opens a room", put).await?;
            done()
        }
    });
}

/// Takes what is gone for a failure of its deletion: the finalizer stays, as in the operators of Pocket ID and Twingate.
#[test]
fn what_is_gone_in_a_service_cannot_be_deleted() {
    async fn cleanup<const BUGGY: bool>(cloud: External<Rooms>) -> CleanedUp {
        let close = |rooms: &mut Rooms| rooms.remove("room").is_some();
        let was_there = cloud.call("closes a room", close).await?;
        anyhow::ensure!(was_there || !BUGGY, "404 Not Found");
        Ok(Cleanup::Done)
    }
    served(cleanup::<true>, cleanup::<false>);
}

/// Takes the begin of a deletion for its end, as Aiven's operator did.
#[test]
fn a_service_has_only_begun_to_delete() {
    async fn cleanup<const BUGGY: bool>(cloud: External<Rooms>) -> CleanedUp {
        let begin = |rooms: &mut Rooms| {
            for room in rooms.values_mut() {
                "closing".clone_into(room);
            }
        };
        cloud.call("begins to close a room", begin).await?;
        if BUGGY {
            return Ok(Cleanup::Done);
        }
        // It takes until someone looks.
        let look = |rooms: &mut Rooms| !std::mem::take(rooms).is_empty();
        if cloud.call("says whether a room is open", look).await? {
            return Ok(Cleanup::Again(Duration::from_secs(5)));
        }
        Ok(Cleanup::Done)
    }
    served(cleanup::<true>, cleanup::<false>);
}

/// Looks once a minute after its last look, and not at the full minute.
#[test]
fn one_period_after_the_last_time() {
    fn register(manager: &mut Manager) {
        ships(manager).reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
            cx.apply(&log(&ship)).await?;
            Ok(Action::requeue(Duration::from_secs(60)))
        });
    }
    clean(one(register).every(Duration::from_secs(60)));
}
