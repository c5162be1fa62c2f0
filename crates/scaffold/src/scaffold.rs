//! Embedded folder + variables -> the parts of a project. Does no I/O.
//!
//! A set mirrors the project. The suffix of a file determines its policy:
//!
//! | `x.tera` | rendered; the command owns the file |
//! |---|---|
//! | `x.once.tera` | rendered by the first command that needs it; then it belongs to the user |
//! | `x.generated.tera` | rendered; `kbr manifests` generates it from then on |
//! | `x.insert.tera` | lines for an existing file, in sections that each begin with their marker |
//! | `x` | copied as it is; the command owns the file |
//!
//! `{{variable}}` works in folder and file names too. A template that renders to only white space gives no file, and a section
//! without lines gives no insertion. A section whose marker line ends with ` once` makes a choice for the user, which a repeated
//! command does not make again.

mod marker_location;
mod part;
mod set;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde::Serialize;

pub use marker_location::{MarkerLocation, Neighbour};
pub use part::{Part, Policy};
use set::Set;

/// The layout of the projects that this kbr writes: the folder in `scaffolds/`.
pub const LAYOUT: &str = "v1";

/// The sets of one release, by path: `init/Makefile.tera`.
#[derive(PartialEq, Eq)]
pub struct Scaffolds {
    files: BTreeMap<String, Cow<'static, str>>,
}

/// The same sets, each parsed when it is first rendered.
pub struct Sets<'a> {
    sets: BTreeMap<&'a str, Unparsed<'a>>,
}

#[derive(Default)]
struct Unparsed<'a> {
    files: Vec<(&'a str, &'a str)>,
    set: OnceCell<Set<'a>>,
}

impl Scaffolds {
    /// The scaffolds of a release, by their paths below the folder of its layout: `init/Makefile.tera`.
    pub fn new(files: impl IntoIterator<Item = (String, Cow<'static, str>)>) -> Self {
        Scaffolds {
            files: files.into_iter().collect(),
        }
    }

    /// The files, by those paths.
    #[cfg(any(test, feature = "faults"))]
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (&**path, &**text))
    }

    /// The sets, for rendering.
    pub fn sets(&self) -> Sets<'_> {
        let mut sets: BTreeMap<&str, Unparsed> = BTreeMap::new();
        for (path, text) in &self.files {
            if let Some((set, path)) = path.split_once('/') {
                sets.entry(set).or_default().files.push((path, text));
            }
        }
        Sets { sets }
    }
}

impl Sets<'_> {
    /// Renders the files at `paths` of the set `scaffolds/v1/<name>/` with the fields of `vars`, in order of path.
    ///
    /// # Errors
    /// Names the template and tera's error: a variable that is not in `vars`, a section without its marker.
    pub fn render(
        &self,
        name: &str,
        vars: &impl Serialize,
        paths: Paths,
    ) -> anyhow::Result<Vec<Part>> {
        let unparsed = self
            .sets
            .get(name)
            .with_context(|| format!("no scaffold `{LAYOUT}/{name}` found"))?;
        if let Some(set) = unparsed.set.get() {
            return set.render(vars, paths);
        }
        let set = Set::parse(name, unparsed.files.clone())?;
        unparsed.set.get_or_init(|| set).render(vars, paths)
    }
}

/// Selects the files to render: a command touches few files of a project with hundreds of kinds.
#[derive(Clone, Copy)]
pub enum Paths<'a> {
    /// Every file.
    All,
    /// Those at these paths.
    These(&'a BTreeSet<String>),
}

impl Paths<'_> {
    /// Whether the file at `path` is selected.
    pub fn have(self, path: &str) -> bool {
        match self {
            Paths::All => true,
            Paths::These(paths) => paths.contains(path),
        }
    }
}

/// How a scaffold's file is added to the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Copied,
    Owned,
    Once,
    Generated,
    Insert,
}

fn form(path: &str) -> (Form, &str) {
    let forms = [
        (".insert.tera", Form::Insert),
        (".once.tera", Form::Once),
        (".generated.tera", Form::Generated),
        (".tera", Form::Owned),
    ];
    let known = forms
        .into_iter()
        .find_map(|(suffix, form)| Some((form, path.strip_suffix(suffix)?)));
    known.unwrap_or((Form::Copied, path))
}

#[cfg(test)]
mod tests;
