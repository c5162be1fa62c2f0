//! What a release leaves to the user: names of the library that changed, and changes of behaviour that stay switched off.

use std::collections::BTreeMap;

use super::{Changes, Disk, Span, Tree};
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

/// Switches off, in the new release's files, the changes of behaviour that the user's code is not ready for.
pub fn hold(new: &mut Tree, sources: &Sources, span: Span, changes: &Changes) -> Vec<Note> {
    let mut notes = Vec::new();
    let held = changes.held.iter().filter(|it| span.includes(it.release));
    for held in held.filter(|it| sources.values().any(|text| names(text, it.path))) {
        for path in held.files {
            if let Some(file) = new.get_mut(*path) {
                for (off, on) in held.switch {
                    file.text = file.text.replace(on, off);
                }
            }
        }
        notes.push(Note {
            place: held.files.first().map_or("", |path| path).to_owned(),
            text: held.note.to_owned(),
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
pub fn left(sources: &Sources, span: Span, changes: &Changes) -> Vec<Note> {
    let mut notes = Vec::new();
    for (path, text) in sources {
        for (number, line) in (1..).zip(text.lines()) {
            let passed = changes.noted.iter().filter(|it| span.includes(it.release));
            let hits = passed.filter(|it| line.contains(it.pattern) && text.contains(it.with));
            notes.extend(hits.map(|it| Note {
                place: format!("{path}:{number}"),
                text: it.note.to_owned(),
            }));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predecessor::{CHANGES, SPAN, VERSION};
    use crate::scaffold::Policy;
    use crate::upgrade::Pristine;

    const EARLIER: Span = Span {
        from: "0.0.1",
        to: VERSION,
    };

    #[test]
    fn a_changed_name_is_noted_at_its_line() {
        let sources = Sources::from([(
            "src/a.rs".to_owned(),
            "use manager::Trigger;\ntrigger.wake(key);\n".to_owned(),
        )]);
        assert_eq!(
            left(&sources, SPAN, &CHANGES),
            [Note {
                place: "src/a.rs:2".to_owned(),
                text: "`Trigger::wake` is now `Trigger::enqueue`".to_owned()
            }]
        );
        assert_eq!(left(&sources, EARLIER, &CHANGES), []);
        let another = Sources::from([("src/a.rs".to_owned(), "bird.wake(key);\n".to_owned())]);
        assert_eq!(left(&another, SPAN, &CHANGES), []);
    }

    #[test]
    fn a_change_of_behaviour_stays_off_only_for_code_that_depends_on_it() {
        let path = "config/manager/manager.yaml";
        let text = "terminationGracePeriodSeconds: 45\n".to_owned();
        let policy = Policy::Owned;
        let tree = Tree::from([(path.to_owned(), Pristine { policy, text })]);
        let hold = |code: &str, span| {
            let mut new = tree.clone();
            let sources = Sources::from([("src/a.rs".to_owned(), code.to_owned())]);
            let notes = super::hold(&mut new, &sources, span, &CHANGES);
            (notes, new[path].text.clone())
        };
        let off = "terminationGracePeriodSeconds: 30\n";
        for code in [
            "use k8s_openapi::api::apps::v1::Deployment;",
            "use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};",
            "use k8s_openapi::api as kubernetes;\nfn a(_: kubernetes::apps::v1::Deployment) {}",
            "fn a(_: k8s_openapi::api::apps::v1::Deployment) {}",
        ] {
            let (notes, text) = hold(code, SPAN);
            assert_eq!(
                (notes[0].place.as_str(), text.as_str()),
                (path, off),
                "{code}"
            );
            assert_eq!(hold(code, EARLIER), (Vec::new(), tree[path].text.clone()));
        }
        for code in [
            "use k8s_openapi::api::core::v1::Pod;",
            "// k8s_openapi::api::apps\n",
        ] {
            assert_eq!(
                hold(code, SPAN),
                (Vec::new(), tree[path].text.clone()),
                "{code}"
            );
        }
    }
}
