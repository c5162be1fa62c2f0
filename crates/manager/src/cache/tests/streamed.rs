//! Lists on API servers that stream them, reject that, ignore it, or end the stream early.

use kube::api::ObjectMeta;

use super::*;

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// Runs a manager on a server with two `ConfigMap`s and this kind of streams, until they are cached or `limit` is over.
/// Returns the requests for them, and what they asked for.
async fn requests(server: &Server, limit: u64) -> Vec<String> {
    server.api.put(&map("a"));
    server.api.put(&map("b"));
    let manager = server.manager(Options::default());
    let caches = manager.caches.clone();
    let cache = caches.of::<ConfigMap>();
    let running = run(manager);
    let synced = tokio::time::timeout(Duration::from_secs(limit), cache.synced()).await;
    assert!(synced.is_ok(), "not synced after {limit} s");
    assert_eq!(cache.keys().len(), 2);
    sleep(Duration::from_secs(1)).await;
    assert!(!running.is_finished());
    server.asked("configmaps")
}

const STREAM: &str = "stream";
const PAGES: [&str; 2] = ["list", "watch"];

#[tokio::test(start_paused = true)]
async fn a_list_is_the_start_of_its_watch() {
    let server = Server::new();
    assert_eq!(requests(&server, 1).await, [STREAM]);
}

#[tokio::test(start_paused = true)]
async fn where_streams_are_rejected_lists_are_read_in_pages_at_once() {
    for code in [400, 403, 405, 406, 415, 422, 501] {
        let server = Server::new();
        server.stream(Streams::Rejected(code));
        assert_eq!(requests(&server, 1).await, [&[STREAM], &PAGES[..]].concat());
    }
}

#[tokio::test(start_paused = true)]
async fn after_any_other_answer_lists_are_read_in_pages_at_once_and_streamed_the_next_time() {
    for code in [408, 500, 502, 503, 504] {
        let server = Server::new();
        server.stream(Streams::Rejected(code));
        assert_eq!(requests(&server, 1).await, [&[STREAM], &PAGES[..]].concat());
        server.stream(Streams::Sent);
        assert_eq!(listed_again(&server).await, [STREAM]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_of_a_watch_that_cannot_be_read_makes_the_kind_be_listed_again() {
    let server = Server::new();
    let manager = server.manager(Options::default());
    let cache = manager.caches.of::<ConfigMap>();
    run(manager);
    cache.synced().await;
    server.garbled.store(true, Ordering::SeqCst);
    server.api.put(&map("a"));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(cache.keys().len(), 1);
    assert_eq!(server.asked("configmaps"), [STREAM, STREAM]);
}

#[tokio::test(start_paused = true)]
async fn where_streams_never_end_lists_are_read_in_pages_after_ten_seconds() {
    let server = Server::new();
    server.stream(Streams::Ignored);
    let began = Instant::now();
    assert_eq!(
        requests(&server, 11).await,
        [&[STREAM], &PAGES[..]].concat()
    );
    assert!(began.elapsed() >= Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_ends_is_given_up_even_if_objects_keep_changing() {
    let server = Server::new();
    server.stream(Streams::Ignored);
    let api = server.api.clone();
    tokio::spawn(async move {
        for round in 0.. {
            sleep(Duration::from_secs(5)).await;
            let mut map = map("a");
            map.data = Some([("round".to_owned(), round.to_string())].into());
            api.put(&map);
        }
    });
    assert_eq!(
        requests(&server, 61).await,
        [&[STREAM], &PAGES[..]].concat()
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_stream_is_cut_is_read_in_pages_and_the_next_one_is_streamed() {
    let server = Server::new();
    server.stream(Streams::Cut);
    assert_eq!(requests(&server, 1).await, [&[STREAM], &PAGES[..]].concat());
    server.stream(Streams::Sent);
    assert_eq!(listed_again(&server).await, [STREAM]);
}

/// Makes the manager list the `ConfigMap`s again; returns the requests for that.
async fn listed_again(server: &Server) -> Vec<String> {
    let before = server.asked("configmaps").len();
    server.garbled.store(true, Ordering::SeqCst);
    server.api.put(&map("c"));
    sleep(Duration::from_secs(10)).await;
    server.asked("configmaps").split_off(before)
}

#[tokio::test(start_paused = true)]
async fn an_api_server_without_streams_is_asked_for_one_only_once() {
    let server = Server::new();
    server.stream(Streams::Rejected(422));
    requests(&server, 1).await;
    assert_eq!(listed_again(&server).await, PAGES);

    let server = Server::new();
    requests(&server, 1).await;
    assert_eq!(listed_again(&server).await, [STREAM]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_listed_either_is_listed_in_pages_and_streamed_after_that() {
    let server = Server::new();
    server.reject(&[("configmaps", 403)]);
    let manager = server.manager(patient());
    let cache = manager.caches.of::<ConfigMap>();
    let _running = run(manager);
    sleep(Duration::from_secs(5)).await;
    let asked = server.asked("configmaps");
    assert_eq!(asked[..3], [STREAM, "list", "list"]);
    server.reject(&[]);
    cache.synced().await;
    sleep(Duration::from_secs(1)).await;
    let asked = server.asked("configmaps");
    assert_eq!(asked[asked.len() - 2..], PAGES);
    assert_eq!(listed_again(&server).await, [STREAM]);
}
