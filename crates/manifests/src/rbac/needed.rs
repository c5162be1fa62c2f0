//! Compares the permissions that the operator's code needs with those that the markers grant.

use super::Roles;
use crate::allow::MISSING_PERMISSION;
use crate::kinds::Kinds;
use crate::problem::{self, Problem};
use crate::registrations::{self, Finalizer, WATCHING, finalizers, registrations};
use crate::sources::Sources;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::uses::call;

/// Calls of a `Context` that publish events.
const PUBLISHING: [&str; 3] = ["cx.event", "cx.event_about", "cx.warning"];

/// The method that rewrites stored objects.
const MIGRATING: &str = ".migrate_storage";

/// A permission that a line of code needs.
struct Need {
    line: usize,
    /// `kind::<Job>()`.
    what: String,
    group: String,
    resource: String,
    /// The only object that it is about; `None` for all.
    name: Option<String>,
    verbs: &'static [&'static str],
}

/// A warning for each line of code that needs a permission which no marker grants. Kinds that kbr does not know are ignored.
pub fn missing(roles: &Roles, kinds: &Kinds, sources: &Sources) -> Vec<Problem> {
    let markers = sources.called("lint");
    let mut problems = Vec::new();
    for source in &sources.files {
        let allowed = registrations::allowed(&markers, MISSING_PERMISSION, source);
        for need in needs(kinds, source) {
            let on = (&*need.group, &*need.resource, need.name.as_deref());
            let verbs = roles.not_permitted(on, need.verbs);
            if !verbs.is_empty() && !allowed.contains(&need.line) {
                problems.push(problem(&source.path, &need, &verbs));
            }
        }
    }
    problems
}

fn problem(file: &str, need: &Need, verbs: &[&str]) -> Problem {
    let Need { what, resource, .. } = need;
    let group = Some(need.group.as_str()).filter(|group| !group.is_empty());
    let group = group.unwrap_or("core");
    let text = format!(
        "`{what}` needs to {} `{resource}`, but no `+kbr:rbac` comment permits it",
        verbs.join(" and ")
    );
    let name = need.name.as_ref();
    let name = name.map(|name| format!(",resourceNames={name}"));
    let rule = format!(
        "// +kbr:rbac:groups={group},resources={resource}{},verbs={}",
        name.unwrap_or_default(),
        verbs.join(";")
    );
    let help = format!("add this comment where the controller is registered: `{rule}`");
    let problem = Problem::new(text)
        .at(&format!("{file}:{}", need.line))
        .help(help);
    problem::or_intended(problem, MISSING_PERMISSION)
}

/// The permissions that one Rust file needs, sorted by line.
fn needs(kinds: &Kinds, source: &Source) -> Vec<Need> {
    let mut found: Vec<Need> = watched(kinds, source).collect();
    found.extend(finalized(kinds, source));
    found.extend(migrated(kinds, source));
    found.extend(published(source));
    found.sort_by_key(|need| need.line);
    found
}

fn watched<'a>(kinds: &'a Kinds, source: &'a Source) -> impl Iterator<Item = Need> + use<'a> {
    let found = registrations(kinds, &WATCHING, source).into_iter();
    found.map(|watch| Need {
        line: watch.line,
        what: watch.what(),
        group: watch.kind.full_group.clone(),
        resource: watch.kind.plural.clone(),
        name: None,
        verbs: &["list", "watch"],
    })
}

/// What a finalizer in the registration of a controller needs: it is added by a patch, and removed by replacing the object.
fn finalized<'a>(kinds: &'a Kinds, source: &'a Source) -> impl Iterator<Item = Need> + use<'a> {
    finalizers(kinds, source).map(|finalizer| Need {
        line: finalizer.line,
        what: Finalizer::WHAT.to_owned(),
        group: finalizer.kind.full_group.clone(),
        resource: finalizer.kind.plural.clone(),
        name: None,
        verbs: &["get", "patch", "update"],
    })
}

