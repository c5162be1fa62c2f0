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
    /// Adds those of a file: `func (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {`.
    pub fn add(&mut self, path: &str, text: &str) {
        let lines: Vec<_> = text.lines().collect();
        let has_kind = kinds(text).next().is_some();
        let receivers = (0..lines.len()).filter_map(|at| receiver(&lines[at..], has_kind));
        let mut receivers = receivers.peekable();
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

/// The type that the first line gives a method `Reconcile` as controller-runtime calls it. Parts of a reconciler often have a method of
/// that name, too, with results of their own, or for an object; a reconciler has one for an object only in a file that names its kind.
fn receiver<'a>(lines: &[&'a str], has_kind: bool) -> Option<&'a str> {
    /// gofmt keeps the lines of a signature as they are written.
    const LONGEST: usize = 8;
    let (receiver, rest) = lines.first()?.strip_prefix("func (")?.split_once(") ")?;
    rest.strip_prefix("Reconcile(")?;
    let mut ends = lines.iter().take(LONGEST);
    let end = ends.position(|line| line.trim_end().ends_with(['{', '}']))?;
    let signature = lines[..=end].concat();
    let is_called = has_kind || signature.contains(".Request");
    let name = receiver.split('[').next().unwrap_or_default();
    let (_, kind) = name.rsplit_once(' ').unwrap_or(("", name));
    (is_called && signature.contains("Result,")).then(|| kind.trim_start_matches('*'))
}

fn kinds(text: &str) -> impl Iterator<Item = &str> {
    text.split("For(&").skip(1).filter_map(|call| {
        let (ty, _) = call.split_once('{')?;
        ty.rsplit('.').next()
    })
}
