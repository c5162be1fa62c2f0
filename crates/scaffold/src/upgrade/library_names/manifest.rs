//! A feature of the library that became a crate, in the manifests of the workspace's other crates: instead of the feature `testing` of
//! kbr-manager, they depend on kbr-testing. That of the project itself is merged with the template's.

use super::testing::RELEASE;
use crate::upgrade::Span;

const FEATURE: &str = "testing";

/// The library as the code names it, its package, and the package with what the feature enabled.
const NAME: &str = "manager";
const PACKAGE: &str = "kbr-manager";
const CRATE: &str = "kbr-testing";

/// Whether the file is the manifest of a crate in a folder of the project.
pub fn is(path: &str) -> bool {
    path.ends_with("/Cargo.toml")
}

/// The text of such a manifest with the dependency on the crate.
pub fn with_crate(text: &str, span: Span) -> String {
    let Ok(manifest) = toml::from_str::<toml::Table>(text) else {
        return text.to_owned();
    };
    // Another workspace has its own library.
    if !span.includes(RELEASE) || manifest.contains_key("workspace") {
        return text.to_owned();
    }
    let dependencies = manifest.get("dependencies");
    let is_dependency = dependencies.is_some_and(|it| it.get(NAME).is_some());
    let (mut result, mut table) = (String::with_capacity(text.len()), String::new());
    for line in text.split_inclusive('\n') {
        if let Some((name, _)) = line
            .trim_start()
            .strip_prefix('[')
            .and_then(|it| it.split_once(']'))
        {
            name.trim().clone_into(&mut table);
        }
        // What the crate depends on anyway, its tests need not name again.
        let is_redundant = is_dependency && table == "dev-dependencies";
        let changed = table
            .ends_with("dependencies")
            .then(|| renewed(line, is_redundant));
        result += &changed.flatten().unwrap_or_else(|| line.to_owned());
    }
    let is_valid = toml::from_str::<toml::Table>(&result).is_ok();
    if is_valid { result } else { text.to_owned() }
}

/// The line of a dependency on the library with the feature, as that on the crate, followed by that on the library without the feature
/// unless it `is_redundant`; `None` for any other line.
fn renewed(line: &str, is_redundant: bool) -> Option<String> {
    let parsed: toml::Table = toml::from_str(line).ok()?;
    let library = parsed.get(NAME)?.as_table()?;
    let features = library.get("features")?.as_array()?;
    if !features.iter().any(|it| it.as_str() == Some(FEATURE)) || library.contains_key("optional") {
        return None;
    }
    let origin = match library.get("path") {
        Some(path) => format!("path = {}", path.to_string().replace(PACKAGE, CRATE)),
        None if library.get("workspace")?.as_bool()? => "workspace = true".to_owned(),
        None => return None,
    };
    let indent = &line[..line.len() - line.trim_start().len()];
    let end = line.rfind('}')? + 1;
    let added = format!("{indent}{CRATE} = {{ {origin} }}");
    let rest = without(&line[..end], features)?;
    let is_bare = rest.contains("{ workspace = true }");
    if is_redundant && is_bare {
        return Some(added + &line[end..]);
    }
    let ending = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
    Some(format!("{added}{ending}{rest}{}", &line[end..]))
}

/// The dependency without the feature.
fn without(dependency: &str, features: &[toml::Value]) -> Option<String> {
    let start = dependency.find("features")?;
    // `default-features` may come first.
    let start = match dependency[..start].strip_suffix("default-") {
        Some(_) => start + 8 + dependency[start + 8..].find("features")?,
        None => start,
    };
    let end = start + dependency[start..].find(']')? + 1;
    let (before, after) = (&dependency[..start], &dependency[end..]);
    let kept = features.iter().filter(|it| it.as_str() != Some(FEATURE));
    let kept: Vec<_> = kept.map(ToString::to_string).collect();
    if !kept.is_empty() {
        return Some(format!("{before}features = [{}]{after}", kept.join(", ")));
    }
    let before = before.trim_end();
    Some(match before.strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!(
            "{before} {}",
            after.trim_start().trim_start_matches(',').trim_start()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let [from, to] = ["0.2.0", "0.3.0"];
        assert_eq!(with_crate(text, Span { from, to }), expected);
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(with_crate(&crlf(text), Span { from, to }), crlf(expected));
    }

    #[test]
    fn the_feature_becomes_a_dependency_on_the_crate() {
        check(
            "[dependencies]\nmanager = { workspace = true }\n\n[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] } # fake\nserde = \"1\"\n",
            "[dependencies]\nmanager = { workspace = true }\n\n[dev-dependencies]\nkbr-testing = { workspace = true } # fake\nserde = \"1\"\n",
        );
        check(
            "[dev-dependencies]\nmanager = { features = [\"testing\"], workspace = true }\n",
            "[dev-dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true }\n",
        );
        check(
            "[dependencies]\nmanager = { workspace = true, features = [\"testing\", \"clap\"] }\n",
            "[dependencies]\nkbr-testing = { workspace = true }\nmanager = { workspace = true, features = [\"clap\"] }\n",
        );
        check(
            "[dev-dependencies]\nmanager = { package = \"kbr-manager\", path = \"../third_party/kbr-manager\", default-features = false, features = [\"testing\"] }\n",
            "[dev-dependencies]\nkbr-testing = { path = \"../third_party/kbr-testing\" }\nmanager = { package = \"kbr-manager\", path = \"../third_party/kbr-manager\", default-features = false }\n",
        );
    }

    #[test]
    fn other_manifests_and_other_releases_stay() {
        let text = "[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n";
        let [from, to] = ["0.1.0", "0.2.0"];
        assert_eq!(with_crate(text, Span { from, to }), text);
        for text in [
            "[workspace]\n\n[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] }\n",
            "[dev-dependencies]\nother = { workspace = true, features = [\"testing\"] }\nmanager = { workspace = true }\n",
            "[features]\nmanager = [\"testing\"]\n",
            "[dev-dependencies]\nmanager = { workspace = true, features = [\"testing\"] \n",
        ] {
            check(text, text);
        }
    }
}
