//! Finalizers and clean-ups.

use super::*;

#[tokio::test]
async fn the_finalizer_is_added_before_the_first_reconcile() {
    let api = FakeApi::new();
    api.put(&captain("map"));
    api.reconcile(register, CAPTAIN).await.unwrap();
    assert_eq!(stored(&api).finalizers(), [FINALIZER]);
    let writes = api.requests();
    let mut writes = writes.iter().filter(|request| !request.starts_with("GET"));
    assert!(writes.next().unwrap().ends_with("/captains/hook"));
    assert!(writes.next().unwrap().ends_with("/configmaps/hook"));
}

#[tokio::test]
async fn a_deleted_object_is_removed_after_its_cleanup() {
    let api = FakeApi::new();
    deleted(&api, "");
    api.reconcile(register, CAPTAIN).await.unwrap();
    assert!(api.get::<Captain>("default", "hook").is_none());
    assert_eq!(api.all_json("events")[0]["note"], "fare well");
}

/// After a patch, the API server would delete whatever has the name by then.
#[tokio::test]
async fn the_last_finalizer_is_removed_by_a_replacement_which_carries_the_uid() {
    let api = FakeApi::new();
    deleted(&api, "hook");
    api.reconcile(register, CAPTAIN).await.unwrap();
    let writes = api.requests();
    let mut writes = writes
        .iter()
        .filter(|request| request.contains("/captains/"));
    assert!(
        writes.any(|request| request.starts_with("PUT ")),
        "{:?}",
        api.requests()
    );
    assert!(api.get::<Captain>("default", "hook").is_none());
}

#[tokio::test]
async fn a_deleted_object_stays_while_its_cleanup_fails_or_is_incomplete() {
    let api = FakeApi::new();
    deleted(&api, "fail");
    assert!(api.reconcile(register, CAPTAIN).await.is_err());
    assert_eq!(stored(&api).finalizers(), [FINALIZER]);
    assert_eq!(
        reason(&status(&api).conditions, "Ready"),
        Some("ReconcileFailed")
    );

    let api = FakeApi::new();
    deleted(&api, "linger");
    api.reconcile(register, CAPTAIN).await.unwrap();
    assert_eq!(stored(&api).finalizers(), [FINALIZER]);
}

#[tokio::test]
async fn a_deleted_object_with_the_finalizer_of_another_is_left_alone() {
    let api = FakeApi::new();
    let mut captain = captain("map");
    captain
        .finalizers_mut()
        .push("example.com/theirs".to_owned());
    api.put(&captain);
    api.delete::<Captain>("default", "hook");
    api.reconcile(register, CAPTAIN).await.unwrap();
    assert!(api.all_json("configmaps").is_empty());
    assert_eq!(stored(&api).finalizers(), ["example.com/theirs"]);
}

#[tokio::test]
async fn a_controller_without_a_finalizer_skips_deleted_objects() {
    let api = FakeApi::new();
    deleted(&api, "map");
    let register = |manager: &mut Manager| {
        manager
            .controller::<Captain>("captain")
            .reconcile(reconcile);
    };
    api.reconcile(register, CAPTAIN).await.unwrap();
    assert!(api.all_json("configmaps").is_empty());
}
