//! Test answers that look as if an object were gone, although it is there.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, eventually};
use kube::{Resource, ResourceExt};
use manager::{Action, Cleanup, Context, Manager, Options};

use crate::{
    Captain, SOON, captain, is_ready, map, run,
    stub::{Fault, Stub},
};

const FINALIZER: &str = "crew.example.com/captain";

/// An API server that does not serve the kind yet.
const UNKNOWN: Fault = Fault::Answer(404, "404 page not found\n");

/// An admission webhook denies the request with the status of a missing object.
const DENIED: Fault = Fault::Answer(
    404,
    r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404, "reason": "NotFound",
        "message": "admission webhook \"v.example.com\" denied the request: captains.crew.example.com \"a\" not found",
        "details": {"name": "a", "group": "crew.example.com", "kind": "captains"}}"#,
);

/// An admission webhook denies the request as a conflict.
const CONFLICT: Fault = Fault::Answer(
    409,
    r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409, "reason": "Conflict",
        "message": "admission webhook \"v.example.com\" denied the request: later"}"#,
);

const CAPTAIN: &str = "/apis/crew.example.com/v1/namespaces/default/captains/a";
const CHILD: &str = "/api/v1/namespaces/default/configmaps/child";

/// Deletes the child of each captain.
fn register(manager: &mut Manager) {
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer(FINALIZER, async |_, _| Ok(Cleanup::Done))
        .reconcile(async |_: Arc<Captain>, cx: Context<Captain>| {
            cx.delete(&map("child")).await?;
            cx.ready("Done", "all is well");
            Ok(Action::await_change())
        });
}

/// A captain with a child.
fn family() -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("a"));
    let owner: Captain = api.get("default", "a").unwrap();
    let mut child = map("child");
    child
        .owner_references_mut()
        .extend(owner.controller_owner_ref(&()));
    api.put(&child);
    api
}

/// Waits for a state of the API server.
async fn until(what: &str, stub: &Stub, state: impl Fn(&Stub) -> bool) {
    let look = async || Ok(state(stub).then_some(()));
    eventually(SOON, what, look).await.unwrap();
}

/// The message of the condition `Ready` of the captain.
fn message(stub: &Stub) -> String {
    let captain = stub.api.get::<Captain>("default", "a");
    let status = captain.and_then(|captain| captain.status);
    let conditions = status.map(|status| status.conditions).unwrap_or_default();
    let ready = conditions.into_iter().find(|one| one.type_ == "Ready");
    ready.map(|ready| ready.message).unwrap_or_default()
}

fn is_done(stub: &Stub) -> bool {
    let captain = stub.api.get::<Captain>("default", "a");
    let child = stub.api.get::<ConfigMap>("default", "child");
    let held = captain.is_some_and(|captain| captain.finalizers() == [FINALIZER]);
    held && child.is_none() && is_ready(stub, "a")
}

/// Answers each request that begins with one of `lines` with `fault`, until the first has been sent again and `shows` is true.
/// Afterwards the captain must become ready, and if it is `deleted`, be removed.
async fn fails(lines: &[String], fault: Fault, deleted: bool, shows: impl Fn(&Stub) -> bool) {
    let (api, broken) = (family(), Arc::new(AtomicBool::new(!deleted)));
    let (breaks, begins) = (broken.clone(), lines.to_vec());
    let stub = Stub::start(&api, move |line, _| {
        let begins = begins.iter().any(|begin| line.starts_with(begin));
        if breaks.load(Ordering::SeqCst) && begins {
            fault
        } else {
            Fault::None
        }
    })
    .await;
    let mut manager = stub.manager(Options::default()).await;
    register(&mut manager);
    let running = run(manager);
    if deleted {
        until("it is ready", &stub, is_done).await;
        broken.store(true, Ordering::SeqCst);
        api.delete::<Captain>("default", "a");
    }
    let again = |stub: &Stub| stub.seen(&lines[0]).len() >= 2 && shows(stub);
    until(
        &format!("{} is sent again after {fault:?}", lines[0]),
        &stub,
        again,
    )
    .await;
    broken.store(false, Ordering::SeqCst);
    if deleted {
        let gone = |stub: &Stub| stub.api.get::<Captain>("default", "a").is_none();
        until("it is removed", &stub, gone).await;
    } else {
        until("it is ready", &stub, is_done).await;
    }
    running.abort();
}

