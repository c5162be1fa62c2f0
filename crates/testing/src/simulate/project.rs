//! What the project of a test says about its operator: the definitions of its kinds, its samples, and its role.

use std::{
    env, fs,
    path::{Path as File, PathBuf},
};

use anyhow::Context as _;
use manager::harness::ReconciledKind;
use serde_json::Value;

use super::permissions::Permissions;
use crate::server::{Configured, Path};

/// What was read of a project.
#[derive(Clone, Debug, Default)]
pub(super) struct Project {
    pub(super) definitions: Vec<Value>,
    pub(super) samples: Vec<Value>,
    /// `None` without a role.
    pub(super) permissions: Option<Permissions>,
    pub(super) webhooks: Vec<Configured>,
}

impl Project {
    /// The project that the test belongs to: the folder with the nearest `PROJECT` file. Empty outside a project.
    ///
    /// # Errors
    /// If a file of it cannot be read.
    pub(super) fn of_test() -> anyhow::Result<Self> {
        let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        // A debugger starts the test without cargo, in its folder or another one.
        let started = || env::current_dir().into_iter().chain(env::current_exe());
        let folders = package.map_or_else(|| started().collect(), |package| vec![package]);
        let root = folders.iter().find_map(|folder| root(folder));
        root.map_or_else(|| Ok(Self::default()), Self::read)
    }

    fn read(root: &File) -> anyhow::Result<Self> {
        let config = root.join("config");
        let is = |kind: &'static str| move |object: &Value| object["kind"] == kind;
        let mut definitions = objects(&config.join("crd/bases"))?;
        definitions.retain(is("CustomResourceDefinition"));
        let samples = samples(&config.join("samples"))?;
        let role = config.join("rbac/role.yaml");
        let permissions = if role.is_file() {
            Some(Permissions::of(&documents(&role)?))
        } else {
            None
        };
        let manifests = config.join("webhook/manifests.yaml");
        let webhooks = if manifests.is_file() {
            Configured::all(&documents(&manifests)?)
        } else {
            Vec::new()
        };
        Ok(Self {
            definitions,
            samples,
            permissions,
            webhooks,
        })
    }

    /// The samples of these kinds in any of their versions, with their paths. A namespaced one without a namespace goes to
    /// `default`. Of two samples of the same name, the one in the version of the controller counts.
    pub(super) fn samples_of(&self, kinds: &[ReconciledKind]) -> Vec<(Path, Value)> {
        let is_own =
            |sample: &Value, kind: &ReconciledKind| sample["apiVersion"] == *kind.api_version;
        let with_path = |sample: &Value| {
            let group = |version: &str| version.rsplit_once('/').map_or("", |it| it.0).to_owned();
            let version = sample["apiVersion"].as_str()?;
            let kind = kinds.iter().find(|kind| {
                group(version) == group(&kind.api_version) && sample["kind"] == *kind.name
            })?;
            let named = |other: &&Value| other["metadata"]["name"] == sample["metadata"]["name"];
            let mut others = self.samples.iter().filter(named);
            let is_shadowed = !is_own(sample, kind)
                && others.any(|it| it["kind"] == *kind.name && is_own(it, kind));
            let path = path(kind, version, &sample["metadata"])?;
            (!is_shadowed).then(|| (path, sample.clone()))
        };
        self.samples.iter().filter_map(with_path).collect()
    }
}

/// The folder with the nearest `PROJECT` file.
fn root(folder: &File) -> Option<&File> {
    let mut folders = folder.ancestors();
    folders.find(|it| it.join("PROJECT").is_file())
}

/// The note for a test that was started without cargo, and in which nothing of a project is known.
pub(super) fn note_without_cargo(project: &Project) -> Option<String> {
    let is_unknown = project.definitions.is_empty() && project.permissions.is_none();
    let is_without = is_unknown && env::var_os("CARGO_MANIFEST_DIR").is_none();
    is_without.then(|| {
        "the test was started without cargo: neither the CRDs nor the role of its project are checked".to_owned()
    })
}

