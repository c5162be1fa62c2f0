//! The reconcilers of a project in Go, and which of them is that of a controller.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::types::{GoType, Imports, watched};
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
    /// The kind that is passed to `For`, if that is known: `For(&crewv1.Captain{})`.
    pub kind: Option<GoType>,
    /// Whether another reconciler, which serves several kinds, calls its methods: it has no `Reconcile` of its own.
    pub is_part: bool,
}

impl Reconciler {
    /// What its name says of the kind, or its folder if it is only `Reconciler`: `captain`.
    pub fn word(&self) -> String {
        let name = self.receiver.strip_prefix("Reconcile");
        let name = name.filter(|it| it.starts_with(|it: char| it.is_ascii_uppercase()));
        let name = word(name.unwrap_or(&self.receiver));
        if name.is_empty() || name == "reconcile" {
            word(folder(&self.path).rsplit('/').next().unwrap_or_default())
        } else {
            name
        }
    }
}

/// All reconcilers of a project.
#[derive(Debug, Default)]
pub struct Reconcilers {
    /// In the order of their files.
    pub all: Vec<Reconciler>,
    /// By what their names say.
    named: Index,
    /// By their kinds.
    of_kind: Index,
}

/// The first reconciler for each word, anywhere and below each folder.
#[derive(Debug, Default)]
struct Index {
    anywhere: BTreeMap<Rc<str>, usize>,
    below: BTreeMap<(String, Rc<str>), usize>,
}

/// Folders of programs and helpers, which the operator does not contain.
const NOT_THE_OPERATORS: [&str; 12] = [
    "docs", "e2e", "examples", "fake", "fakes", "hack", "mock", "mocks", "test", "testing",
    "tests", "tools",
];

impl Reconcilers {
    /// Those of Go files: `func (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {`.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut found = Self::default();
        // A type may be set up in another file of its package.
        let mut kinds: BTreeMap<(&str, &str), GoType> = BTreeMap::new();
        let mut of_files: BTreeMap<&str, GoType> = BTreeMap::new();
        let mut parts = Vec::new();
        let is_operators = |path: &str| !path.split('/').any(|it| NOT_THE_OPERATORS.contains(&it));
        for (path, text) in files.into_iter().filter(|(path, _)| is_operators(path)) {
            let all = watched(text, &Imports::of(text));
            let lines: Vec<_> = text.lines().collect();
            let has_kind = !all.is_empty();
            let receivers = (0..lines.len()).filter_map(|at| receiver(&lines[at..], has_kind));
            let receivers: Vec<_> = receivers.collect();
            if receivers.is_empty() {
                parts.extend(part(path, &lines).map(|receiver| (path, text, receiver)));
            }
            found.add(path, text, &receivers, false);
            for (receiver, kind) in all {
                of_files.entry(path).or_insert_with(|| kind.clone());
                kinds.entry((folder(path), receiver)).or_insert(kind);
            }
        }
        let key = |path: &str, receiver: &str| (folder(path).to_owned(), receiver.to_owned());
        let whole: BTreeSet<_> = found
            .all
            .iter()
            .map(|it| key(&it.path, &it.receiver))
            .collect();
        for (path, text, receiver) in parts {
            if !whole.contains(&key(path, receiver)) {
                found.add(path, text, &[receiver], true);
            }
        }
        for at in 0..found.all.len() {
            let it = &mut found.all[at];
            let own = kinds.get(&(folder(&it.path), it.receiver.as_str()));
            it.kind = own.or_else(|| of_files.get(&*it.path)).cloned();
            found.named.add(&it.word(), &it.path, at);
            if let Some(kind) = &it.kind {
                found.of_kind.add(&kind.name, &it.path, at);
            }
        }
        found
    }

    fn add(&mut self, path: &str, text: &str, receivers: &[&str], is_part: bool) {
        if receivers.is_empty() {
            return;
        }
        let (path, text): (Rc<str>, Rc<str>) = (path.into(), text.into());
        self.all.extend(receivers.iter().map(|receiver| Reconciler {
            receiver: (*receiver).to_owned(),
            path: path.clone(),
            text: text.clone(),
            kind: None,
            is_part,
        }));
    }

    /// The reconciler of a controller: by the controller's name, by the kind that is passed to `For`, or by the name of the kind.
    /// Two groups may have a kind of the same name, in folders of their own.
    pub fn of(&self, controller: &Controller, group: &str) -> Option<&Reconciler> {
        let kind = &controller.target.kind;
        let found = self.named.first(&word(&controller.name), group);
        let found = found.or_else(|| self.of_kind.first(kind, group));
        let found = found.or_else(|| self.named.first(&word(kind), group));
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

    fn first(&self, word: &str, folder: &str) -> Option<usize> {
        let below = self.below.get(&(folder.to_owned(), word.into()));
        below.or_else(|| self.anywhere.get(word)).copied()
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Other files of the packages that have reconcilers, which these may use.
pub fn helpers(reconcilers: &Reconcilers, files: &[(&String, &String)]) -> Vec<String> {
    let own: BTreeSet<&str> = reconcilers.all.iter().map(|it| &*it.path).collect();
    let packages: BTreeSet<&str> = own.iter().map(|it| folder(it)).collect();
    let paths = files.iter().map(|(path, _)| path.as_str());
    paths
        .filter(|it| packages.contains(folder(it)) && !own.contains(it))
        .filter(|it| !it.contains("zz_generated") && !it.ends_with("/doc.go"))
        .map(str::to_owned)
        .collect()
}

/// A name without what kubebuilder's conventions vary.
pub fn word(name: &str) -> String {
    let word = name.replace(['-', '_'], "").to_lowercase();
    let ends = ["reconciler", "controller"].iter();
    let mut short = ends.filter_map(|end| word.strip_suffix(end));
    short.next().map(str::to_owned).unwrap_or(word)
}

/// The type of a file such as `queue_controller.go` that is named like a reconciler, and has methods but no `Reconcile`.
fn part<'a>(path: &str, lines: &[&'a str]) -> Option<&'a str> {
    let mut methods = lines.iter().filter_map(|line| line.strip_prefix("func ("));
    let receiver = methods.find_map(|it| {
        let name = super::types::name(it.split_once(") ")?.0);
        name.ends_with("Reconciler").then_some(name)
    });
    receiver.filter(|_| path.ends_with("_controller.go"))
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
    (is_called && signature.contains("Result,")).then(|| super::types::name(receiver))
}
