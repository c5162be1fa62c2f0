//! The PROJECT file of kubebuilder, versions 2 and 3: <https://kubebuilder.io/reference/project-config>.
//! It says what commands once did: people move groups and folders, and never correct it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::kustomize::{Object, Rendered};
use super::yaml;
use crate::imported::Definition;
use crate::resource::{kubernetes, names};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::yaml::Budget;

/// A PROJECT file. Keys that kbr does not need are ignored.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GoProject {
    /// `3`; or `2`, which has neither layout nor project name, and one domain for all resources.
    pub version: String,
    /// The plugins that wrote the project: `go.kubebuilder.io/v4`; empty if it does not say them.
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
    /// The full group, if it is another one than PROJECT says.
    #[serde(skip)]
    pub moved: Option<String>,
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

    /// Whether its kind may come from `definition`, whose group PROJECT need not say.
    pub fn is_from(&self, definition: &Definition) -> bool {
        let mut versions = definition.versions.iter();
        let mut has_version = || versions.any(|it| it.name == self.version);
        definition.kind == self.kind && (definition.group == self.full_group() || has_version())
    }

    /// `crew.example.com`; `apps`; empty for Kubernetes' core group.
    pub fn full_group(&self) -> String {
        if let Some(moved) = &self.moved {
            return moved.clone();
        }
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

/// The error for a project of another language.
pub fn not_in_go(why: &str) -> anyhow::Error {
    Diagnostic::new(format!("the project is not in Go: {why}"))
        .help("create its kinds with `kbr create api --from-crd`")
        .into()
}

impl GoProject {
    /// What version 3 says of each resource, and version 2 and early releases of 3, which have no layout, of none.
    fn complete(&mut self) {
        for resource in self.resources.iter_mut().filter(|it| !it.external) {
            if kubernetes::find(&resource.group, &resource.version, &resource.kind).is_some() {
                continue;
            }
            if resource.domain.is_empty() {
                resource.domain.clone_from(&self.domain);
            }
            resource.api.get_or_insert_default();
        }
    }

    /// The kinds of the project that none of `definitions` defines.
    pub fn undefined(&self, definitions: &[&Definition]) -> Vec<&GoResource> {
        let is_defined = |it: &GoResource| definitions.iter().any(|defined| it.is_from(defined));
        let own = self.resources.iter().filter(|it| it.is_own());
        own.filter(|it| !is_defined(it)).collect()
    }

    /// Decides which kinds are converted, and which version is the hub. The CRDs that Go deploys decide the first, if they are known, and the
    /// Go files the second: `hubs` has a kind and a version for each method `Hub`. PROJECT may be wrong about both. Returns a note for each
    /// kind whose conversion is not taken over.
    pub fn correct_conversions(
        &mut self,
        rendered: &Rendered,
        definitions: &[&Definition],
        hubs: &BTreeSet<(&str, &str)>,
    ) -> Vec<String> {
        let deployed = conversions(rendered);
        let mut own: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, it) in self.resources.iter().enumerate() {
            if !it.external {
                let kind = (it.kind.clone(), it.full_group());
                own.entry(kind).or_default().push(at);
            }
        }
        let mut notes = Vec::new();
        for definition in definitions {
            let (kind, group) = (&definition.kind, &definition.group);
            let own = own.get(&(kind.clone(), group.clone()));
            let own = own.map(Vec::as_slice).unwrap_or_default();
            let mut named = None;
            for at in own {
                let resource = &mut self.resources[*at];
                let webhooks = resource.webhooks.iter_mut();
                if webhooks.fold(false, |_, it| std::mem::take(&mut it.conversion)) {
                    named = Some(resource.version.clone());
                }
            }
            let is_deployed = deployed.get(&(kind.as_str(), group.as_str())).copied();
            if !is_deployed.unwrap_or(named.is_some()) {
                notes.extend(named.map(|_| format!("not taken over: conversions that `PROJECT` names, and that the CRDs in Go do not have: `{kind}`")));
                continue;
            }
            if definition.versions.len() < 2 {
                notes.push(format!("not taken over: the conversion of kinds with a single version, which converts nothing: `{kind}`"));
                continue;
            }
            let Some(any) = own.first() else {
                notes.push(format!("not taken over: conversions of kinds that `PROJECT` does not name: `{kind}`; create each with `kbr create webhook --conversion`"));
                continue;
            };
            let is_hub = |version: &&str| hubs.contains(&(kind.as_str(), *version));
            let versions = || definition.versions.iter();
            let named = named.as_deref();
            let hub = named.filter(is_hub);
            let hub = hub.or_else(|| versions().map(|it| it.name.as_str()).find(is_hub));
            let hub = hub.or(named);
            let hub = hub.or_else(|| Some(versions().find(|it| it.storage)?.name.as_str()));
            let hub = hub.unwrap_or_default();
            let at = own.iter().find(|at| self.resources[**at].version == hub);
            let at = at.copied().unwrap_or_else(|| {
                self.resources.push(GoResource {
                    version: hub.to_owned(),
                    controller: false,
                    controllers: Vec::new(),
                    webhooks: None,
                    ..self.resources[*any].clone()
                });
                self.resources.len() - 1
            });
            let webhooks = &mut self.resources[at].webhooks;
            webhooks.get_or_insert_default().conversion = true;
        }
        notes
    }

    /// Takes from the definitions what PROJECT says otherwise: the group of a kind if only one definition has that kind and version, and
    /// the domain if it has none.
    pub fn correct(&mut self, definitions: &[&Definition]) {
        let resources = &self.resources;
        let is_taken = |it: &&Definition| resources.iter().any(|known| known.is_of(it));
        let (taken, free): (Vec<&Definition>, Vec<_>) =
            definitions.iter().partition(|it| is_taken(it));
        for resource in self.resources.iter_mut().filter(|it| it.is_own()) {
            let mut found = free.iter().filter(|it| resource.is_from(it));
            let is_right = taken.iter().any(|it| resource.is_of(it));
            if let (false, Some(only), None) = (is_right, found.next(), found.next()) {
                resource.moved = Some(only.group.clone());
            }
        }
        if !names::is_subdomain(&self.domain) {
            let groups = definitions.iter().map(|it| it.group.as_str());
            let domain = |group: &str| match group.split_once('.') {
                Some((_, domain)) if domain.contains('.') => domain.to_owned(),
                _ => group.to_owned(),
            };
            self.domain = groups.min().map(domain).unwrap_or_default();
        }
    }
}

