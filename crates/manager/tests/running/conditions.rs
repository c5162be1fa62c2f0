//! Test the condition `Ready`, which the manager sets to `False` when a reconcile fails.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kbr_testing::{FakeApi, eventually, is_ready, reason};
use manager::{Action, Cleanup, Context, Manager};

use crate::support::{Captain, CaptainStatus, Running, SOON, captain, object, options};

/// The reconcile first sets a condition of this type, and then fails if the chart of the captain is `fail`.
fn register(manager: &mut Manager, kind: &'static str) {
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(move |captain, cx: Context<Captain>| async move {
            cx.condition(kind, true, "Sailing", "all is well");
            anyhow::ensure!(captain.spec.chart != "fail", "no wind");
            Ok(Action::await_change())
        });
}

fn stored(api: &FakeApi) -> CaptainStatus {
    let captain: Captain = api.get("default", "hook").unwrap();
    captain.status.unwrap_or_default()
}

fn ready(api: &FakeApi) -> Option<Condition> {
    let conditions = stored(api).conditions.into_iter();
    conditions.into_iter().find(|one| one.type_ == "Ready")
}

/// Changes the chart of the captain, and keeps its status.
fn put(api: &FakeApi, chart: &str) {
    let mut captain = captain("hook", chart);
    let old: Option<Captain> = api.get("default", "hook");
    captain.status = old.and_then(|old| old.status);
    api.put(&captain);
}

fn status_writes(api: &FakeApi) -> usize {
    let requests = api.requests();
    let writes = requests
        .iter()
        .filter(|request| request.ends_with("/status"));
    writes.count()
}

#[tokio::test]
async fn a_lasting_failure_is_written_once_and_keeps_its_transition_time() {
    let api = FakeApi::new();
    put(&api, "fail");
    let fails = || api.reconcile(|manager| register(manager, "Ready"), "hook");
    fails().await.unwrap_err();
    // As if it had been failing for a long time.
    let mut captain: Captain = api.get("default", "hook").unwrap();
    let long_ago = Time("2020-01-01T00:00:00Z".parse().unwrap());
    let conditions = &mut captain.status.as_mut().unwrap().conditions;
    conditions[0].last_transition_time = long_ago.clone();
    api.put(&captain);
    let writes = status_writes(&api);
    fails().await.unwrap_err();
    assert_eq!(ready(&api).unwrap().last_transition_time, long_ago);
    assert_eq!(status_writes(&api), writes);
}

#[tokio::test]
async fn a_success_removes_the_condition_that_a_failure_set() {
    let api = FakeApi::new();
    put(&api, "fail");
    let other = |manager: &mut Manager| register(manager, "Wind");
    api.reconcile(other, "hook").await.unwrap_err();
    assert_eq!(ready(&api).unwrap().reason, "ReconcileFailed");
    put(&api, "good");
    api.reconcile(other, "hook").await.unwrap();
    let status = stored(&api);
    assert_eq!(reason(&status.conditions, "Ready"), None);
    assert_eq!(reason(&status.conditions, "Wind"), Some("Sailing"));
    assert_eq!(status.observed_generation, Some(2));
}

#[tokio::test]
async fn a_success_that_sets_ready_keeps_it() {
    let api = FakeApi::new();
    put(&api, "fail");
    let own = |manager: &mut Manager| register(manager, "Ready");
    api.reconcile(own, "hook").await.unwrap_err();
    put(&api, "good");
    api.reconcile(own, "hook").await.unwrap();
    assert!(is_ready(&stored(&api).conditions));
}

#[tokio::test]
async fn a_success_that_sets_no_condition_removes_it_as_well() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(async |captain, _| {
                anyhow::ensure!(captain.spec.chart != "fail", "no wind");
                Ok(Action::await_change())
            });
    };
    let api = FakeApi::new();
    put(&api, "fail");
    api.reconcile(register, "hook").await.unwrap_err();
    put(&api, "good");
    api.reconcile(register, "hook").await.unwrap();
    assert_eq!(ready(&api), None);
    assert_eq!(stored(&api).observed_generation, Some(2));
    // After that there is nothing to write, until there is another generation to observe.
    let writes = status_writes(&api);
    api.reconcile(register, "hook").await.unwrap();
    assert_eq!(status_writes(&api), writes);
    put(&api, "better");
    api.reconcile(register, "hook").await.unwrap();
    assert_eq!(stored(&api).observed_generation, Some(3));
}

