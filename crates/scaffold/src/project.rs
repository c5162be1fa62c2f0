//! The PROJECT file: records what kbr has scaffolded. Does no I/O.
//!
//! kbr edits PROJECT as text, whole tables at a time, and never writes back the parsed data.

mod check;
mod deployed;
pub mod name;
mod table;
mod upgraded;
pub mod values;
mod without;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use crate::library::Origin;
use crate::resource::Resource;
use crate::resource::controller::Controller;
use crate::resource::target::Target;
use crate::resource::webhook::Webhook;
use crate::scaffold::LAYOUT;
use crate::tables;
use crate::vars::Vars;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::lines::Lines;
use kbr_host::notation::Version;

pub use deployed::{Given, Names, is_built_in, is_name};
pub use table::Table;
pub use upgraded::{upgraded, with_library, with_release};
pub use without::without;

/// The file's name, in the project's root; a commit writes it last.
pub const PROJECT: &str = "PROJECT";

/// The version of this kbr.
pub const KBR: &str = env!("CARGO_PKG_VERSION");

/// A project as described by PROJECT. Unknown keys are ignored, and stay in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The keys recorded by `kbr init`.
    pub head: Head,
    /// `[manifests]`, which only the user writes.
    pub manifests: Manifests,
    /// The tables recorded by later commands, in the order of the file.
    pub tables: Vec<Table>,
}

/// The keys about the project itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The layout of the folder: `v1`.
    pub layout: String,
    /// The release of kbr that the project's files come from: `0.3.0`.
    pub kbr: String,
    /// `captains`.
    pub name: String,
    /// `example.com`.
    pub domain: String,
    /// The value of `--repo`, or empty.
    #[serde(default)]
    pub repo: String,
    /// Copyright owner, or empty.
    #[serde(default)]
    pub owner: String,
    /// `apache2`, `mit` or `none`.
    #[serde(default)]
    pub license: String,
    /// Where the project has the library. Recorded unless it is in the project.
    #[serde(default, skip_serializing_if = "Origin::is_vendored")]
    pub library: Origin,
    /// `[names]`: names in the cluster that are not derived.
    #[serde(default, skip_serializing_if = "Given::is_empty")]
    pub names: Given,
}

/// `[manifests]`: options that every run of `kbr manifests` reads; flags on the command line override them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Manifests {
    /// Ids of findings that are allowed everywhere: `unknown-function`. `kbr manifests` validates them.
    pub allow: Vec<String>,
    /// The default of `--max-description-length`.
    pub max_description_length: Option<usize>,
}

impl Head {
    /// `captains.example.com`: the manager id, and the name of the Lease unless `[names]` has another one.
    pub fn manager_id(&self) -> String {
        format!("{}.{}", self.name, self.domain)
    }

    /// The names of what the project deploys.
    pub fn names(&self) -> Names {
        self.names.names(self)
    }

    /// The initial text of PROJECT.
    ///
    /// # Errors
    /// A value cannot be written as TOML.
    pub fn text(&self) -> anyhow::Result<String> {
        let keys = toml::to_string(self)?;
        Ok(format!(
            "# The commands that created this project, recorded by kbr. It changes only whole tables, and keeps comments and unknown keys.\n{keys}"
        ))
    }
}

impl Project {
    /// A new project as recorded by `kbr init`.
    pub fn new(head: Head) -> Self {
        Project {
            head,
            manifests: Manifests::default(),
            tables: Vec::new(),
        }
    }

    /// `[[api]]`, in the order of their creation.
    pub fn apis(&self) -> impl DoubleEndedIterator<Item = &Resource> + Clone {
        self.tables.iter().filter_map(|table| match table {
            Table::Api(api) => Some(api),
            _ => None,
        })
    }

    /// `[[controller]]`, in the order of their creation.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> + Clone {
        self.tables.iter().filter_map(|table| match table {
            Table::Controller(controller) => Some(controller),
            _ => None,
        })
    }

    /// `[[webhook]]`, in the order of their creation; each holds the webhooks that one command added.
    pub fn webhooks(&self) -> impl Iterator<Item = &Webhook> + Clone {
        self.tables.iter().filter_map(|table| match table {
            Table::Webhook(webhook) => Some(webhook),
            _ => None,
        })
    }

    /// `captains.example.com`: manager id and name of the Lease.
    pub fn manager_id(&self) -> String {
        self.head.manager_id()
    }

    /// Whether `api` is the storage version of its kind: the first one that was created.
    pub fn is_storage(&self, api: &Resource) -> bool {
        let first = self.apis().find(|known| known.is_version_of(api));
        first.is_none_or(|first| first.matches(api))
    }

    /// The kinds for which there is code, once for each controller and webhook table.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let controllers = self.controllers().map(|known| &known.target);
        controllers.chain(self.webhooks().map(|known| &known.target))
    }

    /// The webhook table of the kind's hub version, if its versions are converted.
    pub fn hub(&self, full_group: &str, kind: &str) -> Option<&Webhook> {
        let mut hubs = self.webhooks().filter(|it| !it.spokes.is_empty());
        hubs.find(|it| it.target.full_group == full_group && it.target.kind == kind)
    }

    /// The versions of a kind, if it is one of the project's own.
    pub fn versions<'a>(&'a self, kind: &'a Target) -> impl Iterator<Item = &'a Resource> {
        let is_version =
            |api: &&Resource| api.full_group == kind.full_group && api.kind == kind.kind;
        self.apis()
            .filter(move |api| kind.is_own() && is_version(api))
    }

    /// The template variables for the project itself.
    pub fn vars(&self) -> Vars {
        let head = &self.head;
        let names = head.names();
        Vars {
            kbr_version: head.kbr.clone(),
            project: head.name.clone(),
            repository: repository(&head.repo).unwrap_or_default(),
            owner: head.owner.clone(),
            license: spdx(&head.license).to_owned(),
            prefix: names.prefix,
            namespace: names.namespace,
            deployment: names.deployment,
            service_account: names.service_account,
            container: names.container,
            lease: names.lease,
            manager_id: head.manager_id(),
            vendored: head.library.is_vendored(),
            ..Vars::default()
        }
    }
}

