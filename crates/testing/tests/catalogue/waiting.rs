//! Operators that wait for what others do, and learn of it too late, twice or never.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::Job,
    core::v1::{ConfigMap, Container},
};
use kbr_testing::{FakeApi, Oracle, Simulation};
use manager::{Context, Manager, kind};
use serde_json::json;

use crate::kinds::{
    Reconciled, Ship, done, flag, log, map, name, pair_in, pods_of, raw, ships, voyage,
    write_status,
};

fn with_kubelet(register: fn(&mut Manager)) -> Simulation {
    voyage(register).kubelet()
}

/// Reads whether its Deployment is available, but does not watch it.
#[test]
fn a_deployment_that_becomes_available_is_not_noticed() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let mut crew = Deployment::default();
        crew.metadata.name = Some(name(&ship, "crew"));
        crew.spec.replicas = Some(i32::try_from(ship.spec.sails)?);
        (crew.spec.selector, crew.spec.template) = pods_of("crew");
        let crew = cx.apply(&crew).await?;
        let available = crew.status.as_ref().and_then(|it| it.available_replicas);
        let count = u32::try_from(available.unwrap_or_default())?;
        cx.status(|status| status.count = count);
        done()
    }
    pair_in(
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships.reconcile(reconcile);
        },
        |manager| {
            let ships = manager.controller::<Ship>("ship");
            ships.owns(kind::<Deployment>()).reconcile(reconcile);
        },
        with_kubelet,
    );
}

#[test]
fn an_object_that_waits_without_a_kubelet_gets_a_hint() {
    fn register(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship");
        ships
            .owns(kind::<Job>())
            .conditions_only(|status| &mut status.conditions)
            .reconcile(async |ship: Arc<Ship>, cx: Context<Ship>| {
                let job = cx.apply(&job(&ship)).await?;
                if has_ended(&job) {
                    cx.ready("Sailed", "");
                } else {
                    cx.not_ready("Sailing", "");
                }
                done()
            });
    }
    let hint = "`Ship default/argo` is not ready, and nothing runs `Job default/argo-voyage`: `.kubelet()` runs a fake kubelet";
    let is_hint = |note: &String| note == hint;
    let notes = voyage(register).histories(1).check().unwrap().notes;
    assert!(notes.iter().any(is_hint), "{notes:?}");
    let notes = with_kubelet(register).histories(1).check().unwrap().notes;
    assert!(!notes.iter().any(is_hint), "{notes:?}");
    let waits = voyage(register).always("no job exists", |api| api.all::<Job>().is_empty());
    let story = waits.check().unwrap_err().to_string();
    assert!(story.contains(&format!("\nhelp: {hint}\n")), "{story}");
}

/// A Job that ends.
fn job(ship: &Ship) -> Job {
    let mut job = Job::default();
    job.metadata.name = Some(name(ship, "voyage"));
    let template = &mut job.spec.get_or_insert_default().template;
    template.spec.get_or_insert_default().containers = vec![Container {
        name: "sail".to_owned(),
        ..Container::default()
    }];
    job
}

fn has_ended(job: &Job) -> bool {
    let status = job.status.as_ref();
    status.is_some_and(|status| status.completion_time.is_some())
}

fn sailors(manager: &mut Manager) -> manager::Controller<'_, Ship> {
    let ships = manager.controller::<Ship>("ship");
    ships.owns(kind::<Job>())
}

/// Deletes its Job, and then writes down that it has ended.
#[test]
fn a_job_runs_again_because_its_end_is_written_down_last() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        // Not what a watch has delivered: it may lag behind.
        let now = cx.get_live::<Ship>(cx.name()).await?;
        let status = now.and_then(|now| now.status.clone());
        let is_done = status.is_some_and(|it| it.phase == "Sailed");
        let known = cx.get::<Job>(&*name(&ship, "voyage"))?;
        let ended = known.as_ref().is_some_and(|job| has_ended(job));
        if !is_done && known.is_none() {
            cx.apply(&job(&ship)).await?;
        }
        if ended && !is_done && !BUGGY {
            write_status(&cx, &json!({"phase": "Sailed"})).await?;
        }
        if let Some(job) = known.filter(|_| ended) {
            cx.delete(&*job).await?;
            if BUGGY {
                write_status(&cx, &json!({"phase": "Sailed"})).await?;
            }
        }
        done()
    }
    // A user who deletes a running Job wants it to run again.
    fn undisturbed(register: fn(&mut Manager)) -> Simulation {
        with_kubelet(register).skip("by hand", "it runs again")
    }
    pair_in(
        |manager| sailors(manager).reconcile(reconcile::<true>),
        |manager| sailors(manager).reconcile(reconcile::<false>),
        undisturbed,
    );
}

