//! Restarts, and changes of the CRD in the middle.

use super::*;

/// The message of the condition.
fn message(cluster: &Harness) -> String {
    let conditions = cluster.crd().status.unwrap().conditions.unwrap();
    let ours = conditions.into_iter().find(|it| it.type_.starts_with(ID));
    ours.and_then(|it| it.message).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_restart_continues_without_the_grace_period_and_rewrites_nothing_twice() {
    let mut cluster = Harness::healthy(450);
    cluster.start();
    for some in [120, 250] {
        cluster
            .until("some are rewritten", |it| it.rewrites() >= some)
            .await;
        cluster.kill().await;
        let before = cluster.rewrites();
        cluster.start();
        sleep(Duration::from_secs(2)).await;
        assert!(cluster.rewrites() > before, "it waits again");
    }
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 450);
}

#[tokio::test(start_paused = true)]
async fn a_restart_skips_the_pages_that_are_done() {
    let mut cluster = Harness::healthy(450);
    cluster.start();
    let recorded = |it: &Harness| message(it).contains("continue token");
    cluster.until("the progress is recorded", recorded).await;
    cluster.kill().await;
    let lines = cluster.lines().len();
    cluster.start();
    cluster.until_done().await;
    let later = cluster.lines().split_off(lines);
    let lists = later.iter().filter(|line| line.contains("/captains?"));
    let lists: Vec<_> = lists.collect();
    assert!(lists[0].contains("continue="), "{lists:#?}");
    assert_eq!(cluster.rewrites(), 450);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_crd_in_the_middle_starts_over() {
    let mut cluster = Harness::healthy(450);
    cluster.start();
    cluster
        .until("some are rewritten", |it| it.rewrites() >= 200)
        .await;
    // It stored v1 for a moment, so any object may be stored in v1 again.
    let mut changed = crd(3, &["v1", "v2"]);
    let conditions = cluster.crd().status.unwrap().conditions;
    changed.status.as_mut().unwrap().conditions = conditions;
    cluster.server.api.put(&changed);
    cluster.until_done().await;
    assert!(cluster.rewrites() >= 450 + 200, "{}", cluster.rewrites());
    assert!(cluster.rewrites() <= 2 * 450, "{}", cluster.rewrites());
}

#[tokio::test(start_paused = true)]
async fn the_version_that_was_stored_before_is_kept_if_the_crd_stores_it_again() {
    let mut cluster = Harness::healthy(100);
    cluster.start();
    cluster
        .until("some are rewritten", |it| it.rewrites() >= 99)
        .await;
    let back = stores("v1", 3, &["v1", "v2"]);
    cluster.server.api.put(&back);
    cluster
        .until("only v1 is stored", |it| it.stored() == ["v1"])
        .await;
    assert_eq!(cluster.rewrites(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_at_the_end_is_checked_and_tried_again() {
    let mut cluster = Harness::new(10, |line, before| {
        let status_write = line.starts_with("PATCH ") && line.contains("/status");
        // The first is the one that records the beginning.
        (status_write && [1, 2].contains(&before)).then(|| status(409, "changed"))
    });
    cluster.start();
    cluster.until_done().await;
    assert_eq!(cluster.rewrites(), 10);
}
