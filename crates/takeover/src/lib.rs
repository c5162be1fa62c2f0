//! `kbr import --check`: what prevents a project from taking over from a running operator.

mod definitions;
mod deployment;
mod leading;
mod objects;
mod permissions;
mod webhooks;

use std::collections::BTreeSet;
use std::fmt;

use kbr_host::lines::one_line;
use kbr_manifests::overlay::Identity;
use serde_json::Value;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Nothing to do.
    Good,
    /// Nothing to repair, but to know.
    Note,
    /// It would go wrong.
    Wrong,
}

/// The result of one look at the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub text: String,
    /// What to do.
    pub help: Option<String>,
}

impl Line {
    fn good(text: String) -> Self {
        let (level, help) = (Level::Good, None);
        Self { level, text, help }
    }

    fn note(text: String, help: &str) -> Self {
        let (level, help) = (Level::Note, Some(help.to_owned()));
        Self { level, text, help }
    }

    fn wrong(text: String, help: &str) -> Self {
        let (level, help) = (Level::Wrong, Some(help.to_owned()));
        Self { level, text, help }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Good => "ok",
            Level::Note => "note",
            Level::Wrong => "wrong",
        };
        writeln!(f, "{level:>5}  {}", one_line(&self.text))?;
        match &self.help {
            Some(help) => writeln!(f, "       {}", one_line(help)),
            None => Ok(()),
        }
    }
}

/// The project that takes over.
#[derive(Clone, Debug)]
pub struct Successor<'a> {
    /// The name of the role that its `+kbr:rbac` comments become.
    pub role: &'a str,
    /// The prefix of its field managers, and its Lease unless the role names another.
    pub id: &'a str,
    /// The namespace that it runs in.
    pub namespace: &'a str,
    /// The objects of `config/default`.
    pub rendered: &'a [Value],
    /// `captains.crew.example.com=crew.example.com/captain` for each finalizer in the code.
    pub finalizers: &'a BTreeSet<String>,
    /// The field managers that its code takes over.
    pub predecessors: &'a [String],
}

impl<'a> Successor<'a> {
    /// The rendered objects of a kind.
    fn of_kind(&self, kind: &'a str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.rendered.iter().filter(move |it| it["kind"] == kind)
    }

    /// The CRDs as `captains.crew.example.com`.
    fn resources(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.of_kind("CustomResourceDefinition").map(name)
    }
}

/// Objects of the cluster: the arguments of `kubectl get`, without the format.
pub type Get<'a> = &'a dyn Fn(&[&str]) -> anyhow::Result<Vec<Value>>;

/// Compares the project with a cluster. Writes nothing.
///
/// # Errors
/// Something in the cluster cannot be read.
pub fn check(project: &Successor<'_>, get: Get<'_>) -> anyhow::Result<Vec<Line>> {
    let mut lines = vec![leading::lease(project, get)?];
    let running = deployment::check(project, get, &mut lines)?;
    if let Some(running) = running.and_then(|it| Identity::of(&[it]).ok()) {
        lines.extend(permissions::check(project, &running, get)?);
    }
    let installed = definitions::check(project, get, &mut lines)?;
    objects::finalizers(project, &installed, get, &mut lines)?;
    objects::owners(project, get, &mut lines)?;
    webhooks::check(project, get, &mut lines)?;
    Ok(lines)
}

/// A text in the metadata of an object; empty if it is missing.
fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    meta(object, "name")
}

/// The elements of a list; none of anything else.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;