/// Deletes its Job when it has ended, and does not see it at the next look.
#[test]
fn a_job_that_has_ended_is_missing() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        match cx.get::<Job>(&*name(&ship, "voyage"))? {
            Some(job) if has_ended(&job) && BUGGY => cx.delete(&*job).await?,
            Some(_) => {}
            None => drop(cx.apply(&job(&ship)).await?),
        }
        done()
    }
    pair_in(
        |manager| sailors(manager).reconcile(reconcile::<true>),
        |manager| sailors(manager).reconcile(reconcile::<false>),
        with_kubelet,
    );
}

/// Deletes the old child before it creates the new one, so for a while no child exists.
#[test]
fn there_is_nothing_while_a_child_is_replaced() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted = name(&ship, &flag(&ship));
        let children = cx.children::<ConfigMap>()?;
        let old = children.iter();
        let old: Vec<_> = old
            .filter(|child| child.metadata.name.as_ref() != Some(&wanted))
            .collect();
        if !BUGGY {
            cx.apply(&map(&wanted, "flag", "up")).await?;
        }
        for child in old {
            cx.delete(&**child).await?;
        }
        if BUGGY {
            cx.apply(&map(&wanted, "flag", "up")).await?;
        }
        cx.status(|status| "Ready".clone_into(&mut status.phase));
        done()
    }
    fn flagged(register: fn(&mut Manager)) -> Simulation {
        let is_ready = |ship: &Ship| {
            let status = ship.status.as_ref();
            status.is_some_and(|status| status.phase == "Ready")
                && ship.metadata.deletion_timestamp.is_none()
        };
        let holds = move |api: &FakeApi| {
            let ready = api.all::<Ship>().iter().any(is_ready);
            !ready || !api.all::<ConfigMap>().is_empty()
        };
        voyage(register)
            .always("a ship that is ready has a flag", holds)
            .skip(
                "by hand",
                "a user who deletes the flag expects none for a while",
            )
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        flagged,
    );
}

/// Writes a failure into the status, and does not take it back.
#[test]
fn a_failure_stays_in_the_status() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        if let Err(error) = cx.apply(&log(&ship)).await {
            write_status(&cx, &json!({"phase": "Failed"})).await?;
            return Err(error);
        }
        cx.status(|status| {
            if !BUGGY || status.phase.is_empty() {
                "Ready".clone_into(&mut status.phase);
            }
        });
        done()
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        voyage,
    );
}

/// Writes a list whole that another controller fills, too.
#[test]
fn a_list_that_others_fill_is_replaced() {
    async fn report<const BUGGY: bool>(of: &str, ship: &Ship, cx: &Context<Ship>) -> Reconciled {
        let status = ship.status.clone().unwrap_or_default();
        let found = status.conditions.iter().find(|found| found.type_ == of);
        if found.is_some() {
            return done();
        }
        let own = json!({
            "type": of, "status": "True", "reason": "Seen", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let mut all = serde_json::to_value(&status.conditions)?;
        if BUGGY {
            all = json!([]);
        }
        if let Some(list) = all.as_array_mut() {
            list.push(own);
            list.sort_by_key(|condition| condition["type"].to_string());
        }
        // With the version that was read, so that no condition of the other is lost.
        let version = &ship.metadata.resource_version;
        let patch =
            json!({ "metadata": {"resourceVersion": version}, "status": {"conditions": all} });
        let (params, patch) = (
            kube::api::PatchParams::default(),
            kube::api::Patch::Merge(patch),
        );
        raw::<Ship>(cx)
            .patch_status(cx.name(), &params, &patch)
            .await?;
        done()
    }
    async fn sails<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        report::<BUGGY>("Sails", &ship, &cx).await
    }
    async fn crew<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        report::<BUGGY>("Crew", &ship, &cx).await
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let both = manager.controller::<Ship>("sails");
        both.reconcile(sails::<BUGGY>);
        let both = manager.controller::<Ship>("crew");
        both.reconcile(crew::<BUGGY>);
    }
    fn moored(register: fn(&mut Manager)) -> Simulation {
        voyage(register).without(Oracle::Counts, "nothing is created")
    }
    pair_in(register::<true>, register::<false>, moored);
}
