//! How values are written: digests in hexadecimal, and versions of three numbers.

use std::fmt::{self, Write as _};
use std::str::FromStr;

/// The bytes in hexadecimal, in lower case.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

/// A version of Kubernetes or of kbr, without what marks a pre-release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 1 in 1.37.2.
    pub major: u32,
    /// 37 in 1.37.2.
    pub minor: u32,
    /// 2 in 1.37.2.
    pub patch: u32,
}

impl Version {
    /// Whether both have the same minor version: `1.36.2` and `1.36.3`.
    pub fn same_minor(self, other: Version) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// The version of a release or of its pre-releases: 0.2.0 for `0.2.0-rc.1`.
    pub fn of_release(text: &str) -> Option<Self> {
        let (numbers, _) = text.split_once(['-', '+']).unwrap_or((text, ""));
        numbers.parse().ok()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// `1.36.2`, with nothing before or after it.
impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        match numbers.as_deref() {
            Some(&[major, minor, patch]) => Ok(Version {
                major,
                minor,
                patch,
            }),
            _ => Err(format!("`{text}` is not a version such as 1.36.2")),
        }
    }
}

/// Decimal digits without leading zeros.
pub fn number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    (is_number && !leading_zero).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn a_version_has_three_numbers_and_a_release_may_have_more() {
        let version = Version::of_release("0.10.2-rc.1").unwrap();
        assert_eq!(version.to_string(), "0.10.2");
        assert!(version > "0.9.12".parse().unwrap());
        assert!(version.same_minor("0.10.0".parse().unwrap()));
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "1.2.03",
            "1.2.",
            "1.2.3-rc.1",
            "1.2.+3",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
        assert_eq!(Version::of_release("1.2"), None);
    }
}
