//! Renders `config/default` with selections of its components, in a copy: kustomize reads the selection from a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use kbr_host::regular;
use kbr_scaffold::yaml;

use kbr_manifests::{files, overlay};

const DEFAULT: &str = "config/default/kustomization.yaml";

/// A copy of the folder `config`.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    default: Value,
}

impl Scratch {
    /// Copies `config` of the project at `root`.
    ///
    /// # Errors
    /// A file cannot be read or copied, or is a link.
    pub fn new(root: &Path) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        copy(&root.join("config"), &folder.path().join("config"))?;
        let text = regular::text(&folder.path().join(DEFAULT));
        let text = text.with_context(|| format!("cannot read `{DEFAULT}`"))?;
        let default = kbr_host::yaml::document(&text);
        let default = default.with_context(|| format!("cannot read `{DEFAULT}`"))?;
        Ok(Self { folder, default })
    }

    /// The folders of the components that `config/default` lists, as names in `config`, in its order.
    pub fn listed(&self) -> Vec<String> {
        let listed = self.default["components"].as_array().into_iter().flatten();
        let listed = listed.filter_map(|it| it.as_str()?.strip_prefix("../"));
        listed
            .map(|it| it.trim_end_matches('/').to_owned())
            .collect()
    }

    /// The objects of `config/default` with these components instead of those that it lists.
    ///
    /// # Errors
    /// kustomize fails.
    pub fn render(
        &self,
        components: &[impl AsRef<str>],
        kubectl: &dyn Fn() -> Command,
    ) -> anyhow::Result<Vec<Value>> {
        let mut selected = self.default.clone();
        selected["components"] = components
            .iter()
            .map(|it| json!(format!("../{}", it.as_ref())))
            .collect();
        let text = yaml::render(&[selected])?;
        fs::write(self.folder.path().join(DEFAULT), text).context("cannot select components")?;
        overlay::render(kubectl(), self.folder.path(), overlay::OVERLAY)
    }
}

/// Copies the files of a folder, without following links.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create `{}`", to.display()))?;
    let entries =
        fs::read_dir(from).with_context(|| format!("cannot read `{}`", from.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read `{}`", from.display()))?;
        let (path, target): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        let kind = entry
            .file_type()
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        if kind.is_dir() {
            copy(&path, &target)?;
        } else if kind.is_file() {
            let text = files::read(&path)?.unwrap_or_default();
            fs::write(&target, text)
                .with_context(|| format!("cannot write `{}`", target.display()))?;
        } else {
            bail!("`{}` is a link, which is not followed", path.display());
        }
    }
    Ok(())
}
