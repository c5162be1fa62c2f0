//! The order of the versions of a kind.

use std::cmp::Reverse;

/// Kubernetes' order of versions: `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1` > anything else, by name.
pub fn priority(version: &str) -> (u8, u64, u64, Reverse<&str>) {
    let parsed = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (major, rest) = rest.split_at(digits);
        let (stage, minor) = match rest {
            "" => (3, "0"),
            beta if beta.starts_with("beta") => (2, &beta[4..]),
            alpha => (1, alpha.strip_prefix("alpha")?),
        };
        Some((
            stage,
            number(major)?,
            if rest.is_empty() { 0 } else { number(minor)? },
        ))
    };
    let (stage, major, minor) = parsed().unwrap_or_default();
    (stage, major, minor, Reverse(version))
}

/// A number without leading zeros.
fn number(digits: &str) -> Option<u64> {
    if digits.starts_with('0') {
        None
    } else {
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_kubernetes_order() {
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v01",
            "vbeta1",
        ];
        let mut sorted = expected;
        sorted.sort_unstable();
        sorted.sort_by_key(|version| Reverse(priority(version)));
        assert_eq!(sorted, expected);
    }
}