/// The tables as deserialized by serde, each with its position in the file.
#[derive(Deserialize)]
struct Tables {
    #[serde(default)]
    manifests: Manifests,
    #[serde(default, rename = "api")]
    apis: Vec<Spanned<Resource>>,
    #[serde(default, rename = "controller")]
    controllers: Vec<Spanned<Controller>>,
    #[serde(default, rename = "webhook")]
    webhooks: Vec<Spanned<Webhook>>,
}

/// Reads the text of PROJECT.
///
/// # Errors
/// It belongs to kubebuilder, is invalid, or was written by a newer kbr.
pub fn parse(text: &str) -> anyhow::Result<Project> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Parsed once: a project of 500 kinds has 5,000 keys.
    let parsed = match DeTable::parse(text) {
        Ok(parsed) => parsed,
        Err(_) if is_kubebuilders(text) => {
            let text = format!("`{PROJECT}` belongs to kubebuilder, not to kbr");
            let help = "run `kbr init` in another folder";
            return Err(Diagnostic::new(text).help(help).into());
        }
        Err(error) => return Err(broken(&tables::shown(&error)).into()),
    };
    // Checked before the rest is parsed, which a newer kbr may have changed.
    let key = |key: &str| parsed.get_ref().get(key)?.get_ref().as_str();
    let newer = |what: String| {
        Diagnostic::new(format_args!("`{PROJECT}` is from a newer kbr: {what}"))
            .help("install that kbr, or a newer one")
    };
    match key("layout") {
        Some(layout) if layout != LAYOUT => {
            return Err(newer(format!(
                "it has the layout `{layout}`, but kbr {KBR} supports only `{LAYOUT}`"
            ))
            .into());
        }
        _ => {}
    }
    match key("kbr") {
        Some(kbr) if Version::of_release(kbr) > Version::of_release(KBR) => {
            return Err(newer(format!("it says kbr {kbr}, but this is kbr {KBR}")).into());
        }
        _ => {}
    }
    let head = deserialized(parsed.clone(), text)?;
    let tables: Tables = deserialized(parsed, text)?;
    let project = Project {
        head,
        manifests: tables.manifests.clone(),
        tables: tables.in_order(),
    };
    match &check::problems(&project)[..] {
        [] => Ok(project),
        problems => Err(broken(&problems.iter().collect::<Lines>()).into()),
    }
}

fn deserialized<T: DeserializeOwned>(
    parsed: Spanned<DeTable>,
    text: &str,
) -> Result<T, Diagnostic> {
    T::deserialize(Deserializer::from(parsed))
        // Only an error about the text shows the line.
        .or_else(|_| toml::from_str(text))
        .map_err(|error| broken(&tables::shown(&error)))
}

impl Tables {
    /// All tables, in the order of the file.
    fn in_order(self) -> Vec<Table> {
        let mut all: Vec<(usize, Table)> = Vec::new();
        all.extend(
            self.apis
                .into_iter()
                .map(|it| (it.span().start, Table::Api(it.into_inner()))),
        );
        all.extend(
            self.controllers
                .into_iter()
                .map(|it| (it.span().start, Table::Controller(it.into_inner()))),
        );
        all.extend(
            self.webhooks
                .into_iter()
                .map(|it| (it.span().start, Table::Webhook(it.into_inner()))),
        );
        all.sort_by_key(|(start, _)| *start);
        all.into_iter().map(|(_, table)| table).collect()
    }
}

/// Whether a PROJECT is that of kubebuilder.
pub fn is_kubebuilders(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("layout:") || line.starts_with("projectName:"))
}

/// The error for an invalid PROJECT.
pub fn broken(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(format_args!("`{PROJECT}` is broken"))
        .details(error)
        .help(format_args!(
            "repair that line, or restore the file that kbr wrote: `git checkout -- {PROJECT}`"
        ))
}

/// The repository URL for `Cargo.toml` from the value of `--repo`: `github.com/x/y` and `git@github.com:x/y.git` become `https://`
/// URLs; a single word, valid as a Go module path, is not a URL and gives `None`.
pub fn repository(repo: &str) -> Option<String> {
    if let Some((host, path)) = repo
        .strip_prefix("git@")
        .and_then(|rest| rest.split_once(':'))
    {
        return Some(format!("https://{host}/{}", path.trim_end_matches(".git")));
    }
    if repo.contains("://") {
        return Some(repo.to_owned());
    }
    let (host, _) = repo.split_once('/')?;
    host.contains('.').then(|| format!("https://{repo}"))
}

/// The SPDX name of a license, or empty.
pub fn spdx(license: &str) -> &'static str {
    match license {
        "apache2" => "Apache-2.0",
        "mit" => "MIT",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
