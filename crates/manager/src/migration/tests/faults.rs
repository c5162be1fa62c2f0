//! Faults of the API server, and of single objects.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_expired_list_continues_where_it_was() {
    for fresh in [Some("page-1"), None] {
        let mut cluster = Harness::new(450, move |line, before| {
            // The second page, once.
            let expired = line.contains("/captains?") && line.contains("continue=") && before == 2;
            expired.then(|| {
                let (code, mut body) = status(410, "expired");
                body["metadata"] = json!({"continue": fresh});
                (code, body)
            })
        });
        cluster.start();
        cluster.until_done().await;
        // A list that starts over skips the objects that were rewritten.
        assert_eq!(cluster.rewrites(), 450, "{fresh:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_api_server_is_asked_again() {
    let mut cluster = Harness::new(20, |line, before| {
        if !is_rewrite(line) {
            return None;
        }
        match line {
            _ if line.contains("/c0003") && before < 3 => Some(status(429, "too many requests")),
            _ if line.contains("/c0004") && before < 2 => {
                Some(status(500, "conversion webhook failed"))
            }
            _ if line.contains("/c0005") && before < 1 => Some(status(409, "try again")),
            _ if line.contains("/c0006") && before < 1 => Some(status(404, "404 page not found")),
            _ => None,
        }
    });
    cluster.start();
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 20 + 3 + 2 + 1 + 1);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_needs_no_rewriting() {
    let mut cluster = Harness::healthy(20);
    let api = cluster.server.api.clone();
    cluster.server.fault = Arc::new(move |line, _| {
        if is_rewrite(line) && line.contains("/c0006") {
            api.delete::<Captain>("default", "c0006");
        }
        None
    });
    cluster.start();
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 20);
}

/// An admission webhook may deny a rewrite with 404, or an API server does not serve the kind.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_there_is_not_rewritten_by_a_404() {
    let healed = Arc::new(Mutex::new(false));
    let heal = healed.clone();
    let mut cluster = Harness::new(20, move |line, _| {
        let bad = is_rewrite(line) && line.contains("/c0007?") && !*heal.lock().unwrap();
        bad.then(|| status(404, "404 page not found"))
    });
    cluster.start();
    sleep(Duration::from_secs(60 * 60)).await;
    assert_eq!(cluster.stored(), ["v1", "v2"]);
    *healed.lock().unwrap() = true;
    cluster.until_done().await;
}

#[tokio::test(start_paused = true)]
async fn a_rejected_object_delays_no_other_and_keeps_the_old_version() {
    let healed = Arc::new(Mutex::new(false));
    let heal = healed.clone();
    let mut cluster = Harness::new(20, move |line, _| {
        let bad = is_rewrite(line) && line.contains("/c0007?") && !*healed.lock().unwrap();
        bad.then(|| status(422, "spec.ship: Invalid value"))
    });
    cluster.start();
    sleep(Duration::from_secs(60 * 60)).await;
    assert_eq!(cluster.stored(), ["v1", "v2"]);
    // Each other object once, and this one every five minutes.
    let bad = cluster.count(|line| is_rewrite(line) && line.contains("/c0007?"));
    assert!((10..=13).contains(&bad), "{bad}");
    assert_eq!(cluster.rewrites() - bad, 19);
    let metric = r#"manager_storage_migration_pending{kind="Captain.crew.example.com"} 1"#;
    assert!(cluster.metric(metric));
    *heal.lock().unwrap() = true;
    cluster.until_done().await;
}

#[tokio::test(start_paused = true)]
async fn rejected_objects_are_tried_again_after_a_restart() {
    let mut cluster = Harness::new(450, |line, _| {
        let bad = is_rewrite(line) && line.contains("/c0007?");
        bad.then(|| status(422, "spec.ship: Invalid value"))
    });
    cluster.start();
    cluster
        .until("all were tried", |it| it.rewrites() == 450)
        .await;
    sleep(Duration::from_secs(1)).await;
    cluster.kill().await;
    let fixed = FakeApi::clone(&cluster.server.api);
    cluster.server.fault = Arc::new(|_, _| None);
    drop(fixed);
    cluster.start();
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 451);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_once_the_lease_has_expired() {
    let mut cluster = Harness::healthy(100);
    cluster.start();
    cluster
        .until("it has begun", |it| it.rewrites() == 50)
        .await;
    cluster.fence.fall();
    let writes = cluster.count(|line| !line.starts_with("GET "));
    sleep(Duration::from_secs(60 * 60)).await;
    assert_eq!(cluster.count(|line| !line.starts_with("GET ")), writes);
    assert_eq!(cluster.stored(), ["v1", "v2"]);
}