fn path(kind: &ReconciledKind, version: &str, meta: &Value) -> Option<Path> {
    let plural = &kind.plural;
    let root = if version.contains('/') { "apis" } else { "api" };
    let namespace = match meta["namespace"].as_str().unwrap_or("default") {
        _ if !kind.is_namespaced => String::new(),
        namespace => format!("namespaces/{namespace}/"),
    };
    let name = meta["name"].as_str()?;
    Path::parse(&format!("/{root}/{version}/{namespace}{plural}/{name}"))
}

/// The objects that `kubectl apply -k` of this folder creates, as far as they are in files beside its kustomization.
fn samples(folder: &File) -> anyhow::Result<Vec<Value>> {
    let kustomization = folder.join("kustomization.yaml");
    if !kustomization.is_file() {
        return objects(folder);
    }
    let kustomizations = documents(&kustomization)?;
    let resources = kustomizations
        .iter()
        .filter_map(|it| it["resources"].as_array());
    let files = resources.flatten().filter_map(Value::as_str);
    let files = files
        .map(|file| folder.join(file))
        .filter(|file| file.is_file());
    let all = files.map(|file| documents(&file));
    Ok(all.collect::<anyhow::Result<Vec<_>>>()?.concat())
}

/// The objects in the files of a folder, in the order of their names; none if it does not exist.
fn objects(folder: &File) -> anyhow::Result<Vec<Value>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(Vec::new());
    };
    let mut files = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    files.retain(|file| {
        file.extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
    });
    files.sort();
    let all = files.iter().map(|file| documents(file));
    Ok(all.collect::<anyhow::Result<Vec<_>>>()?.concat())
}

fn documents(file: &File) -> anyhow::Result<Vec<Value>> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    serde_saphyr::from_multiple(&text).with_context(|| format!("cannot read {shown}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_project_has_definitions_samples_and_a_role() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write(
            "config/crd/bases/a.yaml",
            "kind: CustomResourceDefinition\nspec:\n  group: crew.example.com\n  scope: Namespaced\n  names: {plural: captains, kind: Captain}\n",
        );
        write("config/crd/bases/README.md", "no YAML");
        write(
            "config/samples/kustomization.yaml",
            "kind: Kustomization\nresources: [a.yaml]\n",
        );
        write("config/samples/other.yaml", "kind: Captain\n");
        write(
            "config/samples/a.yaml",
            "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata: {name: nemo}\n---\n\
             apiVersion: crew.example.com/v2\nkind: Captain\nmetadata: {name: ahab}\n---\n\
             apiVersion: crew.example.com/v2\nkind: Captain\nmetadata: {name: nemo}\n",
        );
        write("config/rbac/role.yaml", "kind: ClusterRole\nrules: []\n");
        write(
            "config/webhook/manifests.yaml",
            "# A comment.\nkind: MutatingWebhookConfiguration\nwebhooks: [{name: a}]\n---\nkind: ValidatingWebhookConfiguration\n",
        );

        let project = Project::read(folder.path()).unwrap();

        assert_eq!(project.definitions.len(), 1);
        assert!(project.permissions.is_some());
        assert_eq!(project.webhooks.len(), 1);
        let captains = ReconciledKind {
            api_version: "crew.example.com/v1".to_owned(),
            name: "Captain".to_owned(),
            plural: "captains".to_owned(),
            is_namespaced: true,
        };
        let samples = project.samples_of(&[captains]);
        let urls: Vec<_> = samples.iter().map(|(path, _)| path.url()).collect();
        let of = |it| format!("/apis/crew.example.com/{it}");
        let wanted = [
            "v1/namespaces/default/captains/nemo",
            "v2/namespaces/default/captains/ahab",
        ];
        assert_eq!(urls, wanted.map(of));
        assert_eq!(samples[0].1["metadata"], json!({"name": "nemo"}));
    }

    #[test]
    fn a_file_that_is_not_yaml_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("config/samples")).unwrap();
        fs::write(folder.path().join("config/samples/a.yaml"), "a: b: c").unwrap();
        let error = Project::read(folder.path()).unwrap_err();
        assert!(format!("{error:#}").contains("samples/a.yaml"), "{error:#}");
    }
}
