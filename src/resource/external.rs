//! A kind that another crate defines: `--external-crate` and `--external-type`.

mod dependencies;

use std::path::Path;

use crate::problems::Problems;

use super::words;

pub use dependencies::Dependencies;

/// Crates that every project depends on already, and the names of its own.
const PRESENT: &[&str] = &["api", "k8s-openapi", "kube", "manager"];

/// Where a crate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// `cert-manager@0.5`: from the registry; without a version, any.
    Registry(String),
    /// `../types`: a folder.
    Folder(String),
}

impl Source {
    /// `./types/` is `types`.
    fn folder(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        Source::Folder(path.trim_start_matches("./").to_owned())
    }
}

/// A type of another crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The crate's name in its manifest.
    package: String,
    source: Source,
    /// `cert_manager::v1::Certificate`.
    pub type_path: String,
}

impl External {
    /// Reads the two flags; for a crate in a folder, also its manifest (`root` is where relative paths start).
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn new(root: &Path, krate: &str, type_path: &str) -> anyhow::Result<Self> {
        let mut problems = Problems::default();
        check_type(type_path, &mut problems);
        let found = if krate.contains('/') || krate.starts_with('.') {
            folder(root, krate)
        } else {
            registry(krate)
        };
        let (package, source) = found.unwrap_or_else(|(problem, help)| {
            problems.add(problem, help);
            (String::new(), Source::Registry(String::new()))
        });
        if PRESENT.contains(&package.replace('_', "-").as_str()) {
            problems.add(
                format!("`{package}` is not an external crate: every project has it"),
                "for a kind of Kubernetes or of this project, leave `--external-crate` and `--external-type` out",
            );
        }
        problems.into_result()?;
        Ok(External {
            package,
            source,
            type_path: type_path.to_owned(),
        })
    }

    /// The line for the manifest's dependencies, which are `present`. The crate is known under the first name of the type's path.
    /// `None` when it is there already; without a version, any that is there will do.
    ///
    /// # Errors
    /// That name is another crate's, or the crate's from elsewhere.
    pub fn missing_dependency(&self, present: &Dependencies) -> anyhow::Result<Option<String>> {
        let Some(found) = present.named(self.import()) else {
            return Ok(Some(self.dependency()));
        };
        let any = Source::Registry("*".to_owned());
        let same = found.package.replace('_', "-") == self.package.replace('_', "-");
        if same && (self.source == any || found.source.as_ref() == Some(&self.source)) {
            return Ok(None);
        }
        let mut problems = Problems::default();
        problems.add(
            format!(
                "`Cargo.toml` has `{} = {}` already, not `{}`",
                found.key,
                found.value,
                self.dependency()
            ),
            if same {
                format!("pass what is there: `--external-crate {}`", found.flag())
            } else {
                format!(
                    "begin `--external-type` with another name for the crate, as in `other::{}`",
                    self.type_path.rsplit("::").next().unwrap_or_default()
                )
            },
        );
        problems.into_result()?;
        Ok(None)
    }

    /// The crate's folder, seen from the project, if that is where it comes from.
    pub fn folder(&self) -> Option<&str> {
        match &self.source {
            Source::Folder(folder) => Some(folder),
            Source::Registry(_) => None,
        }
    }

    fn import(&self) -> &str {
        let (import, _) = self.type_path.split_once("::").unwrap_or_default();
        import
    }

    fn dependency(&self) -> String {
        let name = self.package.replace('-', "_");
        let import = self.import();
        let (source, value) = match &self.source {
            Source::Registry(version) => ("version", version),
            Source::Folder(folder) => ("path", folder),
        };
        let package = &self.package;
        if name != import {
            return format!("{import} = {{ {source} = {value:?}, package = {package:?} }}");
        }
        if source == "version" {
            return format!("{package} = {value:?}");
        }
        format!("{package} = {{ {source} = {value:?} }}")
    }
}

type Problem = (String, String);

fn check_type(type_path: &str, problems: &mut Problems) {
    if !words::is_type_path(type_path) {
        problems.add(
            format!("`{type_path}` is not the path of a type"),
            "it starts with the crate: `--external-type cert_manager::v1::Certificate`",
        );
    }
}

fn registry(krate: &str) -> Result<(String, Source), Problem> {
    let (name, version) = krate.split_once('@').unwrap_or((krate, "*"));
    let legal_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let legal_version = version
        .starts_with(|first: char| "^~=<>*".contains(first) || first.is_ascii_digit())
        && version
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".+-^~=<>, *".contains(&byte));
    if legal_name && legal_version {
        return Ok((name.to_owned(), Source::Registry(version.to_owned())));
    }
    Err((
        format!("`{krate}` is not a crate"),
        "pass its name, its name and version, or a path: `--external-crate cert-manager@0.5`, `--external-crate ../types`".to_owned(),
    ))
}

/// The name of the package in `folder`.
fn folder(root: &Path, folder: &str) -> Result<(String, Source), Problem> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
    }
    let manifest = root.join(folder).join("Cargo.toml");
    let help = "pass the folder of a crate, seen from the project: `--external-crate ../types`";
    let problem = |what: String| {
        (
            format!("`{folder}` is not a crate: {what}"),
            help.to_owned(),
        )
    };
    let text = std::fs::read_to_string(&manifest)
        .map_err(|error| problem(format!("`{}`: {error}", manifest.display())))?;
    let manifest: Manifest =
        toml::from_str(&text).map_err(|error| problem(error.message().to_owned()))?;
    Ok((manifest.package.name, Source::folder(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(krate: &str, type_path: &str) -> String {
        External::new(Path::new("/nowhere"), krate, type_path)
            .map_or_else(|error| error.to_string(), |external| external.dependency())
    }

    #[test]
    fn a_crate_of_the_registry_is_a_line_of_the_manifest() {
        assert_eq!(
            dependency("cert-manager@0.5", "cert_manager::v1::Certificate"),
            "cert-manager = \"0.5\""
        );
        assert_eq!(dependency("foo", "foo::Foo"), "foo = \"*\"");
        assert_eq!(
            dependency("gateway-crds@1.2.3", "gateway::v1::Gateway"),
            "gateway = { version = \"1.2.3\", package = \"gateway-crds\" }"
        );
    }

    #[test]
    fn a_crate_in_a_folder_is_known_by_its_manifest() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("types")).unwrap();
        let manifest = root.path().join("types/Cargo.toml");
        std::fs::write(&manifest, "[package]\nname = \"my-types\"\n").unwrap();
        let line = |path| {
            External::new(root.path(), "./types/", path)
                .unwrap()
                .dependency()
        };
        assert_eq!(line("my_types::v1::Foo"), "my-types = { path = \"types\" }");
        assert_eq!(
            line("other::Foo"),
            "other = { path = \"types\", package = \"my-types\" }"
        );
        assert!(dependency("../gone", "gone::Foo").starts_with("`../gone` is not a crate: "));
    }

    #[test]
    fn what_is_not_a_crate_or_a_type_is_refused() {
        for krate in [
            "",
            "a b",
            "1a",
            "a@",
            "a@latest",
            "a@1\"",
            "k8s-openapi@0.29",
            "api",
        ] {
            assert!(
                dependency(krate, "a::B").contains("nothing was written"),
                "{krate}"
            );
        }
        for path in [
            "",
            "A",
            "a::",
            "::A",
            "a::b c",
            "a::B<C>",
            "a::1",
            "a::type::B",
        ] {
            assert!(
                dependency("a", path).contains("is not the path of a type"),
                "{path}"
            );
        }
    }
}
