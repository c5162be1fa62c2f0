//! Test what readers see after writes that the watch has not delivered.

use std::{collections::HashSet, time::Duration};

use k8s_openapi::{
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::core::Expression;
use tokio::{
    sync::mpsc,
    time::{advance, timeout},
};

use super::*;
use crate::cache::store::Cache;

/// A cache, and its changes as handlers see them.
struct Test {
    cache: Cache<ConfigMap>,
    told: mpsc::UnboundedReceiver<String>,
}

fn object(uid: &str, version: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some("a".to_owned()),
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn key() -> Key {
    "ns/a".into()
}

impl Test {
    fn new() -> Self {
        let (sender, told) = mpsc::unbounded_channel();
        let cache = Cache::<ConfigMap>::new();
        cache.on_change(move |change| {
            let version = |object: Option<&ConfigMap>| object.map_or("-", version).to_owned();
            let (old, new) = (version(change.old), version(change.new));
            sender.send(format!("{old} {new}")).unwrap();
        });
        Self { cache, told }
    }

    fn delivers(&self, uid: &str, version: &str) {
        self.cache.set(&key(), &object(uid, version).into());
    }

    fn writes(&self, uid: &str, version: &str) {
        self.cache.wrote(&key(), Arc::new(object(uid, version)));
    }

    /// A deletion, or an object that leaves the selection.
    fn loses(&self, uid: &str, version: &str) {
        self.cache.remove(&key(), &object(uid, version).metadata);
    }

    /// A list of this version, without objects.
    fn lists_nothing(&self, version: &str) {
        self.cache.retain(None, &HashSet::new(), version);
    }

    /// The version that readers see.
    fn shown(&self) -> Option<String> {
        let object = self.cache.get(&key())?;
        Some(version(&*object).to_owned())
    }

    #[track_caller]
    fn shows(&self, wanted: &str) {
        assert_eq!(self.shown().as_deref().unwrap_or("-"), wanted);
    }

    fn told(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.told.try_recv().ok()).collect()
    }
}

#[tokio::test]
async fn a_write_is_shown_until_that_version_or_a_later_one_is_delivered() {
    let mut test = Test::new();
    test.writes("u", "5");
    test.shows("5");
    test.delivers("u", "4");
    test.shows("5");
    test.writes("u", "6");
    test.delivers("u", "5");
    test.shows("6");
    // Another writer was faster than our own change.
    test.delivers("u", "9");
    test.shows("9");
    test.writes("u", "8");
    test.shows("9");
    // Handlers see what the watch delivers, and nothing else.
    assert_eq!(test.told(), ["- 4", "4 5", "5 9"]);
    assert!(test.cache.is_even());
}

#[tokio::test]
async fn a_deleted_object_stays_hidden_until_another_one_of_its_name_is_delivered() {
    let mut test = Test::new();
    test.delivers("u", "3");
    test.cache.deleted(&key(), "u");
    test.shows("-");
    // Another writer has changed it before.
    test.delivers("u", "4");
    test.shows("-");
    test.writes("u", "4");
    test.shows("-");
    test.delivers("v", "7");
    test.shows("7");
    assert_eq!(test.told(), ["- 3", "3 4", "4 7"]);

    test.cache.deleted(&key(), "v");
    test.loses("v", "9");
    test.shows("-");
    assert_eq!(test.told(), ["7 -"]);
    assert!(test.cache.is_even());
}

#[tokio::test]
async fn only_the_deleted_object_is_hidden() {
    let test = Test::new();
    test.delivers("v", "7");
    test.cache.deleted(&key(), "u");
    test.shows("7");
}

#[tokio::test]
async fn an_object_that_replaces_a_deleted_one_outlasts_the_events_of_that() {
    let mut test = Test::new();
    test.delivers("u", "3");
    test.cache.deleted(&key(), "u");
    test.writes("v", "6");
    test.shows("6");
    test.loses("u", "5");
    test.shows("6");
    test.delivers("v", "6");
    assert_eq!(test.told(), ["- 3", "3 -", "- 6"]);
    assert!(test.cache.is_even());
}

#[tokio::test]
async fn a_write_that_selects_an_object_again_outlasts_the_event_that_it_left() {
    let mut test = Test::new();
    test.delivers("u", "3");
    test.writes("u", "7");
    test.loses("u", "5");
    test.shows("7");
    test.delivers("u", "7");
    assert_eq!(test.told(), ["- 3", "3 -", "- 7"]);

    // The response may come after the event, too.
    test.loses("u", "8");
    test.writes("u", "9");
    test.shows("9");
}

#[tokio::test]
async fn a_response_that_arrives_after_the_deletion_is_not_shown() {
    let test = Test::new();
    test.lists_nothing("4");
    test.delivers("u", "5");
    test.loses("u", "6");
    test.writes("u", "5");
    test.shows("-");
    test.writes("v", "8");
    test.shows("8");
}

#[tokio::test]
async fn a_list_ends_the_writes_before_it_and_spares_those_after_it() {
    let mut test = Test::new();
    test.delivers("u", "3");
    test.writes("u", "5");
    test.lists_nothing("4");
    test.shows("5");
    test.lists_nothing("6");
    test.shows("-");
    assert_eq!(test.told(), ["- 3", "3 -", "5 -"]);
    assert!(test.cache.is_even());
}

#[tokio::test]
async fn a_response_that_arrives_after_a_list_without_the_object_is_not_shown() {
    let test = Test::new();
    // Another client has deleted it.
    test.lists_nothing("6");
    test.writes("u", "5");
    test.shows("-");
    test.writes("v", "8");
    test.shows("8");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_never_delivered_is_shown_for_a_limited_time_and_its_end_is_an_event() {
    let mut test = Test::new();
    let withdraw = async |test: &Test| {
        let _ = timeout(LIMIT + LIMIT / 4, test.cache.withdraw_old()).await;
    };
    test.writes("u", "5");
    advance(LIMIT / 2).await;
    test.shows("5");
    withdraw(&test).await;
    test.shows("-");
    assert_eq!(test.told(), ["5 -"]);

    test.delivers("u", "5");
    test.writes("u", "6");
    withdraw(&test).await;
    test.shows("5");
    assert_eq!(test.told(), ["- 5", "6 5"]);

    test.cache.deleted(&key(), "u");
    test.shows("-");
    withdraw(&test).await;
    test.shows("5");
    assert_eq!(test.told(), ["- 5"]);
    assert!(test.cache.is_even());
}

#[tokio::test(start_paused = true)]
async fn the_number_of_writes_is_limited_and_the_end_of_the_oldest_is_an_event() {
    let mut test = Test::new();
    test.delivers("u", "1");
    test.writes("u", "2");
    advance(Duration::from_secs(1)).await;
    for n in 0..MOST {
        let written = object(&n.to_string(), "3");
        test.cache
            .wrote(&Key::new(None, &n.to_string()), Arc::new(written));
    }
    assert_eq!(test.cache.keys().len(), MOST + 1);
    test.shows("1");
    assert_eq!(test.told(), ["- 1", "2 1"]);
}

#[tokio::test]
async fn a_write_that_takes_an_object_out_of_the_selection_hides_it() {
    let test = Test::new();
    let selected = Expression::Exists("shard".to_owned());
    test.cache.configure(|shape| shape.labels = selected.into());
    let labelled = |version: &str| {
        let mut object = object("u", version);
        let label = ("shard".to_owned(), "1".to_owned());
        object.metadata.labels = Some([label].into());
        object
    };
    test.writes("u", "2");
    test.shows("-");
    test.cache.set(&key(), &labelled("3").into());
    test.writes("u", "4");
    test.shows("-");
    // Another writer has selected it again.
    test.cache.set(&key(), &labelled("5").into());
    test.shows("5");
}

#[tokio::test]
async fn a_new_object_is_not_shown_if_fields_select_the_objects() {
    let test = Test::new();
    test.cache
        .configure(|shape| shape.fields = "metadata.name!=b".to_owned());
    test.writes("u", "2");
    test.shows("-");
    test.delivers("u", "2");
    test.writes("u", "3");
    test.shows("3");
}

#[tokio::test]
async fn an_object_whose_last_finalizer_was_removed_is_hidden() {
    let test = Test::new();
    test.delivers("u", "2");
    let mut released = object("u", "3");
    released.metadata.deletion_timestamp = Some(Time(Timestamp::now()));
    // A Pod that a kubelet is yet to end.
    released.metadata.deletion_grace_period_seconds = Some(30);
    test.cache.wrote(&key(), Arc::new(released.clone()));
    test.shows("3");
    released.metadata.deletion_grace_period_seconds = Some(0);
    released.metadata.resource_version = Some("4".to_owned());
    test.cache.wrote(&key(), Arc::new(released));
    test.shows("-");
}
