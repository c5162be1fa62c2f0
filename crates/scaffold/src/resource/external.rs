//! External kinds: `--external-crate` and `--external-type`.

mod dependencies;

use kbr_host::diagnostic::Problems;

use super::names;
use crate::{library, quote};

pub use dependencies::Dependencies;

/// Crates that every project depends on, and the project's own crates.
const PRESENT: &[&str] = &["api", "k8s-openapi", "kube", "manager"];

/// Where a crate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// `cert-manager@0.5`: from the registry; any version if it has none.
    Registry(String),
    /// `../types`: in a folder.
    Folder(String),
}

impl Source {
    /// Normalizes `./types/` to `types`.
    fn folder(path: &str) -> Self {
        let path = path.trim_end_matches('/');
        Source::Folder(path.trim_start_matches("./").to_owned())
    }
}

/// A type of an external crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The crate's name in its manifest.
    package: String,
    source: Source,
    /// `cert_manager::v1::Certificate`.
    pub type_path: String,
}

impl External {
    /// Reads the two flags. `package_of` returns the name of the package in a folder, or why the folder is not a crate.
    ///
    /// # Errors
    /// All problems of the flags.
    pub fn new(
        krate: &str,
        type_path: &str,
        package_of: impl FnOnce(&str) -> Result<String, String>,
    ) -> anyhow::Result<Self> {
        let mut problems = Problems::default();
        check_type(type_path, &mut problems);
        let found = if is_folder(krate) {
            folder(krate, package_of)
        } else {
            registry(krate)
        };
        let (package, source) = found.unwrap_or_else(|(problem, help)| {
            problems.add(problem, help);
            (String::new(), Source::Registry(String::new()))
        });
        let name = package.replace('_', "-");
        if PRESENT.contains(&name.as_str()) || library::packages().any(|it| it == name) {
            problems.add(
                format!("`{package}` is not an external crate: every project has it"),
                "for a built-in kind or a kind of this project, leave `--external-crate` and `--external-type` out",
            );
        }
        problems.into_result()?;
        Ok(External {
            package,
            source,
            type_path: type_path.to_owned(),
        })
    }

    /// The line to add to the manifest, whose dependencies are `present`. The first segment of the type's path is the name of the dependency.
    /// `None` if the manifest already has it; any version matches a flag without a version.
    ///
    /// # Errors
    /// The name belongs to another crate, or the crate comes from another source.
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
                "`Cargo.toml` already has `{} = {}`, not `{}`",
                found.key,
                found.value,
                self.dependency()
            ),
            if same {
                format!(
                    "pass the existing dependency: `--external-crate {}`",
                    found.flag()
                )
            } else {
                format!(
                    "rename the crate in `--external-type`, for example `other::{}`",
                    self.type_path.rsplit("::").next().unwrap_or_default()
                )
            },
        );
        problems.into_result()?;
        Ok(None)
    }

    /// The crate's folder, relative to the project, if it is a path dependency.
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

    /// The line for the manifest's dependencies: `gateway-api = "0.20"`.
    pub fn dependency(&self) -> String {
        let name = self.package.replace('-', "_");
        let import = self.import();
        let (source, value) = match &self.source {
            Source::Registry(version) => ("version", version),
            Source::Folder(folder) => ("path", folder),
        };
        let (value, package) = (quote::toml(value), &self.package);
        if name != import {
            let package = quote::toml(package);
            return format!("{import} = {{ {source} = {value}, package = {package} }}");
        }
        if source == "version" {
            return format!("{package} = {value}");
        }
        format!("{package} = {{ {source} = {value} }}")
    }
}

type Problem = (String, String);

fn is_folder(krate: &str) -> bool {
    krate.contains('/') || krate.starts_with('.')
}

fn check_type(type_path: &str, problems: &mut Problems) {
    if !names::is_type_path(type_path) {
        problems.add(
            format!("`{type_path}` is not the path of a type"),
            "start with the crate: `--external-type cert_manager::v1::Certificate`",
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

/// The package in `folder`.
fn folder(
    folder: &str,
    package_of: impl FnOnce(&str) -> Result<String, String>,
) -> Result<(String, Source), Problem> {
    let package = package_of(folder).map_err(|what| {
        (
            format!("`{folder}` is not a crate: {what}"),
            "pass the folder of a crate, relative to the project: `--external-crate ../types`"
                .to_owned(),
        )
    })?;
    Ok((package, Source::folder(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependency(krate: &str, type_path: &str) -> String {
        let gone = |_: &str| Err("it has no manifest".to_owned());
        External::new(krate, type_path, gone)
            .map_or_else(|error| error.to_string(), |external| external.dependency())
    }

    #[test]
    fn a_crate_of_the_registry_becomes_a_line_of_the_manifest() {
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
    fn a_crate_in_a_folder_uses_the_name_of_its_package() {
        let line = |path| {
            External::new("./types/", path, |_| Ok("my-types".to_owned()))
                .unwrap()
                .dependency()
        };
        assert_eq!(line("my_types::v1::Foo"), "my-types = { path = \"types\" }");
        assert_eq!(
            line("other::Foo"),
            "other = { path = \"types\", package = \"my-types\" }"
        );
        assert_eq!(
            dependency("../gone", "gone::Foo").lines().next(),
            Some("`../gone` is not a crate: it has no manifest")
        );
    }

    #[test]
    fn an_invalid_crate_or_type_is_rejected() {
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
            assert!(dependency(krate, "a::B").contains("help: "), "{krate}");
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
