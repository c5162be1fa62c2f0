//! Test that an object is deleted, and created again under the same name, while it is reconciled.

use std::sync::Arc;

use kube::ResourceExt;
use manager::{Action, Context, Manager, testing::FakeApi};

use crate::support::{Captain, captain};

const FINALIZER: &str = "crew.example.com/captain";

/// Another captain of the same name, which has the finalizer.
fn another() -> Captain {
    let mut captain = captain("hook", "");
    captain.finalizers_mut().push(FINALIZER.to_owned());
    captain
}

/// Replaces this captain with another.
fn replace(api: &FakeApi, captain: &Captain) {
    let mut gone = captain.clone();
    gone.metadata.finalizers = None;
    api.put(&gone);
    api.delete::<Captain>("default", "hook");
    api.put(&another());
    let new: Captain = api.get("default", "hook").unwrap();
    assert_ne!(new.uid(), captain.uid());
}

fn register(manager: &mut Manager, api: &FakeApi) {
    let (ours, theirs) = (api.clone(), api.clone());
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer(FINALIZER, move |captain: Arc<Captain>, _| {
            let api = ours.clone();
            async move {
                replace(&api, &captain);
                Ok(Action::await_change())
            }
        })
        .reconcile(move |captain: Arc<Captain>, cx: Context<Captain>| {
            let api = theirs.clone();
            async move {
                replace(&api, &captain);
                cx.ready("Sailing", "all is well");
                Ok(Action::await_change())
            }
        });
}

#[tokio::test]
async fn the_status_is_not_written_to_a_new_object_of_the_same_name() {
    let api = FakeApi::new();
    api.put(&another());
    let reconciled = api.reconcile(|manager| register(manager, &api), "hook");
    reconciled.await.unwrap();
    let new: Captain = api.get("default", "hook").unwrap();
    assert!(new.status.is_none(), "{:?}", new.status);
}

#[tokio::test]
async fn the_finalizer_is_not_removed_from_a_new_object_of_the_same_name() {
    let api = FakeApi::new();
    api.put(&another());
    api.delete::<Captain>("default", "hook");
    let reconciled = api.reconcile(|manager| register(manager, &api), "hook");
    reconciled.await.unwrap();
    let new: Captain = api.get("default", "hook").unwrap();
    assert_eq!(new.finalizers(), [FINALIZER]);
}
