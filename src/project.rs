//! The PROJECT file: what kbr has scaffolded so far. It only grows, as text; what is read here is never written back.

mod check;
pub mod name;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use serde::{Deserialize, Serialize};

use crate::changes::PROJECT;
use crate::commit::sha256;
use crate::plan::Op;
use crate::resource::Resource;
use crate::resource::controller::Controller;
use crate::resource::target::Target;
use crate::resource::webhook::Webhook;
use crate::scaffold::LAYOUT;
use crate::vars::Vars;

/// This kbr.
pub const KBR: &str = env!("CARGO_PKG_VERSION");

/// A project, as PROJECT describes it. Keys that are not known here stay in the file and are not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The layout of the folder: `v1`.
    pub layout: String,
    /// The kbr that made the project: `0.1.0`.
    pub kbr: String,
    /// `captains`.
    pub name: String,
    /// `example.com`.
    pub domain: String,
    /// What `--repo` said, or empty.
    #[serde(default)]
    pub repo: String,
    /// Who owns the copyright, or empty.
    #[serde(default)]
    pub owner: String,
    /// `apache2`, `mit` or `none`.
    #[serde(default)]
    pub license: String,
    /// The folder `manager/` as kbr wrote it.
    #[serde(default)]
    pub manager: Manager,
    /// `[[api]]`, in the order of their creation.
    #[serde(default, rename = "api", skip_serializing_if = "Vec::is_empty")]
    pub apis: Vec<Resource>,
    /// `[[controller]]`, in the order of their creation.
    #[serde(default, rename = "controller", skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<Controller>,
    /// `[[webhook]]`, in the order of their creation: what one command added each.
    #[serde(default, rename = "webhook", skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<Webhook>,
}

/// Which `manager/` a project has: nobody edits it, so that a later kbr can replace it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    /// The kbr that it came with.
    #[serde(default)]
    pub version: String,
    /// See [`manager_hash`].
    #[serde(default)]
    pub sha256: String,
}

impl Project {
    /// Reads the project at `root`.
    ///
    /// # Errors
    /// There is none, it cannot be read, is not one of kbr's, or was made by a newer kbr.
    pub fn load(root: &Path) -> anyhow::Result<Self> {
        match read(root)? {
            Some(text) if text.trim().is_empty() => Err(empty()),
            Some(text) => parse(&text),
            None => Err(missing()),
        }
    }

    /// Like [`Project::load`], for a command that makes projects: `None` when there is no PROJECT, or an empty one.
    pub fn load_if_any(root: &Path) -> anyhow::Result<Option<Self>> {
        match read(root)? {
            Some(text) if !text.trim().is_empty() => parse(&text).map(Some),
            _ => Ok(None),
        }
    }

    /// `captains.example.com`: manager id and name of the Lease.
    pub fn manager_id(&self) -> String {
        format!("{}.{}", self.name, self.domain)
    }

    /// `captains-system`.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// Whether `api` is the stored version of its kind: the first one that was created.
    pub fn is_storage(&self, api: &Resource) -> bool {
        let first = self.apis.iter().find(|known| known.is_version_of(api));
        first.is_none_or(|first| first.is(api))
    }

    /// The kinds that there is code for, as often as there is.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let controllers = self.controllers.iter().map(|known| &known.target);
        controllers.chain(self.webhooks.iter().map(|known| &known.target))
    }

    /// The webhook of the version to and from which the others of a kind are converted, if they are.
    pub fn hub(&self, full_group: &str, kind: &str) -> Option<&Webhook> {
        let mut hubs = self.webhooks.iter().filter(|it| !it.spokes.is_empty());
        hubs.find(|it| it.target.full_group == full_group && it.target.kind == kind)
    }

    /// The versions of a kind, if it is the project's own.
    pub fn versions<'a>(&'a self, kind: &'a Target) -> impl Iterator<Item = &'a Resource> {
        let is_it = |api: &&Resource| api.full_group == kind.full_group && api.kind == kind.kind;
        self.apis
            .iter()
            .filter(move |api| kind.is_own() && is_it(api))
    }

    /// What templates may use of the project itself.
    pub fn vars(&self) -> Vars {
        Vars {
            kbr_version: KBR.to_owned(),
            project: self.name.clone(),
            domain: self.domain.clone(),
            repository: repository(&self.repo).unwrap_or_default(),
            owner: self.owner.clone(),
            license: spdx(&self.license).to_owned(),
            namespace: self.namespace(),
            manager_id: self.manager_id(),
            ..Vars::default()
        }
    }

    /// The head of PROJECT, for `init`.
    pub fn record(&self) -> anyhow::Result<Op> {
        #[derive(Serialize)]
        struct Head<'a> {
            layout: &'a str,
            kbr: &'a str,
            name: &'a str,
            domain: &'a str,
            repo: &'a str,
            owner: &'a str,
            license: &'a str,
        }
        let head = toml::to_string(&Head {
            layout: &self.layout,
            kbr: &self.kbr,
            name: &self.name,
            domain: &self.domain,
            repo: &self.repo,
            owner: &self.owner,
            license: &self.license,
        })?;
        let Manager { version, sha256 } = &self.manager;
        let text = format!(
            "# What kbr has scaffolded, for kbr to read: commands add to it and change nothing in it.\n\
             {head}manager = {{ version = {version:?}, sha256 = {sha256:?} }}\n"
        );
        Ok(Op::Record { text })
    }
}

/// The table of an API to append to PROJECT.
pub fn record_api(api: &Resource) -> anyhow::Result<Op> {
    record("api", api, &api.path())
}

