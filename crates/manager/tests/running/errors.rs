//! Test that an author can tell the errors of writes apart.

use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kbr_testing::FakeApi;
use kube::{Resource as _, ResourceExt as _};
use manager::{Action, Context, Manager, WriteError, kind};

use crate::support::{Captain, captain, object};

/// The error of this write in a reconcile of the captain `hook`, with context.
async fn error<R>(
    api: &FakeApi,
    write: impl Fn(Arc<Captain>, Context<Captain>) -> R + Clone + Send + Sync + 'static,
) -> WriteError
where
    R: Future<Output = anyhow::Result<Arc<ConfigMap>>> + Send + 'static,
{
    let found: Arc<Mutex<Option<WriteError>>> = Arc::default();
    let finding = found.clone();
    let register = |manager: &mut Manager| {
        manager.cache::<ConfigMap>().with_label("crew", "whaler");
        manager
            .controller::<Captain>("captain")
            .owns(kind::<ConfigMap>())
            .reconcile(move |captain, cx: Context<Captain>| {
                let (write, found) = (write.clone(), finding.clone());
                async move {
                    let error = write(captain, cx).await.context("cannot sail").unwrap_err();
                    *found.lock().unwrap() = error.downcast_ref().cloned();
                    Ok(Action::await_change())
                }
            });
    };
    api.reconcile(register, "hook").await.unwrap();
    found.lock().unwrap().take().unwrap()
}

/// The error of a reconcile that applies the `ConfigMap` `chart`.
async fn applied(api: &FakeApi) -> WriteError {
    let apply = async |captain: Arc<Captain>, cx: Context<Captain>| {
        let mut chart = object("chart", "");
        if captain.spec.chart == "selected" {
            let label = ("crew".to_owned(), "whaler".to_owned());
            chart.labels_mut().extend([label]);
        }
        cx.apply(&chart).await
    };
    error(api, apply).await
}

fn sailing(order: &str) -> FakeApi {
    let api = FakeApi::new();
    api.put(&captain("hook", order));
    api
}

#[tokio::test]
async fn an_object_that_is_not_a_child_is_an_error_with_its_owner() {
    let api = sailing("selected");
    api.put(&object("chart", ""));
    let error = applied(&api).await;
    assert!(
        matches!(&error, WriteError::NotChild { kind, key, owner: None, .. }
            if kind == "ConfigMap" && *key == "default/chart".into()),
        "{error:?}"
    );
    let mut chart = object("chart", "");
    chart.owner_references_mut().push(OwnerReference {
        kind: "Captain".to_owned(),
        name: "ahab".to_owned(),
        uid: "another".to_owned(),
        ..OwnerReference::default()
    });
    api.put(&chart);
    let error = applied(&api).await;
    assert!(
        matches!(&error, WriteError::NotChild { owner: Some(owner), .. } if owner.name == "ahab"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_child_of_an_earlier_object_is_an_error_of_its_own() {
    let api = sailing("selected");
    let hook: Captain = api.get("default", "hook").unwrap();
    let mut owner = hook.controller_owner_ref(&()).unwrap();
    owner.uid = "earlier".to_owned();
    let mut chart = object("chart", "");
    chart.owner_references_mut().push(owner);
    api.put(&chart);
    let error = applied(&api).await;
    assert!(
        matches!(&error, WriteError::ChildOfEarlier { owner, .. } if owner.name == "hook"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_child_that_is_not_selected_is_an_error_with_the_selector() {
    let error = applied(&sailing("")).await;
    assert!(
        matches!(&error, WriteError::NotSelected { selector, .. } if selector == "crew=whaler"),
        "{error:?}"
    );
}
