//! What a release leaves to the user: names of the library that changed, and changes of behaviour that stay switched off.

use std::collections::BTreeMap;

use super::Tree;
use crate::project::release as number;

/// The user's Rust files, by path: those that differ from what kbr wrote.
pub type Sources = BTreeMap<String, String>;

/// A place in the user's code that needs a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `src/controllers/captain.rs:12`; a file without a line for a change of the project.
    pub place: String,
    pub text: String,
}

/// A change of the library that the compiler rejects, or that nothing reports.
struct Change {
    /// The release that made it.
    release: &'static str,
    /// Text of the code that it affects.
    pattern: &'static str,
    note: &'static str,
}

/// A change of behaviour that stays switched off in a project whose code depends on the behaviour before.
struct Hold {
    /// The release that made it.
    release: &'static str,
    /// Text of the code that depends on it.
    pattern: &'static str,
    /// The files with the switch.
    paths: &'static [&'static str],
    /// The texts of the switch: off, and as the release has it.
    switch: &'static [(&'static str, &'static str)],
    note: &'static str,
}

const CHANGES: &[Change] = &[
    Change {
        release: "0.2.0",
        pattern: ".wake(",
        note: "`Trigger::wake` is now `Trigger::enqueue`",
    },
    Change {
        release: "0.2.0",
        pattern: ".wake_all(",
        note: "`Trigger::wake_all` is now `Trigger::enqueue_all`",
    },
    Change {
        release: "0.2.0",
        pattern: ".all(\"",
        note: "`FakeApi::all` is now `FakeApi::all_json`; `all::<Kind>()` returns typed objects",
    },
];

const HOLDS: &[Hold] = &[Hold {
    release: "0.2.0",
    pattern: "k8s_openapi::api::apps",
    paths: &["Cargo.toml", ".cargo/config.toml"],
    switch: &[("v1_36", "v1_37"), ("\"1.36\"", "\"1.37\"")],
    note: "the types of Kubernetes stay those of 1.36. In 1.37, `spec` of a Deployment, StatefulSet or DaemonSet is not an `Option`: to change, write `v1_37` here and 1.37 in `.cargo/config.toml`, and remove `Some(…)` around these fields",
}];

/// Whether a change of `release` is part of the upgrade.
fn is_part(release: &str, [from, to]: [&str; 2]) -> bool {
    number(from) < number(release) && number(release) <= number(to)
}

/// Switches off, in the new release's files, the changes of behaviour that the user's code is not ready for.
pub fn hold(new: &mut Tree, sources: &Sources, releases: [&str; 2]) -> Vec<Note> {
    let mut notes = Vec::new();
    let holds = HOLDS.iter().filter(|hold| is_part(hold.release, releases));
    for hold in holds {
        if !sources.values().any(|text| text.contains(hold.pattern)) {
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

/// The lines of the user's code that a change of the library affects, sorted by path.
pub fn left(sources: &Sources, releases: [&str; 2]) -> Vec<Note> {
    let mut notes = Vec::new();
    for (path, text) in sources {
        for (number, line) in (1..).zip(text.lines()) {
            let changes = CHANGES
                .iter()
                .filter(|change| is_part(change.release, releases));
            let hits = changes.filter(|change| line.contains(change.pattern));
            notes.extend(hits.map(|change| Note {
                place: format!("{path}:{number}"),
                text: change.note.to_owned(),
            }));
        }
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
        let sources = Sources::from([("src/a.rs".to_owned(), "\ntrigger.wake(key);\n".to_owned())]);
        let notes = left(&sources, ["0.1.0", "0.2.0"]);
        assert_eq!(
            notes,
            [Note {
                place: "src/a.rs:2".to_owned(),
                text: "`Trigger::wake` is now `Trigger::enqueue`".to_owned()
            }]
        );
        assert_eq!(left(&sources, ["0.2.0", "0.3.0"]), []);
    }

    #[test]
    fn a_change_of_behaviour_stays_off_only_for_code_that_depends_on_it() {
        let text = "k8s-openapi = { features = [\"v1_37\"] }\n".to_owned();
        let policy = Policy::Owned;
        let tree = Tree::from([("Cargo.toml".to_owned(), Pristine { policy, text })]);
        let releases = ["0.1.0", "0.2.0"];
        let mut new = tree.clone();
        assert_eq!(hold(&mut new, &Sources::new(), releases), []);
        assert_eq!(new, tree);
        let code = "use k8s_openapi::api::apps::v1::Deployment;\n".to_owned();
        let notes = hold(
            &mut new,
            &Sources::from([("src/a.rs".to_owned(), code)]),
            releases,
        );
        assert_eq!(notes.len(), 1);
        assert!(new["Cargo.toml"].text.contains("v1_36"));
    }
}
