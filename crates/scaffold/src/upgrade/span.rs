//! The two releases of an upgrade.

use kbr_host::notation::Version;

/// Where an upgrade begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// `0.1.0`: the release that the project comes from.
    pub from: &'a str,
    /// `0.2.0`: the release that it is upgraded to.
    pub to: &'a str,
}

impl Span<'_> {
    /// Whether a change that was made in `release` is part of the upgrade.
    pub fn includes(self, release: &str) -> bool {
        let number = Version::of_release;
        number(self.from) < number(release) && number(release) <= number(self.to)
    }
}

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
