//! What a release leaves to the user: names of the library that changed, and changes of behaviour that stay switched off.

use std::collections::BTreeMap;

use super::{Disk, Span, Tree, named_last};
use crate::library;
use crate::rust::comments::lex;
use crate::rust::is_rust;
use crate::rust::uses;

/// The user's Rust files, by path.
pub type Sources = BTreeMap<String, String>;

/// The Rust files in `disk` that neither release wrote like that, without the library.
pub fn sources(disk: &Disk, ancestor: &Tree, new: &Tree) -> Sources {
    let is_of = |tree: &Tree, path: &str, text: &str| {
        let pristine = tree.get(path);
        pristine.is_some_and(|pristine| pristine.text == text)
    };
    let mut sources = Sources::new();
    for (path, content) in disk {
        // What is not text is not Rust.
        let text = str::from_utf8(content).ok();
        let text = text.filter(|_| is_rust(path) && !library::has(path));
        if let Some(text) = text
            && !is_of(ancestor, path, text)
            && !is_of(new, path, text)
        {
            sources.insert(path.clone(), text.to_owned());
        }
    }
    sources
}

/// A place in the user's code that needs a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `src/controllers/captain.rs:12`; a file without a line for a change of the project.
    pub place: String,
    /// What the user has to do.
    pub text: String,
}

/// A change of the library that the compiler rejects, or that nothing reports.
struct LibraryChange {
    /// The release that made it.
    release: &'static str,
    /// Text of the code that it affects.
    pattern: &'static str,
    /// A name that the file must contain, too.
    with: &'static str,
    note: &'static str,
}

/// A change of behaviour that stays switched off in a project whose code depends on the behaviour before.
struct Hold {
    /// The release that made it.
    release: &'static str,
    /// The path of what the code depends on.
    path: &'static str,
    /// The files with the switch.
    paths: &'static [&'static str],
    /// The texts of the switch: off, and as the release has it.
    switch: &'static [(&'static str, &'static str)],
    note: &'static str,
}

const CHANGES: &[LibraryChange] = &[
    LibraryChange {
        release: "0.2.0",
        pattern: ".wake(",
        with: "Trigger",
        note: "`Trigger::wake` is now `Trigger::enqueue`",
    },
    LibraryChange {
        release: "0.2.0",
        pattern: ".wake_all(",
        with: "Trigger",
        note: "`Trigger::wake_all` is now `Trigger::enqueue_all`",
    },
    LibraryChange {
        release: "0.2.0",
        pattern: ".all(\"",
        with: "FakeApi",
        note: "`FakeApi::all` is now `FakeApi::all_json`; `all::<Kind>()` returns typed objects",
    },
    LibraryChange {
        release: "0.3.0",
        pattern: "..Options::default()",
        with: "manager",
        note: "`Options` is `#[non_exhaustive]`: change the fields of `Options::default()` instead",
    },
];

const HOLDS: &[Hold] = &[Hold {
    release: "0.2.0",
    path: "k8s_openapi::api::apps",
    paths: &["Cargo.toml", ".cargo/config.toml"],
    switch: &[("v1_36", "v1_37"), ("\"1.36\"", "\"1.37\"")],
    note: "the project keeps the types of Kubernetes 1.36. In 1.37, `spec` of a Deployment, StatefulSet or DaemonSet is not an `Option`: to switch, write `v1_37` here and 1.37 in `.cargo/config.toml`, and remove `Some(…)` around these fields",
}];

/// Switches off, in the new release's files, the changes of behaviour that the user's code is not ready for.
pub fn hold(new: &mut Tree, sources: &Sources, span: Span) -> Vec<Note> {
    let mut notes = Vec::new();
    let holds = HOLDS.iter().filter(|hold| span.includes(hold.release));
    for hold in holds {
        if !sources.values().any(|text| names(text, hold.path)) {
            continue;
        }
        for path in hold.paths {
            if let Some(file) = new.get_mut(*path) {
                for (off, on) in hold.switch {
                    file.text = file.text.replace(on, off);
                }
            }
        }
        notes.push(Note {
            place: hold.paths.first().map_or("", |path| path).to_owned(),
            text: hold.note.to_owned(),
        });
    }
    notes
}

