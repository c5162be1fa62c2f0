//! Versions of Kubernetes, and selectors of them in setup-envtest's syntax: `1.36`, `~1.36.1`, `<1.35`, `1.36!`, `latest`.

use std::fmt;
use std::str::FromStr;

// Pre-releases are not versions here: setup-envtest ignores them.
pub use kbr_host::notation::Version;
use kbr_host::notation::number;

/// Which versions to use, and where to look for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The versions that match.
    pub versions: VersionSet,
    /// Where to look for them first.
    pub lookup: Lookup,
    /// As typed, for messages.
    text: String,
}

/// Where to look for the newest version that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// In the store; in the index only if the store has no match.
    StoreFirst,
    /// In the index as well, even if the store has a match.
    Index,
    /// In the store only.
    StoreOnly,
}

/// The versions that a selector matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSet {
    /// Every version.
    Any,
    /// `1.36.2`.
    Only(Version),
    /// `1.36`, `1.36.x`, `1.36.*`: all patches of a minor version.
    Minor(u32, u32),
    /// `~1.36.2`: this patch and later ones of the same minor version.
    From(Version),
    /// `<1.36.2`; without a patch, all versions before the minor version.
    Before(u32, u32, Option<u32>),
    /// `<=1.36.2`; without a patch, the whole minor version as well.
    UpTo(u32, u32, Option<u32>),
}

impl VersionSet {
    /// Whether `version` is one of these.
    pub fn contains(&self, version: Version) -> bool {
        let minor = (version.major, version.minor);
        match *self {
            VersionSet::Any => true,
            VersionSet::Only(only) => version == only,
            VersionSet::Minor(major, of) => minor == (major, of),
            VersionSet::From(first) => version.same_minor(first) && version.patch >= first.patch,
            VersionSet::Before(major, of, patch) => {
                minor < (major, of)
                    || minor == (major, of) && patch.is_some_and(|end| version.patch < end)
            }
            VersionSet::UpTo(major, of, patch) => {
                minor < (major, of)
                    || minor == (major, of) && patch.is_none_or(|end| version.patch <= end)
            }
        }
    }

    /// The only version that it can match.
    pub fn only(&self) -> Option<Version> {
        match *self {
            VersionSet::Only(version) => Some(version),
            _ => None,
        }
    }

    /// Whether `version`, or another patch of its minor version, is what the selector asks for.
    pub fn accepts_minor_of(&self, version: Version) -> bool {
        match *self {
            VersionSet::Only(wanted) | VersionSet::From(wanted) => version.same_minor(wanted),
            _ => self.contains(version),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The empty text is `latest`, so that a script may pass a variable that is not set.
impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (versions, lookup) = match text {
            "" | "latest" => (VersionSet::Any, Lookup::Index),
            "latest-on-disk" => (VersionSet::Any, Lookup::StoreOnly),
            _ => expression(text).ok_or_else(|| expected(text))?,
        };
        let text = if text.is_empty() { "latest" } else { text }.to_owned();
        Ok(Selector {
            versions,
            lookup,
            text,
        })
    }
}

fn expected(text: &str) -> String {
    let mut expected = String::from(
        "expected X.Y.Z, X.Y, ~X.Y.Z, <X.Y.Z or <=X.Y.Z, each optionally with `!` at the end, or latest or latest-on-disk",
    );
    if text.strip_prefix('v').and_then(expression).is_some() {
        expected.push_str("; leave out the `v`");
    }
    expected
}

fn expression(text: &str) -> Option<(VersionSet, Lookup)> {
    let (text, lookup) = match text.strip_suffix('!') {
        Some(text) => (text, Lookup::Index),
        None => (text, Lookup::StoreFirst),
    };
    let (operator, text) = ["<=", "<", "~"]
        .into_iter()
        .find_map(|operator| Some((operator, text.strip_prefix(operator)?)))
        .unwrap_or(("", text));
    let (major, minor, patch) = parts(text)?;
    let patch = match patch {
        Some(Patch::Is(patch)) => Some(patch),
        Some(Patch::Any) | None => None,
    };
    let version = |patch| Version {
        major,
        minor,
        patch,
    };
    let versions = match (operator, patch) {
        ("<=", patch) => VersionSet::UpTo(major, minor, patch),
        ("<", patch) => VersionSet::Before(major, minor, patch),
        ("~", patch) => VersionSet::From(version(patch.unwrap_or(0))),
        (_, Some(patch)) => VersionSet::Only(version(patch)),
        (_, None) => VersionSet::Minor(major, minor),
    };
    Some((versions, lookup))
}

enum Patch {
    Is(u32),
    /// `x` or `*`.
    Any,
}

fn parts(text: &str) -> Option<(u32, u32, Option<Patch>)> {
    let mut parts = text.split('.');
    let (major, minor) = (number(parts.next()?)?, number(parts.next()?)?);
    let patch = match parts.next() {
        None => None,
        Some("x" | "*") => Some(Patch::Any),
        Some(patch) => Some(Patch::Is(number(patch)?)),
    };
    parts.next().is_none().then_some((major, minor, patch))
}

#[cfg(test)]
mod tests;
