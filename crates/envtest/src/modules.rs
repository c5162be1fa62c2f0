//! The versions of Kubernetes that kbr can build, each from a Go module.

use super::selector::Version;

/// A Go module, which determines the version of every package that is built.
#[derive(Debug)]
pub struct Module {
    /// The text of `go.mod`.
    pub go_mod: &'static str,
    /// The text of `go.sum`.
    pub go_sum: &'static str,
}

/// The modules of etcd and Kubernetes, one for each minor version, the newest first. There is at least one.
static KUBERNETES: [Module; 2] = [
    Module {
        go_mod: include_str!("control-plane/go.mod"),
        go_sum: include_str!("control-plane/go.sum"),
    },
    Module {
        go_mod: include_str!("control-plane-older/go.mod"),
        go_sum: include_str!("control-plane-older/go.sum"),
    },
];

/// kwok has a module of its own, because it works with every version of Kubernetes here. What it shares with the newest one is there in the
/// same versions, so that Go compiles it once: `releases/align`.
pub static KWOK: Module = Module {
    go_mod: include_str!("kwok/go.mod"),
    go_sum: include_str!("kwok/go.sum"),
};

impl Module {
    /// The version of Kubernetes, without the `v`; empty for [`KWOK`].
    pub fn kubernetes(&self) -> &'static str {
        self.required("k8s.io/kubernetes v").unwrap_or_default()
    }

    /// The version of Go that it needs.
    pub fn go(&self) -> &'static str {
        self.required("go ").unwrap_or_default()
    }

    /// The text up to the next space after `prefix` in the line of the module file that begins with it.
    fn required(&self, prefix: &str) -> Option<&'static str> {
        let mut lines = self.go_mod.lines();
        let rest = lines.find_map(|line| line.trim_start().strip_prefix(prefix))?;
        rest.split_whitespace().next()
    }
}

/// The newest version, which all commands use unless another one is chosen.
pub fn newest() -> &'static Module {
    &KUBERNETES[0]
}

/// The newest version that `accepts` returns true for.
pub fn find(accepts: impl Fn(Version) -> bool) -> Option<(&'static Module, Version)> {
    let mut versions = KUBERNETES.iter().filter_map(|module| {
        let version: Version = module.kubernetes().parse().ok()?;
        Some((module, version))
    });
    versions.find(|(_, version)| accepts(*version))
}

/// Every version that can be built, the newest first.
pub fn versions() -> impl Iterator<Item = &'static str> {
    KUBERNETES.iter().map(Module::kubernetes)
}

/// The minor versions that can be built: `1.37 and 1.36`.
pub fn minors() -> String {
    let minor =
        |version: &'static str| version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    let minors: Vec<&str> = versions().map(minor).collect();
    minors.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_come_from_the_module_files_and_the_newest_is_first() {
        let parsed: Vec<Version> = versions().map(|it| it.parse().unwrap()).collect();
        let [new, old] = parsed[..] else {
            panic!("{parsed:?}");
        };
        assert_eq!((new.major, new.minor), (old.major, old.minor + 1));
        assert_eq!(newest().kubernetes(), new.to_string());
        assert_eq!(minors(), format!("1.{} and 1.{}", new.minor, old.minor));
    }

    #[test]
    fn the_newest_version_that_is_accepted_is_found() {
        let newest = find(|_| true).unwrap().1.minor;
        let older = |than| find(|version| version.minor < than).map(|(_, version)| version.minor);
        assert_eq!(older(newest), Some(newest - 1));
        assert_eq!(older(newest - 1), None);
    }

    #[test]
    fn every_version_needs_the_same_go() {
        for module in &KUBERNETES {
            assert_eq!(module.go(), newest().go());
        }
    }
}