/// Whether the code migrates the stored objects of this kind, named in any of its versions.
pub fn migrates(kinds: &Kinds, sources: &Sources, kind: &Target) -> bool {
    let mut found = sources
        .files
        .iter()
        .flat_map(|source| migrations(kinds, source));
    found.any(|(_, _, found, _)| found.is_version_of(kind))
}

/// Each call of `migrate_storage`: its line, the type as written, the kind, and the rest of the code.
fn migrations<'a>(
    kinds: &'a Kinds,
    source: &'a Source,
) -> impl Iterator<Item = (usize, String, &'a Target, &'a str)> {
    let code = source.code().unwrap_or_default();
    code.match_indices(MIGRATING).filter_map(|(at, _)| {
        let (written, rest) = call(&code[at + MIGRATING.len()..])?;
        let written = written?;
        let kind = kinds.find(&source.resolve(&written))?;
        Some((source.lines.number(at), written, kind, rest))
    })
}

/// What `migrate_storage` needs: the CRD and its status, the objects, and a `StorageVersionMigration` unless it has a rate.
fn migrated(kinds: &Kinds, source: &Source) -> Vec<Need> {
    let mut found = Vec::new();
    let code = source.code().unwrap_or_default();
    let [ends, rates] = [";", ".rate("].map(|pattern| registrations::places(code, pattern));
    for (line, written, kind, rest) in migrations(kinds, source) {
        let need = |group: &str, resource: &str, name, verbs| Need {
            line,
            what: format!("{MIGRATING}::<{written}>()"),
            group: group.to_owned(),
            resource: resource.to_owned(),
            name,
            verbs,
        };
        let (extensions, crds) = ("apiextensions.k8s.io", "customresourcedefinitions");
        let crd = Some(format!("{}.{}", kind.plural, kind.full_group));
        let status = format!("{crds}/status");
        found.push(need(extensions, crds, crd.clone(), &["get"]));
        found.push(need(extensions, &status, crd, &["patch"]));
        found.push(need(
            &kind.full_group,
            &kind.plural,
            None,
            &["list", "patch"],
        ));
        let from = code.len() - rest.len();
        let end = registrations::first(&ends, from..code.len()).unwrap_or(code.len());
        if registrations::first(&rates, from..end).is_none() {
            let verbs: &[&str] = &["create", "get", "delete"];
            found.push(need(
                "storagemigration.k8s.io",
                "storageversionmigrations",
                None,
                verbs,
            ));
        }
    }
    found
}