/// The table of a controller to append to PROJECT.
pub fn record_controller(controller: &Controller) -> anyhow::Result<Op> {
    record("controller", controller, &controller.path())
}

/// The table of webhooks to append to PROJECT.
pub fn record_webhook(webhook: &Webhook) -> anyhow::Result<Op> {
    record("webhook", webhook, &webhook.path())
}

fn record(table: &str, fields: &impl Serialize, path: &str) -> anyhow::Result<Op> {
    let fields = toml::to_string(fields)?;
    Ok(Op::Record {
        text: format!("[[{table}]]\n{fields}path = {path:?}\n"),
    })
}

/// The project's root: `start`, or the nearest folder above it that holds a PROJECT or the commit of one.
///
/// # Errors
/// There is none.
pub fn find_root(start: &Path) -> anyhow::Result<PathBuf> {
    // A commit that was interrupted may not have come to PROJECT yet.
    let signs = [PROJECT, ".kbr/commit", ".kbr/undo"];
    let is_root = |folder: &&Path| {
        let mut signs = signs.iter();
        signs.any(|sign| fs::symlink_metadata(folder.join(sign)).is_ok())
    };
    let root = start.ancestors().find(is_root);
    root.map(Path::to_path_buf).ok_or_else(missing)
}

/// The text of PROJECT, if there is one.
fn read(root: &Path) -> anyhow::Result<Option<String>> {
    let path = root.join(PROJECT);
    let kind = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        result => result
            .with_context(|| format!("cannot read `{}`, nothing was written", path.display()))?
            .file_type(),
    };
    if !kind.is_file() {
        let what = match () {
            () if kind.is_dir() => "a folder",
            () if kind.is_symlink() => "a link",
            () => "not a file",
        };
        bail!(
            "`{}` is {what}; nothing was written\nhelp: put the file that kbr wrote back in its place: `git checkout -- {PROJECT}`",
            path.display()
        );
    }
    let bytes = fs::read(&path)
        .with_context(|| format!("cannot read `{}`, nothing was written", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|_| broken(&"it is not UTF-8 text"))?;
    Ok(Some(text))
}

fn parse(text: &str) -> anyhow::Result<Project> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: toml::Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(_) if is_kubebuilders(text) => bail!(
            "`{PROJECT}` is kubebuilder's, not kbr's; nothing was written\nhelp: run `kbr init` in a folder of its own"
        ),
        Err(error) => return Err(broken(&error)),
    };
    // Before anything else of it is understood: a newer kbr may have written it.
    let key = |key: &str| table.get(key).and_then(toml::Value::as_str);
    let newer = |what: String| {
        anyhow!(
            "`{PROJECT}` is from a newer kbr: {what}; nothing was written\nhelp: install that kbr, or a newer one"
        )
    };
    match key("layout") {
        Some(layout) if layout != LAYOUT => {
            return Err(newer(format!(
                "it has the layout `{layout}`, and kbr {KBR} knows `{LAYOUT}`"
            )));
        }
        _ => {}
    }
    match key("kbr") {
        Some(kbr) if release(kbr) > release(KBR) => {
            return Err(newer(format!("it was written by kbr {kbr}, this is {KBR}")));
        }
        _ => {}
    }
    let project = toml::from_str(text).map_err(|error| broken(&error))?;
    match &check::problems(&project)[..] {
        [] => Ok(project),
        problems => Err(broken(&problems.join("\n"))),
    }
}

/// `[0, 1, 0]` for `0.1.0`.
fn release(version: &str) -> Vec<u64> {
    let (numbers, _) = version.split_once(['-', '+']).unwrap_or((version, ""));
    numbers
        .split('.')
        .map(|number| number.parse().unwrap_or(0))
        .collect()
}

fn is_kubebuilders(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("layout:") || line.starts_with("projectName:"))
}

fn missing() -> anyhow::Error {
    anyhow!(
        "not a kbr project: there is no `{PROJECT}` here or in a folder above; nothing was written\nhelp: run `kbr init`, or change to the project's folder"
    )
}

fn empty() -> anyhow::Error {
    anyhow!(
        "`{PROJECT}` is empty; nothing was written\nhelp: put the file that kbr wrote back in its place: `git checkout -- {PROJECT}`"
    )
}

fn broken(error: &dyn std::fmt::Display) -> anyhow::Error {
    let error = error.to_string();
    let error = error.trim_end().replace('\n', "\n    ");
    anyhow!(
        "`{PROJECT}` is broken; nothing was written\n    {error}\nhelp: repair that line, or put the file that kbr wrote back in its place: `git checkout -- {PROJECT}`"
    )
}

/// The URL that cargo shows as the repository, for what `--repo` said: `github.com/x/y` and `git@github.com:x/y.git` get the
/// `https://` that people mean; a bare word, which a Go module may be, is no URL and gives `None`.
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

/// The name of a licence as cargo writes it, or empty.
pub fn spdx(license: &str) -> &'static str {
    match license {
        "apache2" => "Apache-2.0",
        "mit" => "MIT",
        _ => "",
    }
}

/// SHA-256 over the files of `manager/` among `ops`, in order of path: of each its path below `manager/` and a zero byte, its length
/// in bytes as 8 bytes, least first, and the bytes. In hexadecimal.
pub fn manager_hash(ops: &[Op]) -> String {
    let mut files: Vec<(&str, &str)> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Create { path, text } => Some((path.strip_prefix("manager/")?, text.as_str())),
            _ => None,
        })
        .collect();
    files.sort_unstable();
    let mut bytes = Vec::new();
    for (path, text) in files {
        bytes.extend(path.as_bytes());
        bytes.push(0);
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    sha256(&bytes)
}

#[cfg(test)]
mod tests;
