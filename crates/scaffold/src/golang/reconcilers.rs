//! The reconcilers of a project in Go, and which of them is that of a controller.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::resource::controller::Controller;

/// The type that implements a reconciler, with its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconciler {
    /// `CaptainReconciler`.
    pub receiver: String,
    /// `internal/controller/captain_controller.go`.
    pub path: Rc<str>,
    /// The text of the file, which all reconcilers in it share.
    pub text: Rc<str>,
}

/// All reconcilers of a project.
#[derive(Debug, Default)]
pub struct Reconcilers {
    /// In the order of their files.
    pub all: Vec<Reconciler>,
    /// By the names of their types.
    named: Index,
    /// By the kinds that their files pass to `For`: `For(&crewv1.Captain{})`.
    of_kind: Index,
}

/// The first reconciler for each word, anywhere and below each folder.
#[derive(Debug, Default)]
struct Index {
    anywhere: BTreeMap<Rc<str>, usize>,
    below: BTreeMap<(String, Rc<str>), usize>,
}

impl Reconcilers {
    /// Adds those of a file: `func (r *CaptainReconciler) Reconcile(`.
    pub fn add(&mut self, path: &str, text: &str) {
        let mut receivers = text.lines().filter_map(receiver).peekable();
        if receivers.peek().is_none() {
            return;
        }
        for kind in kinds(text) {
            self.of_kind.add(kind, path, self.all.len());
        }
        let (shared_path, shared_text): (Rc<str>, Rc<str>) = (path.into(), text.into());
        for receiver in receivers {
            self.named.add(&word(receiver), path, self.all.len());
            self.all.push(Reconciler {
                receiver: receiver.to_owned(),
                path: shared_path.clone(),
                text: shared_text.clone(),
            });
        }
    }

    /// The reconciler of a controller: by the controller's name, by its kind, or by the kind that its file passes to `For`.
    /// Two groups may have a kind of the same name, in folders of their own.
    pub fn of(&self, controller: &Controller, group: &str) -> Option<&Reconciler> {
        let kind = &controller.target.kind;
        let words = [&controller.name, kind].map(|name| word(name) + "reconciler");
        let found = self.named.first(&words, group);
        let found = found.or_else(|| self.of_kind.first(std::slice::from_ref(kind), group));
        self.all.get(found?)
    }
}

impl Index {
    fn add(&mut self, word: &str, path: &str, at: usize) {
        let word: Rc<str> = word.into();
        for folder in path.split('/') {
            let below = (folder.to_owned(), word.clone());
            self.below.entry(below).or_insert(at);
        }
        self.anywhere.entry(word).or_insert(at);
    }

    fn first(&self, words: &[String], folder: &str) -> Option<usize> {
        let below = |word: &String| self.below.get(&(folder.to_owned(), word.as_str().into()));
        let mut below = words.iter().filter_map(below);
        let mut anywhere = words
            .iter()
            .filter_map(|word| self.anywhere.get(word.as_str()));
        below.next().or_else(|| anywhere.next()).copied()
    }
}

/// A name without what kubebuilder's conventions vary.
fn word(name: &str) -> String {
    name.replace(['-', '_'], "").to_lowercase()
}

/// The type that a line gives a method `Reconcile`.
fn receiver(line: &str) -> Option<&str> {
    let (receiver, rest) = line.strip_prefix("func (")?.split_once(") ")?;
    let (_, kind) = receiver.rsplit_once(' ').unwrap_or(("", receiver));
    rest.starts_with("Reconcile(")
        .then(|| kind.trim_start_matches('*'))
}

fn kinds(text: &str) -> impl Iterator<Item = &str> {
    text.split("For(&").skip(1).filter_map(|call| {
        let (ty, _) = call.split_once('{')?;
        ty.rsplit('.').next()
    })
}