#[tokio::test]
async fn only_the_reconcile_sets_ready_without_automatic_ready() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .without_automatic_ready()
            .reconcile(async |captain, cx: Context<Captain>| {
                match captain.spec.chart.as_str() {
                    "fail" => anyhow::bail!("no wind"),
                    "own" => cx.not_ready("ReconcileFailed", "by hand"),
                    _ => {}
                }
                Ok(Action::await_change())
            });
    };
    let api = FakeApi::new();
    put(&api, "fail");
    api.reconcile(register, "hook").await.unwrap_err();
    assert_eq!((ready(&api), status_writes(&api)), (None, 0));
    for chart in ["own", "nothing"] {
        put(&api, chart);
        api.reconcile(register, "hook").await.unwrap();
        assert_eq!(ready(&api).unwrap().message, "by hand");
    }
}

#[tokio::test]
async fn conditions_can_be_used_without_observed_generation() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions_only(|status| &mut status.conditions)
            .reconcile(async |captain, cx: Context<Captain>| {
                anyhow::ensure!(captain.spec.chart != "fail", "no wind");
                cx.ready("Sailing", "all is well");
                Ok(Action::await_change())
            });
    };
    let api = FakeApi::new();
    put(&api, "fail");
    api.reconcile(register, "hook").await.unwrap_err();
    assert_eq!(ready(&api).unwrap().message, "no wind");
    put(&api, "good");
    api.reconcile(register, "hook").await.unwrap();
    assert_eq!(ready(&api).unwrap().observed_generation, Some(2));
    assert!(is_ready(&stored(&api).conditions));
    assert_eq!(stored(&api).observed_generation, None);
}

#[tokio::test]
async fn an_api_error_is_shown_as_its_message() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(async |_, cx: Context<Captain>| {
                cx.create(&object("map", "")).await?;
                Ok(Action::await_change())
            });
    };
    let api = FakeApi::new();
    put(&api, "");
    api.put(&object("map", ""));
    let error = api.reconcile(register, "hook").await.unwrap_err();
    let said = "cannot create ConfigMap `default/map`: configmaps \"map\" already exists";
    assert_eq!(error.to_string(), said);
    assert_eq!(ready(&api).unwrap().message, said);
}

#[tokio::test]
async fn a_failure_keeps_the_reason_that_the_reconcile_has_set_and_adds_its_error() {
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .reconcile(async |captain, cx: Context<Captain>| {
                let (ready, message) = match captain.spec.chart.as_str() {
                    "empty" => (false, ""),
                    "same" => (false, "cannot sail: no wind"),
                    "panic" => {
                        cx.not_ready("SecretNotFound", "half");
                        panic!("a kraken")
                    }
                    "ready" => (true, "all is well"),
                    _ => (false, "the Secret is missing"),
                };
                cx.condition("Ready", ready, "SecretNotFound", message);
                anyhow::bail!("no wind")
            });
    };
    let api = FakeApi::new();
    for (chart, reason, message) in [
        ("own", "SecretNotFound", "the Secret is missing: no wind"),
        ("empty", "SecretNotFound", "no wind"),
        ("same", "SecretNotFound", "cannot sail: no wind"),
        ("ready", "ReconcileFailed", "no wind"),
        ("panic", "ReconcileFailed", "panicked: a kraken"),
        ("own", "SecretNotFound", "the Secret is missing: no wind"),
    ] {
        put(&api, chart);
        api.reconcile(register, "hook").await.unwrap_err();
        let ready = ready(&api).unwrap();
        let found = (
            ready.status.as_str(),
            ready.reason.as_str(),
            ready.message.as_str(),
        );
        assert_eq!(found, ("False", reason, message), "{chart}");
        // It is written once.
        let writes = status_writes(&api);
        api.reconcile(register, "hook").await.unwrap_err();
        assert_eq!(status_writes(&api), writes, "{chart}");
    }
}