/// Whether the kinds of the rendered CRDs are converted, by kind and group; none if a patch of a CRD is not known.
fn conversions(rendered: &Rendered) -> BTreeMap<(&str, &str), bool> {
    const CRD: &str = "CustomResourceDefinition";
    let is_unknown = rendered.unknown.iter().any(|it| it.contains(CRD));
    let crds = rendered
        .objects
        .iter()
        .filter(|it| it.kind() == CRD && !is_unknown);
    let conversion = |it: &'_ Object| it.value["spec"]["conversion"]["strategy"] == "Webhook";
    crds.map(|it| {
        let spec = &it.value["spec"];
        let kind = (
            yaml::text(&spec["names"]["kind"]),
            yaml::text(&spec["group"]),
        );
        (kind, conversion(it))
    })
    .collect()
}

/// Reads the text of PROJECT.
///
/// # Errors
/// It is broken, of another version, or of a project that is not in Go.
pub fn parse(text: &str, budget: &mut Budget) -> anyhow::Result<GoProject> {
    let mut project: GoProject = budget.document(text).map_err(|error| {
        let error = error.to_string();
        Diagnostic::new("`PROJECT` is not one of kubebuilder")
            .details(error.lines().next().unwrap_or_default())
    })?;
    let version = &project.version;
    if !["2", "3"].contains(&version.as_str()) {
        let text =
            format!("`PROJECT` has the version `{version}`: only `2` and `3` can be imported");
        let help = "upgrade the project with kubebuilder first: https://kubebuilder.io/migrations";
        return Err(Diagnostic::new(text).help(help).into());
    }
    if project.layout.is_empty() {
        project.complete();
    }
    let tables = project.resources.iter().map(GoResource::tables).sum();
    if tables > MOST {
        return Err(too_many("controllers and webhooks", tables));
    }
    let is_go = |plugin: &String| plugin.starts_with("go.") || plugin.contains("go.kubebuilder.io");
    if !project.layout.is_empty() && !project.layout.iter().any(is_go) {
        return Err(not_in_go(&format!(
            "its layout is `{}`",
            project.layout.join(", ")
        )));
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