/// Whether the condition shows this, and an answer of the API server.
fn shows(what: &'static str) -> impl Fn(&Stub) -> bool {
    move |stub| {
        let message = message(stub);
        let answers = ["404 page not found", "denied the request"];
        message.starts_with(what) && answers.iter().any(|answer| message.contains(answer))
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_that_is_not_added_is_an_error() {
    for fault in [UNKNOWN, DENIED, CONFLICT] {
        let line = format!("PATCH {CAPTAIN}?");
        fails(&[line], fault, false, shows("cannot change the finalizers")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_that_is_not_removed_is_an_error() {
    for fault in [UNKNOWN, DENIED, CONFLICT] {
        let line = format!("PUT {CAPTAIN}?");
        fails(&[line], fault, true, shows("cannot change the finalizers")).await;
    }
    let line = format!("GET {CAPTAIN}");
    fails(
        &[line],
        UNKNOWN,
        true,
        shows("cannot change the finalizers"),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_not_deleted_is_an_error() {
    for fault in [UNKNOWN, DENIED, CONFLICT] {
        let line = format!("DELETE {CHILD}");
        let says = "cannot delete ConfigMap `default/child`";
        fails(&[line], fault, false, shows(says)).await;
    }
    let line = format!("GET {CHILD}");
    let says = "cannot look whether ConfigMap `default/child` is there";
    fails(&[line], UNKNOWN, false, shows(says)).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_not_written_is_an_error() {
    for fault in [UNKNOWN, DENIED, CONFLICT] {
        let line = format!("PATCH {CAPTAIN}/status?");
        fails(&[line], fault, false, |_| true).await;
    }
    let lines = [format!("PATCH {CAPTAIN}/status?"), format!("GET {CAPTAIN}")];
    fails(&lines, UNKNOWN, false, |_| true).await;
}

#[tokio::test(start_paused = true)]
async fn a_live_read_of_a_kind_that_is_not_served_is_an_error() {
    let stub = Stub::start(&family(), |line, _| {
        if line.contains("/secrets/") {
            UNKNOWN
        } else {
            Fault::None
        }
    })
    .await;
    let mut manager = stub.manager(Options::default()).await;
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(async |_: Arc<Captain>, cx: Context<Captain>| {
            anyhow::ensure!(cx.get_live::<ConfigMap>("none").await?.is_none(), "a map");
            cx.get_live::<k8s_openapi::api::core::v1::Secret>("none")
                .await?;
            Ok(Action::await_change())
        });
    let running = run(manager);
    let says = "cannot read Secret `default/none`: 404 page not found";
    until(says, &stub, |stub| message(stub) == says).await;
    running.abort();
}

/// The kind is not watched, so the child is looked at before.
#[tokio::test(start_paused = true)]
async fn an_object_of_others_that_appears_after_a_child_was_looked_at_is_not_taken_over() {
    let api = family();
    let server = api.clone();
    let stub = Stub::start(&api, move |line, before| {
        if line.starts_with(&format!("PATCH {CHILD}?")) && before == 0 {
            server.delete::<ConfigMap>("default", "child");
            server.put(&map("child"));
        }
        Fault::None
    })
    .await;
    let mut manager = stub.manager(Options::default()).await;
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(async |_: Arc<Captain>, cx: Context<Captain>| {
            cx.apply(&map("child")).await?;
            Ok(Action::await_change())
        });
    let running = run(manager);
    let says = "ConfigMap `default/child` exists and has no owner; it was not changed";
    until(says, &stub, |stub| message(stub).starts_with(says)).await;
    let child: ConfigMap = api.get("default", "child").unwrap();
    assert!(child.owner_references().is_empty());
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_write_that_succeeds_costs_no_read() {
    let stub = Stub::start(&family(), |_, _| Fault::None).await;
    let mut manager = stub.manager(Options::default()).await;
    register(&mut manager);
    let running = run(manager);
    until("it is ready", &stub, is_done).await;
    assert!(stub.seen(&format!("GET {CAPTAIN}")).is_empty());
    running.abort();
}
