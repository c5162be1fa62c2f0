//! Versions of an API: `v1`, `v2beta3`, `v1alpha1`.

use std::cmp::Reverse;

/// Whether `version` is an API version by Kubernetes' rule: `v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?`.
pub fn is_valid(version: &str) -> bool {
    parts(version).is_some()
}

/// Kubernetes' order of versions: `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1` > anything else, by name.
pub fn priority(version: &str) -> (u8, u64, u64, Reverse<&str>) {
    let number = |digits: &str| digits.parse().ok();
    let parsed = || {
        let (stage, major, minor) = parts(version)?;
        Some((stage, number(major)?, number(minor)?))
    };
    let (stage, major, minor) = parsed().unwrap_or_default();
    (stage, major, minor, Reverse(version))
}

/// The stage, 3 for a stable version, and the digits of both numbers.
fn parts(version: &str) -> Option<(u8, &str, &str)> {
    let rest = version.strip_prefix('v')?;
    let is_number = |text: &str| {
        !text.starts_with('0') && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (stage, major, minor) = if let Some((major, minor)) = rest.split_once("alpha") {
        (1, major, minor)
    } else if let Some((major, minor)) = rest.split_once("beta") {
        (2, major, minor)
    } else {
        return is_number(rest).then_some((3, rest, "0"));
    };
    (is_number(major) && is_number(minor)).then_some((stage, major, minor))
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
