//! Test what a store contains and reports.

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use tokio::sync::mpsc;

use kube::core::Selector;

use super::*;

fn object(namespace: &str, name: &str, version: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            resource_version: Some(version.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// A cache with these objects, each at version 1, and its changes from then on.
fn cache(keys: &[&str]) -> (Cache<ConfigMap>, mpsc::UnboundedReceiver<String>) {
    let cache = Cache::new();
    for key in keys.iter().map(|key| Key::from(*key)) {
        let namespace = key.namespace().unwrap();
        cache.set(&key, &object(namespace, key.name(), "1").into());
    }
    let (sender, told) = mpsc::unbounded_channel();
    cache.on_change(move |change| {
        let version = |object: Option<&ConfigMap>| object.map_or("none", version).to_owned();
        let (old, new) = (version(change.old), version(change.new));
        let unreadable = if change.unreadable.is_some() {
            " unreadable"
        } else {
            ""
        };
        let told = format!("{} {old} {new}{unreadable}", change.key);
        sender.send(told).unwrap();
    });
    (cache, told)
}

#[test]
fn changes_are_reported_with_the_old_and_the_new_object() {
    let (cache, mut told) = cache(&["ns/a"]);
    cache.set(&"ns/a".into(), &object("ns", "a", "2").into());
    cache.set(&"ns/b".into(), &object("ns", "b", "3").into());
    cache.remove(&"ns/a".into(), &ObjectMeta::default());
    cache.remove(&"ns/unknown".into(), &ObjectMeta::default());
    for change in ["ns/a 1 2", "ns/b none 3", "ns/a 2 none"] {
        assert_eq!(told.try_recv().unwrap(), change);
    }
    assert!(told.try_recv().is_err());
}

#[test]
fn only_objects_found_when_the_cache_is_filled_are_initial() {
    let cache = Cache::<ConfigMap>::new();
    let (sender, mut told) = mpsc::unbounded_channel();
    cache.on_change(move |change| sender.send(change.initial).unwrap());
    cache.progress.start(1);
    let mut initial = |change: &dyn Fn()| {
        change();
        told.try_recv().unwrap()
    };
    let set = |name: &str, version| {
        let key = Key::new(Some("ns"), name);
        cache.set(&key, &object("ns", name, version).into());
    };
    assert!(initial(&|| set("a", "1")));
    assert!(!initial(&|| set("a", "2")));
    let key = Key::new(Some("ns"), "b");
    let unreadable = |version| drop(cache.set_unreadable(&key, unreadable(version, "data")));
    assert!(initial(&|| unreadable("3")));
    assert!(!initial(&|| unreadable("4")));
    cache.progress.listed(0);
    assert!(!initial(&|| set("c", "5")));
    assert!(!initial(
        &|| cache.remove(&"ns/c".into(), &ObjectMeta::default())
    ));
}

fn unreadable(version: &str, reason: &str) -> Unreadable {
    Unreadable {
        meta: object("ns", "a", version).metadata,
        reason: reason.to_owned(),
    }
}

#[test]
fn an_unreadable_object_is_reported_and_hidden_until_it_is_repaired() {
    let (cache, mut told) = cache(&["ns/a", "ns/b"]);
    let key = "ns/a".into();
    assert!(
        cache
            .set_unreadable(&key, unreadable("2", "data"))
            .is_some()
    );
    assert!(cache.get(&key).is_none());
    assert_eq!(cache.keys(), ["ns/b".into()]);
    assert_eq!(cache.unreadable(&key).unwrap().reason, "data");
    // Another version with the same reason is not reported again; another reason is.
    assert!(
        cache
            .set_unreadable(&key, unreadable("3", "data"))
            .is_none()
    );
    assert!(
        cache
            .set_unreadable(&key, unreadable("3", "kind"))
            .is_some()
    );
    assert!(cache.set(&key, &object("ns", "a", "4").into()));
    assert!(cache.unreadable(&key).is_none());
    for change in [
        "ns/a 1 none unreadable",
        "ns/a 1 none unreadable",
        "ns/a none 4",
    ] {
        assert_eq!(told.try_recv().unwrap(), change);
    }
    assert!(told.try_recv().is_err());
}

#[test]
fn the_deletion_of_an_unreadable_object_is_reported() {
    let (cache, mut told) = cache(&["ns/a"]);
    let key = "ns/a".into();
    cache.set_unreadable(&key, unreadable("2", "data"));
    cache.remove(&key, &ObjectMeta::default());
    assert!(cache.unreadable(&key).is_none());
    cache.set_unreadable(&key, unreadable("3", "data"));
    cache.retain(None, &HashSet::new(), "");
    assert!(cache.unreadable(&key).is_none());
    for change in [
        "ns/a 1 none unreadable",
        "ns/a 1 none unreadable",
        "ns/a none none unreadable",
        "ns/a none none unreadable",
    ] {
        assert_eq!(told.try_recv().unwrap(), change);
    }
}

#[test]
fn lists_are_sorted_by_key_with_any_selection() {
    fn names(map: &ConfigMap) -> Vec<String> {
        map.metadata.name.iter().cloned().collect()
    }
    let (cache, _told) = cache(&["ns/b", "ns-2/a", "ns/a", "n/a"]);
    let list = |namespace, index| {
        let selection = Selection {
            namespace,
            labels: &Selector::default(),
            index,
        };
        let found = cache.select(&selection).into_iter();
        found.map(|(key, _)| key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None), ["n/a", "ns-2/a", "ns/a", "ns/b"]);
    assert_eq!(list(Some("ns"), None), ["ns/a", "ns/b"]);
    assert_eq!(list(None, Some((names, "a"))), ["n/a", "ns-2/a", "ns/a"]);
    assert_eq!(list(Some("ns"), Some((names, "a"))), ["ns/a"]);
    cache.remove(&"ns/a".into(), &ObjectMeta::default());
    assert_eq!(list(Some("ns"), None), ["ns/b"]);
}

#[test]
fn relisting_an_unchanged_object_is_not_a_change() {
    let (cache, mut told) = cache(&["ns/a"]);
    cache.set(&"ns/a".into(), &object("ns", "a", "1").into());
    assert!(told.try_recv().is_err());
}

#[test]
fn relisting_a_namespace_removes_only_its_own_missing_objects() {
    let (cache, mut told) = cache(&["ns/a", "ns/b", "other/a"]);
    cache.retain(Some("ns"), &["ns/a".into()].into(), "");
    assert_eq!(told.try_recv().unwrap(), "ns/b 1 none");
    assert!(told.try_recv().is_err());
    cache.retain(None, &["ns/a".into()].into(), "");
    assert_eq!(told.try_recv().unwrap(), "other/a 1 none");
    assert!(cache.get(&"ns/a".into()).is_some());
}

#[test]
fn the_lists_of_a_thousand_namespaces_take_about_as_long_as_one_of_all() {
    const NAMESPACES: usize = 1_000;
    let keys = |namespace: usize| {
        let name = move |number| Key::from(&format!("ns-{namespace}/{number}"));
        (0..20).map(name).collect::<HashSet<_>>()
    };
    let fill = |cache: &Cache<ConfigMap>, keys: &HashSet<Key>| {
        for key in keys {
            cache.set(key, &ConfigMap::default().into());
        }
    };
    let (one, began) = (Cache::new(), std::time::Instant::now());
    one.progress.start(1);
    let all: HashSet<_> = (0..NAMESPACES).flat_map(keys).collect();
    fill(&one, &all);
    one.retain(None, &all, "1");
    one.progress.listed(0);
    let one = began.elapsed();

    let (many, began) = (Cache::new(), std::time::Instant::now());
    many.progress.start(NAMESPACES);
    for namespace in 0..NAMESPACES {
        let keys = keys(namespace);
        fill(&many, &keys);
        many.retain(Some(&format!("ns-{namespace}")), &keys, "1");
        many.progress.listed(namespace);
    }
    let many = began.elapsed();
    // About twice, and fifty times if each list looked at all objects.
    assert!(many < one * 10, "{many:?} instead of {one:?}");
}

#[test]
fn only_false_switches_streamed_lists_off() {
    assert_eq!(
        ["false", "0", "", "true", "1", "no"].map(is_off),
        [true, true, false, false, false, false]
    );
}
