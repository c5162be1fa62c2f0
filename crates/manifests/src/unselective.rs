//! Finds watches that would cache every object of a large kind, whole.

use super::allow::UNSELECTIVE_WATCH;
use super::kinds::Kinds;
use super::problem::{self, Problem};
use super::registrations::{Registration, allowed, first, places, registrations};
use super::sources::Sources;

/// Kinds of which a cluster has many or large objects that an operator does not read, as group and plural.
const LARGE: [(&str, &str); 5] = [
    ("", "configmaps"),
    ("", "events"),
    ("", "pods"),
    ("", "secrets"),
    ("events.k8s.io", "events"),
];

/// A warning for each registration that caches all objects of a large kind.
pub fn unselective(kinds: &Kinds, sources: &Sources) -> Vec<Problem> {
    let mut shaped = Vec::new();
    for source in &sources.files {
        let caches = registrations(kinds, &[".cache"], source);
        let caches = caches.into_iter().filter(|cache| !cache.is_metadata());
        let selects = selecting(source.code().unwrap_or_default());
        shaped.extend(caches.filter(selects).map(|cache| cache.kind));
    }
    let markers = sources.called("lint");
    let mut problems = Vec::new();
    for source in &sources.files {
        let mut found = registrations(kinds, &["kind"], source);
        found.retain(|watch| is_large(watch) && !watch.is_metadata());
        found.sort_by_key(|watch| watch.line);
        let allowed = allowed(&markers, UNSELECTIVE_WATCH, source);
        for watch in found {
            let is_shaped = shaped.contains(&watch.kind);
            if !is_shaped && !allowed.contains(&watch.line) {
                problems.push(problem(&source.path, &watch));
            }
        }
    }
    problems
}

fn is_large(watch: &Registration) -> bool {
    LARGE.contains(&(&watch.kind.full_group, &watch.kind.plural))
}

/// Whether a configuration of a cache in `code` does more than set the size of its pages.
fn selecting(code: &str) -> impl Fn(&Registration) -> bool {
    let (ends, paged) = (places(code, ";"), places(code, ".page_size("));
    let others = [
        ".with_label(",
        ".matching(",
        ".fields(",
        ".in_namespaces(",
        ".transform(",
    ];
    let others = others.map(|method| places(code, method));
    let length = code.len();
    move |cache| {
        let from = length - cache.rest.len();
        let end = first(&ends, from..length).unwrap_or(length);
        let has = |places: &Vec<usize>| first(places, from..end).is_some();
        // It may be in a variable, and be configured in the statements that follow.
        !has(&paged) || others.iter().any(has)
    }
}

fn problem(file: &str, watch: &Registration) -> Problem {
    let (what, written) = (watch.what(), &watch.written);
    let kind = &watch.kind.kind;
    let problem = Problem::new(format!(
        "`{what}` caches every {kind} in the cluster, which may exceed the operator's memory"
    ))
    .at(&format!("{file}:{}", watch.line))
    .help(format!(
        "cache only those that it needs, for example with `manager.cache::<{written}>().with_label(…)`, or only their \
         metadata, with `metadata::<{written}>()`"
    ));
    problem::or_intended(problem, UNSELECTIVE_WATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::markers;
    use kbr_scaffold::rust::Source;

    const PROJECT: &str =
        "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"crew\"\ndomain = \"example.com\"\n";
    const USE: &str = "use k8s_openapi::api::{batch::v1::Job, core::v1::{ConfigMap, Secret}};\n";

    /// All warnings for a file that begins with [`USE`].
    fn warnings(code: &str) -> String {
        let project = kbr_scaffold::project::parse(PROJECT).expect("a project");
        let source = format!("{USE}{code}");
        let mut problems = Vec::new();
        let found = markers(&Source::new("a.rs", source.as_str()), &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        let found = found.into_iter().filter(|marker| marker.name == "lint");
        let sources = Sources::of("a.rs", &source, found.collect());
        let found = unselective(&Kinds::of(&project, &[]), &sources);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        found.join("\n")
    }

    #[test]
    fn a_watch_of_all_whole_objects_of_a_large_kind_is_reported() {
        let expected = "`a.rs:2`: `kind::<Secret>()` caches every Secret in the cluster, which may exceed the operator's memory\n    \
            help: cache only those that it needs, for example with `manager.cache::<Secret>().with_label(…)`, or only their metadata, \
            with `metadata::<Secret>()`\n    \
            help: if this is intended, write above it `// +kbr:lint:allow=unselective-watch`";
        assert_eq!(warnings("x.reads(kind::<Secret>());"), expected);
        for path in ["core::v1::Pod", "core::v1::Event", "events::v1::Event"] {
            let found = warnings(&format!(
                "x.watches(kind::<k8s_openapi::api::{path}>(), map);"
            ));
            assert!(found.contains(path), "{path}: {found}");
        }
        let optional = "x.owns(kind::<ConfigMap>().optional());";
        assert_ne!(warnings(optional), "");
    }

    #[test]
    fn other_watches_are_not_reported() {
        for code in [
            "x.owns(metadata::<Secret>());",
            "x.reads(my_kind::<Secret>());",
            "x.owns(kind::<Job>());",
            "x.controller::<ConfigMap>(name);",
            "x.reads(kind::<Dynamic<Secret>>());",
            "// +kbr:lint:allow=unselective-watch\nx.reads(kind::<Secret>());",
        ] {
            assert_eq!(warnings(code), "", "{code}");
        }
    }

    #[test]
    fn a_configured_cache_is_not_reported_unless_only_its_pages_are() {
        let read = |cache: &str| warnings(&format!("x.reads(kind::<Secret>());\n{cache}"));
        let label = "manager\n.cache::<Secret>()\n.page_size(9)\n.with_label(a, b);";
        assert_eq!(read(label), "");
        let later = "let mut cache = manager.cache::<Secret>();\ncache.fields(a);";
        assert_eq!(read(later), "");
        assert_ne!(read("manager.cache::<Secret>().page_size(9);"), "");
        assert_ne!(read("manager.cache::<ConfigMap>().fields(a);"), "");
        assert_ne!(
            read("manager.cache::<PartialObjectMeta<Secret>>().fields(a);"),
            ""
        );
    }
}
