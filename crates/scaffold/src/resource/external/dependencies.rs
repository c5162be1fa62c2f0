//! The dependencies in a project's manifest.

use super::Source;

/// The dependencies of a project's manifest.
#[derive(Clone, Debug, Default)]
pub struct Dependencies(Vec<Dependency>);

/// One dependency.
#[derive(Clone, Debug)]
pub(super) struct Dependency {
    /// The name in the manifest: `gateway-api`.
    pub key: String,
    /// The name of the package.
    pub package: String,
    /// `None` for a source that no flag can express, such as a repository.
    pub source: Option<Source>,
    /// As TOML: `"0.20"`.
    pub value: String,
}

impl Dependencies {
    /// The dependencies of a manifest. A broken manifest has none; inserting into it reports the error.
    pub fn parse(manifest: &str) -> Self {
        let manifest: toml::Table = toml::from_str(manifest).unwrap_or_default();
        let of_workspace = |key: &str| manifest.get("workspace")?.get("dependencies")?.get(key);
        let Some(table) = manifest.get("dependencies").and_then(toml::Value::as_table) else {
            return Dependencies::default();
        };
        let dependency = |(key, value): (&String, &toml::Value)| {
            let whole = match value.get("workspace") {
                Some(_) => of_workspace(key).unwrap_or(value),
                None => value,
            };
            let text = |field: &str| whole.get(field)?.as_str();
            let version = whole.as_str().or_else(|| text("version"));
            let source = match (text("path"), version) {
                (Some(folder), _) => Some(Source::folder(folder)),
                (None, _) if text("git").is_some() => None,
                (None, version) => version.map(|version| Source::Registry(version.to_owned())),
            };
            Dependency {
                key: key.clone(),
                package: text("package").unwrap_or(key).to_owned(),
                source,
                value: value.to_string(),
            }
        };
        Dependencies(table.iter().map(dependency).collect())
    }

    /// The dependency with the name `import` in Rust code.
    pub(super) fn named(&self, import: &str) -> Option<&Dependency> {
        let mut all = self.0.iter();
        all.find(|dependency| dependency.key.replace('-', "_") == import)
    }
}

impl Dependency {
    /// The value of `--external-crate` for this dependency.
    pub(super) fn flag(&self) -> String {
        match &self.source {
            Some(Source::Registry(version)) if version.contains(' ') => {
                format!("'{}@{version}'", self.package)
            }
            Some(Source::Registry(version)) => format!("{}@{version}", self.package),
            Some(Source::Folder(folder)) if folder.contains('/') => folder.clone(),
            Some(Source::Folder(folder)) => format!("./{folder}"),
            None => self.package.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{External, registry};
    use super::*;

    #[test]
    fn an_existing_dependency_is_used_or_clashes() {
        let present = Dependencies::parse(
            r#"
[workspace.dependencies]
serde = { version = "1", features = ["derive"] }
[dependencies]
serde = { workspace = true }
tokio = { version = "1", features = ["macros"] }
gateway-api = "0.20"
gw = { version = "0.19", package = "gateway-api" }
kinds = { path = "kinds/" }
forked = { git = "https://example.com/forked" }
"#,
        );
        let missing = |source: Source, package: &str, type_path: &str| {
            let external = External {
                package: package.to_owned(),
                source,
                type_path: type_path.to_owned(),
            };
            match external.missing_dependency(&present) {
                Ok(line) => line.unwrap_or_default(),
                Err(error) => error.to_string(),
            }
        };
        let of_registry = |krate: &str, type_path: &str| {
            let (package, source) = registry(krate).unwrap();
            missing(source, &package, type_path)
        };
        assert_eq!(of_registry("new@1", "new::A"), "new = \"1\"");
        for there in [
            of_registry("gateway-api@0.20", "gateway_api::A"),
            of_registry("gateway-api", "gateway_api::A"),
            of_registry("gateway-api@0.19", "gw::A"),
            of_registry("serde@1", "serde::A"),
            of_registry("forked", "forked::A"),
            missing(Source::Folder("kinds".to_owned()), "kinds", "kinds::A"),
        ] {
            assert_eq!(there, "");
        }
        for (text, help) in [
            (
                of_registry("gateway-api@0.21", "gateway_api::A"),
                "gateway-api@0.20",
            ),
            (of_registry("tokio@0.2", "tokio::A"), "tokio@1"),
            (of_registry("serde@2", "serde::A"), "serde@1"),
            (of_registry("forked@1", "forked::A"), "forked"),
            (of_registry("kinds@1", "kinds::A"), "./kinds"),
        ] {
            assert!(text.contains("already has `"), "{text}");
            let help = format!("\nhelp: pass the existing dependency: `--external-crate {help}`");
            assert!(text.ends_with(&help), "{text}");
        }
        let other = of_registry("another@1", "tokio::A");
        assert!(
            other.ends_with("rename the crate in `--external-type`, for example `other::A`"),
            "{other}"
        );
    }
}