#[tokio::test]
async fn a_cleanup_reports_like_a_reconcile_and_keeps_the_failure_while_it_goes_on() {
    const FINALIZER: &str = "crew.example.com/captain";
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .finalizer(
                FINALIZER,
                async |captain, cx: Context<Captain>| match captain.spec.chart.as_str() {
                    "fail" => anyhow::bail!("no harbour"),
                    "own" => {
                        cx.not_ready("Unloading", "5 barrels are left");
                        anyhow::bail!("no harbour")
                    }
                    "wait" => Ok(Cleanup::Again(std::time::Duration::from_secs(5))),
                    _ => {
                        cx.not_ready("Unloading", "5 barrels are left");
                        Ok(Cleanup::Again(std::time::Duration::from_secs(5)))
                    }
                },
            )
            .reconcile(async |_, _| Ok(Action::await_change()));
    };
    let api = FakeApi::new();
    let mut hook = captain("hook", "fail");
    hook.metadata.finalizers = Some(vec![FINALIZER.to_owned(), "example.com/other".to_owned()]);
    api.put(&hook);
    api.delete::<Captain>("default", "hook");
    for (chart, fails, reason, message) in [
        ("fail", true, "ReconcileFailed", "no harbour"),
        ("wait", false, "ReconcileFailed", "no harbour"),
        ("own", true, "Unloading", "5 barrels are left: no harbour"),
        ("wait", false, "Unloading", "5 barrels are left: no harbour"),
        ("report", false, "Unloading", "5 barrels are left"),
    ] {
        let mut captain: Captain = api.get("default", "hook").unwrap();
        captain.spec.chart = chart.to_owned();
        api.put(&captain);
        let result = api.reconcile(register, "hook").await;
        assert_eq!(result.is_err(), fails, "{chart}");
        let ready = ready(&api).expect(chart);
        let found = (ready.reason.as_str(), ready.message.as_str());
        assert_eq!(found, (reason, message), "{chart}");
    }
}

/// Reconciles an object that has been ready since 2020, and fails with these errors in turn before it succeeds. Returns
/// whether it has been ready all the time.
async fn stays_ready(errors: Vec<anyhow::Error>) -> bool {
    let api = FakeApi::new();
    let planned = Arc::new(Mutex::new(VecDeque::from(errors)));
    let left = planned.clone();
    let mut manager = api.manager_with(options());
    manager
        .controller::<Captain>("captain")
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(move |_, cx: Context<Captain>| {
            let error = planned.lock().unwrap().pop_front();
            async move {
                if let Some(error) = error {
                    return Err(error);
                }
                cx.ready("Sailing", "all is well");
                Ok(Action::await_change())
            }
        });
    let mut hook = captain("hook", "a");
    let long_ago = Time("2020-01-01T00:00:00Z".parse().unwrap());
    hook.status.get_or_insert_default().conditions = vec![Condition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        reason: "Sailing".to_owned(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: long_ago.clone(),
    }];
    api.put(&hook);
    let running = Running::start(manager);
    let done = async || {
        let ready = ready(&api).unwrap();
        let all_tried = left.lock().unwrap().is_empty();
        Ok((all_tried && ready.message == "all is well").then_some(ready))
    };
    let ready = eventually(SOON, "it is reconciled", done).await.unwrap();
    running.stop().await.unwrap();
    ready.last_transition_time == long_ago
}

fn api_error(code: u16) -> anyhow::Error {
    let status = kube::core::Status::failure("etcdserver: leader changed", "");
    let error = kube::Error::Api(status.with_code(code).boxed());
    anyhow::Error::new(error).context("cannot apply")
}

#[tokio::test]
async fn an_error_of_the_api_server_that_may_pass_makes_a_ready_object_unready_when_it_happens_again()
 {
    for code in [408, 409, 429, 500, 503, 504] {
        assert!(stays_ready(vec![api_error(code)]).await, "{code}");
        assert!(
            !stays_ready(vec![api_error(code), api_error(500)]).await,
            "{code}"
        );
    }
    let lost = || anyhow::Error::new(kube::Error::Service("connection reset".into()));
    assert!(stays_ready(vec![lost()]).await);
    assert!(!stays_ready(vec![lost(), lost()]).await);
}

#[tokio::test]
async fn any_other_error_makes_a_ready_object_unready_at_once() {
    assert!(!stays_ready(vec![anyhow::anyhow!("no wind")]).await);
    assert!(!stays_ready(vec![api_error(403)]).await);
    assert!(!stays_ready(vec![api_error(422)]).await);
    let later = manager::retry_after(std::time::Duration::from_millis(1), api_error(500));
    assert!(!stays_ready(vec![later]).await, "later");
}
