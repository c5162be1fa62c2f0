//! A feature of the library that became a crate, in the manifests of the workspace's other crates: instead of the feature `testing` of
//! kbr-manager, they depend on kbr-testing. That of the project itself is merged with the template's.

mod dependency;
mod edits;
mod features;
#[cfg(test)]
mod tests;

use super::testing::RELEASE;
use crate::upgrade::Span;
use dependency::Dependency;
use edits::Edits;
use features::Features;

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
    let result = edits(text, &manifest).unwrap_or_default().apply(text);
    let is_valid = toml::from_str::<toml::Table>(&result).is_ok();
    if is_valid { result } else { text.to_owned() }
}

/// `None` if it is not known where the crate is.
fn edits(text: &str, manifest: &toml::Table) -> Option<Edits> {
    let mut edits = Edits::default();
    let all = Dependency::all(text, manifest);
    let mut features = Features::of(text, manifest);
    let is_only_dev = all.iter().all(Dependency::is_dev);
    // What the crate depends on anyway, its tests need not name again.
    let is_always = all
        .iter()
        .any(|it| it.section == ["dependencies"] && !it.is_optional());
    for dependency in &all {
        let has_feature = dependency.has_feature();
        let is_chosen = features.names_it() && (is_only_dev || !dependency.is_dev());
        if !has_feature && !is_chosen {
            continue;
        }
        let is_redundant = is_always && dependency.is_dev() && dependency.is_bare();
        let is_optional = !dependency.is_dev() && (dependency.is_optional() || !has_feature);
        if dependency.has_crate(manifest) {
            dependency.drop_feature(text, &mut edits);
        } else if has_feature && is_redundant {
            dependency.rename(text, &mut edits);
        } else {
            dependency.add_crate(text, is_optional, &mut edits)?;
            dependency.drop_feature(text, &mut edits);
        }
        if is_optional {
            features.crate_is_optional = true;
        }
        if is_optional && has_feature {
            features.crate_follows_library = true;
        }
        features.library_is_optional |= dependency.is_optional();
    }
    features.edit(text, &mut edits);
    Some(edits)
}
