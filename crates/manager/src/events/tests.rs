use kbr_testing::FakeApi;

use super::*;

fn event(name: &str, note: &str) -> Event {
    Event {
        regarding: ObjectReference {
            name: Some(name.to_owned()),
            namespace: Some("ns".to_owned()),
            uid: Some("u".to_owned()),
            ..ObjectReference::default()
        },
        related: None,
        severity: Severity::Normal,
        action: RECONCILE.to_owned(),
        reason: "Created".to_owned(),
        note: note.to_owned(),
        controller: "captains.example.com/captain".to_owned(),
    }
}

/// The seconds at which the count is sent if an event is repeated at these seconds.
fn sent(repeated: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let created = Instant::now();
    let mut series = Series {
        path: String::new(),
        count: 1,
        created,
        sent: created,
        last: created,
    };
    let repeated = repeated.into_iter();
    let sent = |at: &u64| series.repeat(created + Duration::from_secs(*at));
    repeated.filter(sent).collect()
}

#[test]
fn the_count_is_sent_when_the_series_has_become_twice_as_old() {
    assert!(sent(1..10).is_empty());
    assert_eq!(sent(1..100), [10, 20, 40, 80]);
    assert_eq!(sent([1, 3, 300, 301, 302]), [300]);
}

#[tokio::test]
async fn repeated_events_are_counted_in_one_event() {
    let api = FakeApi::new();
    let (recorder, mut publisher) = Recorder::new("pod");
    for _ in 0..5 {
        recorder.publish(event("a", "same"));
    }
    recorder.publish(event("a", "other"));
    publisher.flush(&api.client()).await;
    assert_eq!(api.all_json("events").len(), 2);
    assert_eq!(api.requests().len(), 2);

    for lane in &mut publisher.lanes {
        for series in lane.series.values_mut() {
            series.created -= SETTLED;
            series.sent -= SETTLED;
        }
    }
    recorder.publish(event("a", "same"));
    publisher.flush(&api.client()).await;
    let events = api.all_json("events");
    // Each may have been created first, by another lane.
    let mut counts: Vec<_> = events
        .iter()
        .map(|event| event["series"]["count"].as_u64())
        .collect();
    counts.sort();
    assert_eq!(counts, [None, Some(6)]);
}

#[tokio::test]
async fn a_quick_repetition_is_not_a_new_event_after_many_others() {
    let api = FakeApi::new();
    let (recorder, mut publisher) = Recorder::new("pod");
    // All in one lane.
    let events = (0..).map(|n| event(&format!("object-{n}"), "same"));
    let events = events.filter(|event| event.hash().is_multiple_of(LANES as u64));
    let objects = REMEMBERED + 100;
    for event in events.take(objects) {
        recorder.publish(event.clone());
        recorder.publish(event);
    }
    publisher.flush(&api.client()).await;
    assert_eq!(api.requests().len(), objects);
    let remembered = publisher.lanes.iter().map(|lane| lane.series.len());
    assert!(remembered.max() <= Some(REMEMBERED));
}

#[tokio::test]
async fn every_event_of_a_burst_is_sent() {
    let api = FakeApi::new();
    let (recorder, mut publisher) = Recorder::new("pod");
    for n in 0..5000 {
        recorder.publish(event(&format!("object-{n}"), "same"));
    }
    publisher.flush(&api.client()).await;
    assert_eq!(api.all_json("events").len(), 5000);
}

#[tokio::test]
async fn excess_events_are_dropped_and_counted_without_blocking() {
    let (recorder, publisher) = Recorder::new("pod");
    for _ in 0..2 * WAITING {
        recorder.publish(event("a", "same"));
    }
    let dropped = publisher.lanes[0].dropped.load(Ordering::Relaxed);
    assert_eq!(dropped, WAITING);
}

#[test]
fn event_names_are_valid_for_the_api_server() {
    assert!(name(&event("system:foo", "")).starts_with("system-foo."));
    assert!(name(&event("", "")).starts_with("event."));
    assert!(name(&event(&"x".repeat(253), "")).len() <= LONGEST_NAME);
}

#[test]
fn notes_are_truncated_to_the_limit_of_the_api_server() {
    let (_, publisher) = Recorder::new("pod");
    let body = publisher.lanes[0].body(&event("a", &"x".repeat(2000)));
    assert_eq!(body.note.unwrap().len(), LONGEST_NOTE);
}