fn published(source: &Source) -> impl Iterator<Item = Need> {
    let code = source.code().unwrap_or_default();
    PUBLISHING.into_iter().flat_map(move |called| {
        let calls = code.match_indices(called).filter(move |(at, _)| {
            let before = code[..*at].chars().next_back();
            let own_word = !before.is_some_and(|c| c == '_' || c.is_alphanumeric());
            own_word && code[at + called.len()..].trim_start().starts_with('(')
        });
        calls.map(move |(at, _)| Need {
            line: source.lines.number(at),
            what: format!("{called}(…)"),
            group: "events.k8s.io".to_owned(),
            resource: "events".to_owned(),
            name: None,
            verbs: &["create", "patch"],
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::{Marker, markers};

    /// All warnings for a file.
    fn warnings(source: &str) -> String {
        let project = kbr_scaffold::project::parse(PROJECT).expect("a project");
        let mut problems = Vec::new();
        let found = markers(&Source::new("a.rs", source), &mut problems);
        let of = |name: &str| found.iter().filter(|it| it.name == name).cloned().collect();
        let rbac: Vec<Marker> = of("rbac");
        let roles = Roles::new("manager-role", &rbac, &[], &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        let sources = Sources::of("a.rs", source, of("lint"));
        let kinds = Kinds::of(&project, &[]);
        let found = missing(&roles, &kinds, &sources);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        found.join("\n")
    }

    const PROJECT: &str =
        "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"crew\"\ndomain = \"example.com\"\n";
    const JOB: &str = "use k8s_openapi::api::batch::v1::Job;\n";

    #[test]
    fn a_kind_that_is_watched_without_permission_is_reported_with_the_rule() {
        let expected = "`a.rs:2`: `kind::<Job>()` needs to list and watch `jobs`, but no `+kbr:rbac` comment permits it\n    \
            help: add this comment where the controller is registered: `// +kbr:rbac:groups=batch,resources=jobs,verbs=list;watch`\n    \
            help: if this is intended, write above it `// +kbr:lint:allow=missing-permission`";
        assert_eq!(
            warnings(&format!("{JOB}manager.owns(kind::<Job>());")),
            expected
        );
        let configured = |call: &str| warnings(&format!("{JOB}x.{call};"));
        for call in [
            "owns(kind::<Job>().optional())",
            "owns(metadata::<Job>().when(changed))",
            "watches(manager::kind::<Job>(), map)",
            "reads(kind::<Job>())",
        ] {
            assert!(configured(call).contains("list and watch"), "{call}");
        }
        let found = warnings(&format!("{JOB}manager.controller::<Job>(a);"));
        assert!(found.contains("verbs=list;watch`"), "{found}");
        let metadata = "x.owns(metadata::<k8s_openapi::api::core::v1::Pod>());";
        let found = warnings(metadata);
        assert!(found.contains("groups=core,resources=pods,"), "{found}");
    }

    #[test]
    fn only_what_is_missing_is_reported() {
        let rule = |rule: &str| {
            warnings(&format!(
                "{JOB}x.owns(kind::<Job>());\n// +kbr:rbac:{rule}\n"
            ))
        };
        let found = rule("groups=batch,resources=jobs,verbs=get;list");
        assert!(found.contains("needs to watch `jobs`"), "{found}");
        assert!(found.contains("verbs=watch`"), "{found}");
        assert_ne!(rule("groups=batch,resources=cronjobs,verbs=list;watch"), "");
        assert_ne!(
            rule("groups=batch,resources=jobs,resourceNames=a,verbs=list;watch"),
            ""
        );
        for enough in [
            "groups=batch,resources=jobs,verbs=list;watch",
            "groups=batch,resources=cronjobs;jobs,verbs=*",
            "groups=*,resources=*,verbs=list;watch",
            "groups=batch,resources=jobs,verbs=list;watch,namespace=a,roleName=b",
        ] {
            assert_eq!(rule(enough), "", "{enough}");
        }
    }

    #[test]
    fn events_need_their_own_permission() {
        let found = warnings("fn f() {\n    cx.event(\"A\", \"b\");\n}\n");
        let rule = "`// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch`";
        assert!(
            found.starts_with("`a.rs:2`: `cx.event(…)` needs"),
            "{found}"
        );
        assert!(found.contains(rule), "{found}");
        // The permission for the older API of events is a different one.
        let core = "// +kbr:rbac:groups=core,resources=events,verbs=create;patch\n";
        assert_ne!(
            warnings(&format!("{core}fn f() {{ cx.warning(a, b); }}")),
            ""
        );
        assert_eq!(warnings("fn f() { ocx.event(a); cx.events(); }"), "");
    }

    #[test]
    fn a_storage_migration_needs_the_crd_the_objects_and_a_migration() {
        let rules = |rate: &str, given: &str| -> Vec<String> {
            let found = warnings(&format!(
                "{JOB}{given}manager.migrate_storage::<Job>(){rate};"
            ));
            let rules = found
                .split('`')
                .filter(|part| part.starts_with("// +kbr:rbac"));
            rules
                .map(|rule| rule["// +kbr:rbac:".len()..].to_owned())
                .collect()
        };
        let crds = "groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=jobs.batch,verbs=get";
        let status = "groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=jobs.batch,verbs=patch";
        let objects = "groups=batch,resources=jobs,verbs=list;patch";
        let migrations = "groups=storagemigration.k8s.io,resources=storageversionmigrations,verbs=create;get;delete";
        assert_eq!(rules("", ""), [crds, status, objects, migrations]);
        assert_eq!(rules("\n    .rate(50)", ""), [crds, status, objects]);
        let given: String = [crds, status, objects, migrations]
            .map(|rule| format!("// +kbr:rbac:{rule}\n"))
            .concat();
        assert_eq!(rules("", &given), [""; 0]);
        let other = given.replace("jobs.batch", "other.batch");
        assert_eq!(rules("", &other), [crds, status]);
    }

    #[test]
    fn a_finalizer_needs_to_read_patch_and_update_the_kind() {
        let finalizer = "x.controller::<Job>(\"job\")\n    .predicate(|job| { let a = job; a })\n    .finalizer(\"a/b\", cleanup)\n    .reconcile(run);";
        let rule =
            |verbs: &str| format!("// +kbr:rbac:groups=batch,resources=jobs,verbs={verbs}\n");
        let warnings = |verbs: &str| warnings(&format!("{}{JOB}{finalizer}", rule(verbs)));
        assert_eq!(warnings("get;list;watch;patch;update"), "");
        assert_eq!(
            warnings("get;list;watch;patch"),
            "`a.rs:5`: `.finalizer(…)` needs to update `jobs`, but no `+kbr:rbac` comment permits it\n    \
             help: add this comment where the controller is registered: `// +kbr:rbac:groups=batch,resources=jobs,verbs=update`\n    \
             help: if this is intended, write above it `// +kbr:lint:allow=missing-permission`"
        );
        let missing = warnings("list;watch");
        assert!(
            missing.contains("needs to get and patch and update `jobs`"),
            "{missing}"
        );
        let another =
            "x.controller::<Job>(\"job\").reconcile(run);\ny.finalizer(\"a/b\", cleanup);";
        let source = format!("{}{JOB}{another}", rule("list;watch"));
        assert_eq!(super::tests::warnings(&source), "", "another statement");
    }

    /// Processor time, which does not depend on what else the machine does: with the square of the size, it would be four times as much.
    #[test]
    fn twice_the_calls_take_twice_the_time() {
        let inputs: [fn(usize) -> String; 5] = [
            |n| "x.controller::<Job>(".repeat(n),
            |n| {
                format!(
                    "x.controller::<Job>({}",
                    "{x.controller::<Job>(1)}".repeat(n)
                )
            },
            |n| "x.migrate_storage::<Job>(".repeat(n),
            |n| "x.owns(kind::<Job>());\n".repeat(n),
            |n| "// +kbr:lint:allow=missing-permission\nx.owns(kind::<Job>());\n".repeat(n),
        ];
        for (number, input) in inputs.iter().enumerate() {
            let time = |n: usize| {
                let source = format!("{JOB}{}", input(n));
                let before = crate::fuzz::processor_time();
                warnings(&source);
                crate::fuzz::processor_time().saturating_sub(before)
            };
            let (once, twice) = (time(5_000), time(10_000));
            assert!(twice < once * 3, "input {number}: {once:?}, then {twice:?}");
        }
    }

    #[test]
    fn unknown_kinds_and_allowed_lines_are_not_reported() {
        assert_eq!(warnings("x.owns(kind::<Job>());"), "", "another `Job`");
        let dynamic = "x.controller::<Dynamic<Ox, Health>>(a).owns(kind::<Dynamic<Job>>());";
        assert_eq!(warnings(&format!("{JOB}{dynamic}")), "");
        assert_eq!(warnings(&format!("{JOB}// x.owns(kind::<Job>());")), "");
        let allow = "// +kbr:lint:allow=missing-permission";
        let source = |between: &str| format!("{JOB}{allow}\n{between}x.owns(kind::<Job>());");
        assert_eq!(warnings(&source("")), "");
        assert_eq!(warnings(&source("// Bound by hand.\n")), "");
        assert_ne!(warnings(&source("\n")), "", "another comment");
    }
}
