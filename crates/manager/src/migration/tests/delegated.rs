//! Migrations by kube-controller-manager, which the tests play.

use super::*;

const PATH: &str = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";

fn migrations(cluster: &Harness) -> Vec<Value> {
    cluster.server.api.all_json("storageversionmigrations")
}

/// Sets conditions of the migration.
async fn set(cluster: &Harness, conditions: &[(&str, &str)]) {
    let conditions: Vec<_> = conditions
        .iter()
        .map(|(kind, status)| json!({"type": kind, "status": status, "message": "by the test"}))
        .collect();
    let body = json!({"status": {"conditions": conditions}});
    let path = format!("{PATH}/{CRD}-{ID}/status");
    let client = cluster.server.api.client();
    crate::request::merge_patch::<Value>(&client, &path, &body)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn kube_controller_manager_rewrites_the_objects_if_it_can() {
    let mut cluster = Harness::healthy(10);
    cluster.start_with(|_| ());
    cluster
        .until("it is created", |it| !migrations(it).is_empty())
        .await;
    let spec = &migrations(&cluster)[0]["spec"];
    assert_eq!(
        *spec,
        json!({"resource": {"group": "crew.example.com", "resource": "captains"}})
    );
    set(&cluster, &[("Running", "True")]).await;
    sleep(Duration::from_secs(60 * 60)).await;
    set(&cluster, &[("Running", "True"), ("Succeeded", "True")]).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(cluster.stored(), ["v1", "v2"], "the CRD is not changed yet");
    set(&cluster, &[("Running", "False"), ("Succeeded", "True")]).await;
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 0);
    assert_eq!(migrations(&cluster), Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn the_operator_rewrites_the_objects_if_nothing_else_does() {
    // Nothing works on it; it fails; there is no such kind; there is no permission.
    for case in ["unattended", "failed", "404", "403"] {
        let mut cluster = Harness::new(10, move |line, _| match case {
            "404" if line.contains(PATH) => Some(status(404, "the server could not find it")),
            "403" if line.contains(PATH) => Some(status(403, "forbidden")),
            _ => None,
        });
        cluster.start_with(|_| ());
        if case == "failed" {
            cluster
                .until("it is created", |it| !migrations(it).is_empty())
                .await;
            set(&cluster, &[("Running", "True")]).await;
            set(&cluster, &[("Running", "True"), ("Failed", "True")]).await;
        }
        cluster.until_done().await;
        assert_eq!(cluster.rewrites(), 10, "{case}");
        assert_eq!(migrations(&cluster), Vec::<Value>::new(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_fails_once_leaves_no_migration_behind() {
    for method in ["GET", "DELETE"] {
        let mut cluster = Harness::new(10, move |line, before| {
            let here = line.starts_with(method) && line.contains(PATH);
            // The first GET finds nothing.
            let fails = here && before == usize::from(method == "GET");
            fails.then(|| status(500, "it failed"))
        });
        cluster.start_with(|_| ());
        cluster.until_done().await;
        assert_eq!(cluster.rewrites(), 10, "{method}");
        assert_eq!(migrations(&cluster), Vec::<Value>::new(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_migration_to_an_earlier_state_of_the_crd_does_not_count() {
    let mut cluster = Harness::healthy(10);
    cluster.start_with(|_| ());
    cluster
        .until("it is created", |it| !migrations(it).is_empty())
        .await;
    set(&cluster, &[("Succeeded", "True")]).await;
    cluster.kill().await;
    cluster.server.api.put(&crd(7, &["v1", "v2"]));
    cluster.start_with(|_| ());
    let fresh = |it: &Harness| {
        let annotation = format!("{ID}/generation");
        let all = migrations(it);
        all.iter()
            .any(|it| it["metadata"]["annotations"][&annotation] == "7")
    };
    cluster.until("another one is created", fresh).await;
    assert_eq!(cluster.stored(), ["v1", "v2"]);
    set(&cluster, &[("Succeeded", "True")]).await;
    cluster.until_done().await;
}

#[tokio::test(start_paused = true)]
async fn another_process_waits_for_the_migration_of_the_one_before() {
    let mut cluster = Harness::healthy(10);
    cluster.start_with(|_| ());
    cluster
        .until("it is created", |it| !migrations(it).is_empty())
        .await;
    set(&cluster, &[("Running", "True")]).await;
    cluster.kill().await;
    cluster.start_with(|_| ());
    sleep(Duration::from_secs(60 * 60)).await;
    set(&cluster, &[("Succeeded", "True")]).await;
    cluster.until_done().await;
    let posts = cluster.count(|line| line.starts_with("POST "));
    assert_eq!((posts, cluster.rewrites()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_earlier_migration_that_a_finalizer_keeps_is_deleted_once_and_does_not_block() {
    let mut cluster = Harness::healthy(10);
    let meta = json!({
        "name": format!("{CRD}-{ID}"), "finalizers": ["example.com/kept"],
        "annotations": {format!("{ID}/generation"): "0"},
    });
    let body = json!({
        "apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": meta, "spec": {},
    });
    let client = cluster.server.api.client();
    crate::request::post::<Value>(&client, PATH, &body)
        .await
        .unwrap();
    cluster.start_with(|_| ());
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 10);
    let requests = cluster.count(|line| line.contains(PATH));
    assert!(requests < 50, "{requests}");
    let deletions = cluster.count(|line| line.starts_with("DELETE "));
    assert!(deletions <= 2, "{deletions}");
}
