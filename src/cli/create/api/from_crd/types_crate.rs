//! The crate for the types of kinds that other operators own: `--external`, with or without `--external-crate`.

use std::path::Path;

use kbr_host::diagnostic::{Diagnostic, Problems};
use kbr_scaffold::contents;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::names;

/// Without `--external-crate`.
const DEFAULT: &str = "./external";

/// Top folders of every project with another purpose.
const TAKEN: [&str; 10] = [
    "api",
    "config",
    "dist",
    "docs",
    "grafana",
    "hack",
    "src",
    "target",
    "tests",
    "third_party",
];

/// Crates that no dependency may be called like.
const CRATES: [&str; 9] = [
    "alloc",
    "api",
    "core",
    "k8s_openapi",
    "kbr_manager",
    "kbr_testing",
    "kube",
    "proc_macro",
    "std",
];

/// What the types depend on, besides each other.
const DEPENDENCIES: [&str; 5] = ["k8s-openapi", "kube", "schemars", "serde", "serde_json"];

/// A crate in the project, which has the types only.
#[derive(Debug)]
pub struct TypesCrate {
    /// Its folder, relative to the project: `external`.
    pub folder: String,
}

impl TypesCrate {
    /// The crate that `--external-crate` says.
    ///
    /// # Errors
    /// It cannot be a crate of the project.
    pub fn of(flag: Option<&str>) -> anyhow::Result<Self> {
        let flag = flag.unwrap_or(DEFAULT);
        let folder = flag.trim_end_matches('/');
        let folder = folder.strip_prefix("./").unwrap_or(folder);
        let krate = Self {
            folder: folder.to_owned(),
        };
        match krate.problem(flag) {
            Some((problem, help)) => Err(Diagnostic::new(problem).help(help).into()),
            None => Ok(krate),
        }
    }

    /// Why it cannot be one, and what to do.
    fn problem(&self, flag: &str) -> Option<(String, String)> {
        if !flag.contains('/') {
            return Some((
                format!("`{flag}` is not a folder: with `--external`, the types go into a crate of the project"),
                "pass a folder, as `--external-crate ./external`; for the types of a published crate, pass `--external-type` instead of `--external`".to_owned(),
            ));
        }
        let parts: Vec<_> = self.folder.split('/').collect();
        let is_name = |part: &&str| {
            part.starts_with(|it: char| it.is_ascii_lowercase())
                && part
                    .chars()
                    .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_".contains(it))
        };
        let help = || "pass a folder of the project, as `--external-crate ./external`".to_owned();
        if !parts.iter().all(is_name) {
            let text = format!("`{flag}` is not a folder in the project with the name of a crate");
            return Some((text, help()));
        }
        let key = self.key();
        let is_taken = TAKEN.contains(&parts[0]) || CRATES.contains(&key.as_str());
        (is_taken || names::is_keyword(&key)).then(|| {
            let text = format!("`{flag}` is reserved: every project has something of that name");
            (text, help())
        })
    }

    /// Its name in Rust: `external`.
    pub fn key(&self) -> String {
        let name = self.folder.rsplit('/').next().unwrap_or_default();
        name.replace('-', "_")
    }

    /// The value of `--external-crate`.
    pub fn flag(&self) -> String {
        format!("./{}", self.folder)
    }

    /// The name of its package: as its manifest says, or a new one.
    pub fn package(&self, project: &Project, root: &Path) -> String {
        let name = contents::package_name(root, &self.folder);
        name.unwrap_or_else(|_| format!("{}-{}", project.head.name, self.key().replace('_', "-")))
    }

    /// Checks a crate that exists.
    ///
    /// # Errors
    /// It lacks a dependency of the types.
    pub fn check(&self, root: &Path) -> anyhow::Result<()> {
        let path = format!("{}/Cargo.toml", self.folder);
        let Some(text) = contents::text(root, &path) else {
            return Ok(());
        };
        let manifest: toml::Table = toml::from_str(&text).unwrap_or_default();
        let has = |name: &str| {
            manifest
                .get("dependencies")
                .and_then(|it| it.get(name))
                .is_some()
        };
        let mut problems = Problems::default();
        for name in DEPENDENCIES.into_iter().filter(|name| !has(name)) {
            problems.add(
                format!("`{path}` lacks `{name}`, on which the types depend"),
                format!("add below `[dependencies]`: {}", dependency(name)),
            );
        }
        problems.into_result()
    }
}

/// A line of the manifest.
fn dependency(name: &str) -> String {
    match name {
        "k8s-openapi" => format!("{name} = {{ workspace = true, features = [\"schemars\"] }}"),
        "kube" => format!("{name} = {{ workspace = true, features = [\"derive\"] }}"),
        _ => format!("{name} = {{ workspace = true }}"),
    }
}

/// The manifest of a new crate.
pub fn manifest(package: &str) -> String {
    let dependencies = DEPENDENCIES.map(dependency).join("\n");
    format!(
        "[package]
name = \"{package}\"
description = \"Types of kinds that other operators own\"
version = \"0.1.0\"
edition = \"2024\"
rust-version = \"1.89\"
publish = false

[dependencies]
{dependencies}

[lints]
workspace = true
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_is_a_folder_of_the_project() {
        let folder =
            |flag: &str| TypesCrate::of(Some(flag)).map(|it| (it.folder.clone(), it.key()));
        let of = |folder: &str, key: &str| Some((folder.to_owned(), key.to_owned()));
        assert_eq!(folder("./external").ok(), of("external", "external"));
        assert_eq!(folder("kinds/").ok(), of("kinds", "kinds"));
        assert_eq!(
            folder("./crates/cert-kinds").ok(),
            of("crates/cert-kinds", "cert_kinds")
        );
        for (flag, problem) in [
            ("cert-manager@0.5", "is not a folder"),
            ("kinds", "is not a folder"),
            ("../kinds", "with the name of a crate"),
            ("/kinds", "with the name of a crate"),
            ("./", "with the name of a crate"),
            ("./a/../b", "with the name of a crate"),
            ("./Kinds", "with the name of a crate"),
            ("./.cargo", "with the name of a crate"),
            ("./api", "is reserved"),
            ("./src/kinds", "is reserved"),
            ("./crates/kube", "is reserved"),
            ("./crates/mod", "is reserved"),
        ] {
            let error = folder(flag).unwrap_err().to_string();
            assert!(error.contains(problem), "{flag}: {error}");
        }
    }
}
