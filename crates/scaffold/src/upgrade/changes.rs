//! What an upgrade knows of the releases that it passes: names of the library that it changes in the user's code, changes that it
//! leaves to the user, and changes of behaviour that stay switched off.
//!
//! A release that changes one of these adds an entry to [`CHANGES`].

use kbr_host::notation::Version;

/// The two releases of an upgrade.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// `0.3.0`: the release that the project comes from.
    pub from: &'a str,
    /// `0.4.0`: the release that it is upgraded to.
    pub to: &'a str,
}

impl Span<'_> {
    /// Whether a change that was made in `release` is part of the upgrade.
    pub fn includes(self, release: &str) -> bool {
        let number = Version::of_release;
        number(self.from) < number(release) && number(release) <= number(self.to)
    }
}

/// The changes of all releases.
#[derive(Debug)]
pub struct Changes {
    /// Names that the upgrade changes in the user's code.
    pub renamed: &'static [Renamed],
    /// What the upgrade leaves to the user.
    pub noted: &'static [Noted],
    /// Changes of behaviour that may stay switched off.
    pub held: &'static [Held],
}

/// A public name in a module of the library that has another name from one release on.
#[derive(Debug)]
pub struct Renamed {
    /// The first release with the new name.
    pub release: &'static str,
    /// The module: `webhook`.
    pub module: &'static str,
    /// The name before.
    pub from: &'static str,
    /// The name from `release` on.
    pub to: &'static str,
}

/// A change of the library that the compiler rejects, or that nothing reports.
#[derive(Debug)]
pub struct Noted {
    /// The release that made it.
    pub release: &'static str,
    /// Text of a line that it affects.
    pub pattern: &'static str,
    /// A name that the file must contain, too.
    pub with: &'static str,
    /// What the user has to do.
    pub note: &'static str,
}

/// A change of behaviour that stays switched off in a project whose code depends on the behaviour before.
#[derive(Debug)]
pub struct Held {
    /// The release that made it.
    pub release: &'static str,
    /// The path of what the code depends on: `k8s_openapi::api::apps`.
    pub path: &'static str,
    /// The files with the switch.
    pub files: &'static [&'static str],
    /// The texts of the switch: off, and as the release has it.
    pub switch: &'static [(&'static str, &'static str)],
    /// What the user has to do to switch it on.
    pub note: &'static str,
}

/// The changes of all releases since the first.
pub const CHANGES: Changes = Changes {
    renamed: &[],
    noted: &[],
    held: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_includes_the_releases_after_the_first_up_to_the_last() {
        let (from, to) = ("0.1.0", "0.10.0");
        let included = |release| Span { from, to }.includes(release);
        let releases = ["0.0.9", "0.1.0", "0.2.0", "0.10.0", "0.10.1"];
        assert_eq!(releases.map(included), [false, false, true, true, false]);
    }
}
