//! Platforms as Go calls them, and names made of a version and a platform: `1.36.2-linux-amd64`.

use std::fmt;

use super::assets::{self, PROGRAMS};
use super::selector::Version;

/// Matches every operating system or architecture.
const WILDCARD: &str = "*";

/// An operating system and an architecture; each may be `*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Platform {
    /// As Go names it: `linux`.
    pub os: String,
    /// As Go names it: `amd64`.
    pub arch: String,
}

impl Platform {
    /// The platform of this machine.
    pub fn host() -> Self {
        Platform {
            os: assets::os().to_owned(),
            arch: assets::arch().to_owned(),
        }
    }

    /// Matches every platform.
    pub fn any() -> Self {
        Platform {
            os: WILDCARD.to_owned(),
            arch: WILDCARD.to_owned(),
        }
    }

    /// Whether `other`, which has no `*`, is one of these.
    pub fn matches(&self, other: &Platform) -> bool {
        (self.os == WILDCARD || self.os == other.os)
            && (self.arch == WILDCARD || self.arch == other.arch)
    }

    /// Whether this is one platform, without a `*`.
    pub fn is_concrete(&self) -> bool {
        self.os != WILDCARD && self.arch != WILDCARD
    }

    /// The names of the programs on this platform.
    pub fn programs(&self) -> [String; 3] {
        let suffix = if self.os == "windows" { ".exe" } else { "" };
        PROGRAMS.map(|name| format!("{name}{suffix}"))
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.arch)
    }
}

/// The name of a version's folder in a store.
pub fn folder_name(version: Version, platform: &Platform) -> String {
    format!("{version}-{}-{}", platform.os, platform.arch)
}

/// The version and platform of a folder in a store, if its name has that form.
pub fn parse_folder_name(name: &str) -> Option<(Version, Platform)> {
    let (version, platform) = name.split_once('-')?;
    let (os, arch) = platform.split_once('-')?;
    let platform = Platform {
        os: os.to_owned(),
        arch: arch.to_owned(),
    };
    (is_word(os) && is_word(arch)).then_some((version.parse().ok()?, platform))
}

/// Parses an operating system or architecture of the command line. It becomes a part of a path.
pub fn parse_word(text: &str) -> Result<String, String> {
    if text == WILDCARD || is_word(text) {
        return Ok(text.to_owned());
    }
    Err("expected a name as Go calls it, such as linux, darwin, amd64 or arm64, or `*`".to_owned())
}

fn is_word(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_name_gives_back_its_version_and_platform() {
        for name in [
            "1.36.2-linux-amd64",
            "1.9.0-darwin-arm64",
            "0.0.1-a_b-x86_64",
        ] {
            let (version, platform) = parse_folder_name(name).unwrap();
            assert_eq!(folder_name(version, &platform), name);
        }
    }

    #[test]
    fn other_names_are_skipped() {
        for name in [
            "",
            "k8s",
            "1.36-linux-amd64",
            "1.36.2-linux",
            "1.36.2-linux-",
            "v1.36.2-linux-amd64",
            "somedir-1.36.2-linux-amd64",
            "1.36.2-rc.0-linux-amd64",
            "1.36.2-linux-amd64-2",
            "1.36.2-*-amd64",
            "1.36.2-linux-../..",
            "1.36.2-linux-amd64.old",
        ] {
            assert_eq!(parse_folder_name(name), None, "{name}");
        }
    }

    #[test]
    fn an_argument_cannot_lead_out_of_the_store() {
        for text in ["linux", "amd64", "*", "ppc64le"] {
            assert!(parse_word(text).is_ok(), "{text}");
        }
        for text in ["", "..", "a/b", "a-b", "**", "li nux", "ä"] {
            assert!(parse_word(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wildcard_matches_every_name() {
        let linux = parse_folder_name("1.0.0-linux-amd64").unwrap().1;
        let darwin = parse_folder_name("1.0.0-darwin-amd64").unwrap().1;
        let all_linux = Platform {
            arch: "*".to_owned(),
            ..linux.clone()
        };
        assert!(all_linux.matches(&linux) && !all_linux.matches(&darwin));
        assert!(Platform::any().matches(&darwin) && !linux.matches(&darwin));
        assert!(linux.is_concrete() && !all_linux.is_concrete());
    }

    #[test]
    fn programs_for_windows_have_a_suffix() {
        let windows = parse_folder_name("1.0.0-windows-amd64").unwrap().1;
        assert_eq!(windows.programs()[0], "etcd.exe");
        assert_eq!(Platform::host().programs(), PROGRAMS);
    }
}