/// Whether a file of Rust names something at `path` or below, in full or through its `use` items.
fn names(text: &str, path: &str) -> bool {
    let code = lex(text).map_or_else(|_| text.to_owned(), |it| it.code);
    let is_below = |found: &str| {
        found
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let mut names = uses::uses(&code).into_iter();
    code.contains(path)
        || names.any(|(name, found)| {
            let rest = path
                .strip_prefix(&found)
                .filter(|rest| rest.starts_with("::"));
            is_below(&found) || rest.is_some_and(|rest| code.contains(&format!("{name}{rest}")))
        })
}

/// The lines of the user's code that a change of the library affects, sorted by path.
pub fn left(sources: &Sources, span: Span) -> Vec<Note> {
    let mut notes = Vec::new();
    for (path, text) in sources {
        for (number, line) in (1..).zip(text.lines()) {
            let changes = CHANGES
                .iter()
                .filter(|change| span.includes(change.release));
            let hits = changes
                .filter(|change| line.contains(change.pattern) && text.contains(change.with));
            notes.extend(hits.map(|change| Note {
                place: format!("{path}:{number}"),
                text: change.note.to_owned(),
            }));
        }
        let lines = named_last::lines(text, span).into_iter();
        notes.extend(lines.map(|(number, text)| Note {
            place: format!("{path}:{number}"),
            text,
        }));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaffold::Policy;
    use crate::upgrade::Pristine;

    #[test]
    fn a_changed_name_is_noted_at_its_line() {
        let sources = Sources::from([(
            "src/a.rs".to_owned(),
            "use manager::Trigger;\ntrigger.wake(key);\n".to_owned(),
        )]);
        let notes = left(
            &sources,
            Span {
                from: "0.1.0",
                to: "0.2.0",
            },
        );
        assert_eq!(
            notes,
            [Note {
                place: "src/a.rs:2".to_owned(),
                text: "`Trigger::wake` is now `Trigger::enqueue`".to_owned()
            }]
        );
        assert_eq!(
            left(
                &sources,
                Span {
                    from: "0.2.0",
                    to: "0.3.0",
                }
            ),
            []
        );
    }

    #[test]
    fn a_change_of_behaviour_stays_off_only_for_code_that_depends_on_it() {
        let text = "k8s-openapi = { features = [\"v1_37\"] }\n".to_owned();
        let policy = Policy::Owned;
        let tree = Tree::from([("Cargo.toml".to_owned(), Pristine { policy, text })]);
        let span = Span {
            from: "0.1.0",
            to: "0.2.0",
        };
        let mut new = tree.clone();
        assert_eq!(hold(&mut new, &Sources::new(), span), []);
        assert_eq!(new, tree);
        for code in [
            "use k8s_openapi::api::apps::v1::Deployment;",
            "use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};",
            "use k8s_openapi::api as kubernetes;\nfn a(_: kubernetes::apps::v1::Deployment) {}",
            "fn a(_: k8s_openapi::api::apps::v1::Deployment) {}",
        ] {
            let mut new = tree.clone();
            let sources = Sources::from([("src/a.rs".to_owned(), code.to_owned())]);
            assert_eq!(hold(&mut new, &sources, span).len(), 1, "{code}");
            assert!(new["Cargo.toml"].text.contains("v1_36"));
        }
        for code in [
            "use k8s_openapi::api::core::v1::Pod;",
            "// k8s_openapi::api::apps\n",
        ] {
            let sources = Sources::from([("src/a.rs".to_owned(), code.to_owned())]);
            assert_eq!(hold(&mut new, &sources, span), [], "{code}");
        }
    }
}
