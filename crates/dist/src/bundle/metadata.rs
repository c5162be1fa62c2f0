//! What a catalogue shows of the operator: `[bundle]` in PROJECT, which only the user writes.

use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use kbr_manifests::files;
use kbr_scaffold::contents;
use kbr_scaffold::project::PROJECT;

/// The table. All keys are optional.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    /// `Captains of the crew`.
    pub display_name: Option<String>,
    /// Markdown.
    pub description: Option<String>,
    /// The path of an image, relative to the project: png, jpeg, gif or svg.
    pub icon: Option<String>,
    pub provider: Option<String>,
    pub maintainers: Vec<Maintainer>,
    pub links: Vec<Link>,
    pub keywords: Vec<String>,
    pub categories: Vec<String>,
    /// `Basic Install`, `Seamless Upgrades`, `Full Lifecycle`, `Deep Insights` or `Auto Pilot`.
    pub capabilities: Option<String>,
    /// `alpha`, `beta` or `stable`.
    pub maturity: Option<String>,
    /// The oldest Kubernetes: `1.32.0`.
    pub min_kube_version: Option<String>,
    /// The CSV that this one replaces: `captains.v0.1.0`.
    pub replaces: Option<String>,
    /// The versions that this one can be updated from: `>=0.1.0 <0.3.0`.
    pub skip_range: Option<String>,
    /// Those that the image is built for, as Go names them; `amd64` and `arm64` if there are none.
    pub architectures: Vec<String>,
    /// The bytes of `icon`.
    #[serde(skip)]
    pub image: Option<(&'static str, String)>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Maintainer {
    pub name: String,
    pub email: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    pub url: String,
}

#[derive(Deserialize)]
struct Tables {
    #[serde(default)]
    bundle: Metadata,
}

const LEVELS: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

impl Metadata {
    /// The table of the project at `root`.
    ///
    /// # Errors
    /// It has an unknown key or value, or the icon cannot be read.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let text = contents::text(root, PROJECT).unwrap_or_default();
        let mut metadata = Self::parse(&text)?;
        if let Some(path) = &metadata.icon {
            let extension = path.rsplit('.').next().unwrap_or_default();
            let kind = match extension {
                "png" => "image/png",
                "jpg" | "jpeg" => "image/jpeg",
                "gif" => "image/gif",
                "svg" => "image/svg+xml",
                _ => bail!(
                    "the icon `{path}` in `[bundle]` of {PROJECT} must be a png, jpeg, gif or svg"
                ),
            };
            if path.starts_with('/') || path.split('/').any(|part| part == "..") {
                bail!("the icon `{path}` in `[bundle]` of {PROJECT} must be in the project");
            }
            let bytes = files::read(&root.join(path))?;
            let bytes = bytes.with_context(|| {
                format!("the icon `{path}` in `[bundle]` of {PROJECT} does not exist")
            })?;
            metadata.image = Some((kind, BASE64_STANDARD.encode(bytes)));
        }
        Ok(metadata)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let tables: Tables =
            toml::from_str(text).with_context(|| format!("cannot read `[bundle]` in {PROJECT}"))?;
        let metadata = tables.bundle;
        if let Some(level) = &metadata.capabilities
            && !LEVELS.contains(&level.as_str())
        {
            bail!(
                "`capabilities` in `[bundle]` of {PROJECT} cannot be `{level}`; the levels are: {}",
                LEVELS.join(", ")
            );
        }
        Ok(metadata)
    }

    /// What the labels of the CSV say that the image runs on.
    pub fn platforms(&self) -> Value {
        let usual = ["amd64", "arm64"].map(str::to_owned);
        let architectures = if self.architectures.is_empty() {
            &usual
        } else {
            self.architectures.as_slice()
        };
        let labels = architectures
            .iter()
            .map(|it| format!("operatorframework.io/arch.{it}"));
        let labels = labels.chain(["operatorframework.io/os.linux".to_owned()]);
        labels.map(|label| (label, json!("supported"))).collect()
    }

    /// `spec.icon`.
    pub fn icons(&self) -> Vec<Value> {
        let icons = self.image.iter();
        icons
            .map(|(kind, bytes)| json!({ "mediatype": kind, "base64data": bytes }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_without_the_table_has_no_metadata() {
        assert_eq!(
            Metadata::parse("name = \"x\"\n").unwrap(),
            Metadata::default()
        );
    }

    #[test]
    fn unknown_keys_and_levels_are_errors() {
        let check = |text: &str, part: &str| {
            let error = format!("{:#}", Metadata::parse(text).unwrap_err());
            assert!(error.contains(part), "{error}");
        };
        check("[bundle]\nmaintainer = 1\n", "unknown field `maintainer`");
        check(
            "[bundle]\ncapabilities = \"Much\"\n",
            "the levels are: Basic Install",
        );
    }
}
