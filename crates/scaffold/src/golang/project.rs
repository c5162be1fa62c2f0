//! The PROJECT file of kubebuilder, version 3: <https://kubebuilder.io/reference/project-config>.

use serde::Deserialize;

use super::yaml;
use crate::imported::Definition;
use crate::resource::names;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::yaml::Budget;

/// A PROJECT file. Keys that kbr does not need are ignored.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GoProject {
    /// Only `3` is known.
    pub version: String,
    /// The plugins that wrote the project: `go.kubebuilder.io/v4`.
    #[serde(deserialize_with = "yaml::one_or_more")]
    pub layout: Vec<String>,
    /// `example.com`.
    pub domain: String,
    /// The Go module.
    pub repo: String,
    /// `captains`.
    pub project_name: String,
    /// Whether the operator works in its own namespace only, with a Role instead of a `ClusterRole`.
    pub namespaced: bool,
    /// One for each version of a kind.
    pub resources: Vec<GoResource>,
}

/// A version of a kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GoResource {
    /// The short group: `crew`; empty for Kubernetes' core group in old projects.
    pub group: String,
    /// The domain of the group; empty for most built-in kinds.
    pub domain: String,
    /// `v1`.
    pub version: String,
    /// `Captain`.
    pub kind: String,
    /// The types, if they are the project's own.
    pub api: Option<serde_json::Value>,
    /// Whether a controller was created; newer projects have `controllers`.
    pub controller: bool,
    /// The controllers of the kind.
    pub controllers: Vec<GoController>,
    /// Whether another project defines the kind.
    pub external: bool,
    /// Its webhooks.
    pub webhooks: Option<GoWebhooks>,
}

/// A controller.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GoController {
    /// `captain`.
    pub name: String,
}

/// The webhooks of a version.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GoWebhooks {
    /// Whether it sets defaults.
    pub defaulting: bool,
    /// Whether it validates.
    pub validation: bool,
    /// Whether this version is the hub of conversions.
    pub conversion: bool,
    /// The versions that are converted; older projects do not say them.
    pub spoke: Vec<String>,
}

impl GoResource {
    /// Whether its names, which become those of commands to type, are names. Old projects leave some out.
    fn has_names(&self) -> bool {
        let is_word = |text: &str| text.bytes().all(|it| it.is_ascii_alphanumeric());
        let is_group = |text: &str| text.is_empty() || names::is_subdomain(text);
        is_group(&self.group)
            && is_group(&self.domain)
            && is_word(&self.version)
            && is_word(&self.kind)
    }

    /// Whether the project itself defines the kind.
    pub fn is_own(&self) -> bool {
        self.api.is_some() && !self.external
    }

    /// Whether `definition` defines the kind.
    pub fn is_of(&self, definition: &Definition) -> bool {
        definition.kind == self.kind && definition.group == self.full_group()
    }

    /// `crew.example.com`; `apps`; empty for Kubernetes' core group.
    pub fn full_group(&self) -> String {
        let group = match self.group.as_str() {
            "core" => "",
            group => group,
        };
        match (group, self.domain.as_str()) {
            ("", domain) => domain.to_owned(),
            (group, "") => group.to_owned(),
            (group, domain) => format!("{group}.{domain}"),
        }
    }

    /// How many tables its controllers and webhooks become, at least one for the resource itself.
    fn tables(&self) -> usize {
        self.controllers.len().max(1) + usize::from(self.webhooks.is_some())
    }

    /// The names of its controllers; empty for the default one.
    pub fn controller_names(&self) -> Vec<String> {
        let names: Vec<_> = self.controllers.iter().map(|it| it.name.clone()).collect();
        if names.is_empty() && self.controller {
            vec![String::new()]
        } else {
            names
        }
    }
}

/// The most kinds, and the most controllers and webhooks, of a project: each becomes a table of PROJECT, and is compared with all others.
pub const MOST: usize = 1000;

/// The error for a project with more than [`MOST`] of something.
pub fn too_many(what: &str, found: usize) -> anyhow::Error {
    let text = format!("it has {found} {what}, but an import takes at most {MOST}");
    let help = "remove some from a copy of the project, import that, and create the others in the new project with `kbr create`";
    Diagnostic::new(text).help(help).into()
}

/// Reads the text of PROJECT.
///
/// # Errors
/// It is broken, of another version, or of a project that is not in Go.
pub fn parse(text: &str, budget: &mut Budget) -> anyhow::Result<GoProject> {
    let project: GoProject = budget.document(text).map_err(|error| {
        let error = error.to_string();
        Diagnostic::new("`PROJECT` is not one of kubebuilder")
            .details(error.lines().next().unwrap_or_default())
    })?;
    if project.version != "3" {
        let text = format!(
            "`PROJECT` has the version `{}`: only `3` can be imported",
            project.version
        );
        let help = "upgrade the project with kubebuilder first: https://kubebuilder.io/migrations";
        return Err(Diagnostic::new(text).help(help).into());
    }
    let tables = project.resources.iter().map(GoResource::tables).sum();
    if tables > MOST {
        return Err(too_many("controllers and webhooks", tables));
    }
    if project.layout.is_empty() {
        return Err(Diagnostic::new("`PROJECT` has no `layout`")
            .help("if the project is in Go, add the line `layout: [go.kubebuilder.io/v4]`, then import it again")
            .into());
    }
    if !project
        .layout
        .iter()
        .any(|plugin| plugin.starts_with("go.") || plugin.contains("go.kubebuilder.io"))
    {
        let text = format!(
            "the project is not in Go: its layout is `{}`",
            project.layout.join(", ")
        );
        return Err(Diagnostic::new(text)
            .help("create its kinds with `kbr create api --from-crd`")
            .into());
    }
    if let Some(resource) = project.resources.iter().find(|it| !it.has_names()) {
        let GoResource { kind, version, .. } = resource;
        let text = format!(
            "`PROJECT` has a resource that is not a kind: `{}` of `{}/{}`",
            kind.escape_debug(),
            resource.full_group().escape_debug(),
            version.escape_debug()
        );
        return Err(Diagnostic::new(text)
            .help("repair that entry of `resources`, then import the project again")
            .into());
    }
    Ok(project)
}
