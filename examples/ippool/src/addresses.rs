//! The addresses of a pool.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    ops::RangeInclusive,
    str::FromStr,
};

use anyhow::{Context as _, ensure};
use api::tsi::v1alpha1::{IPFamily, IPPool};

/// All addresses of a CIDR, the first and the last included: a pool is not a subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cidr {
    V4(RangeInclusive<Ipv4Addr>),
    V6(RangeInclusive<Ipv6Addr>),
}

/// The CIDRs of a pool, in its order.
///
/// # Errors
/// For one that the API server would reject today.
pub fn cidrs(pool: &IPPool) -> anyhow::Result<Vec<Cidr>> {
    let parse = |text: &String| {
        text.parse()
            .with_context(|| format!("`{text}` is not a CIDR"))
    };
    pool.spec.cidrs.iter().map(parse).collect()
}

impl Cidr {
    /// The addresses, in order.
    pub fn addresses(&self) -> Box<dyn Iterator<Item = IpAddr> + Send> {
        match self {
            Self::V4(range) => Box::new(range.clone().map(IpAddr::V4)),
            Self::V6(range) => Box::new(range.clone().map(IpAddr::V6)),
        }
    }

    /// Whether this is one of its addresses.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4(range), IpAddr::V4(address)) => range.contains(&address),
            (Self::V6(range), IpAddr::V6(address)) => range.contains(&address),
            _ => false,
        }
    }

    /// Whether its addresses are of this family; if none is given, they are.
    pub fn is(&self, family: Option<IPFamily>) -> bool {
        match self {
            Self::V4(_) => family != Some(IPFamily::IPv6),
            Self::V6(_) => family != Some(IPFamily::IPv4),
        }
    }

    /// How many addresses it has; one too few for `::/0`, whose number does not fit.
    pub fn size(&self) -> u128 {
        let less_one = match self {
            Self::V4(range) => u128::from(range.end().to_bits() - range.start().to_bits()),
            Self::V6(range) => range.end().to_bits() - range.start().to_bits(),
        };
        less_one.saturating_add(1)
    }
}

impl FromStr for Cidr {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (address, prefix) = text.split_once('/').context("it has no prefix")?;
        let (address, prefix): (IpAddr, u32) = (address.parse()?, prefix.parse()?);
        let (bits, first) = match address {
            IpAddr::V4(first) => (32, first.to_bits().into()),
            IpAddr::V6(first) => (128, first.to_bits()),
        };
        ensure!(prefix <= bits, "its prefix is longer than {bits}");
        let host = u128::MAX.checked_shr(128 - (bits - prefix)).unwrap_or(0);
        ensure!(first & host == 0, "it has bits set after its prefix");
        Ok(match address {
            IpAddr::V4(first) => {
                Self::V4(first..=first | Ipv4Addr::from_bits(u32::try_from(host)?))
            }
            IpAddr::V6(first) => Self::V6(first..=first | Ipv6Addr::from_bits(host)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_cidr_has_all_its_addresses_in_order() {
        let all: Vec<_> = cidr("10.0.0.252/30").addresses().collect();
        let expected = ["10.0.0.252", "10.0.0.253", "10.0.0.254", "10.0.0.255"];
        assert_eq!(all, expected.map(address));
        let all: Vec<_> = cidr("2001:db8::/127").addresses().collect();
        assert_eq!(all, ["2001:db8::", "2001:db8::1"].map(address));
    }

    #[test]
    fn the_largest_cidrs_end_with_the_last_address() {
        for (text, size, last) in [
            ("255.255.255.255/32", 1, "255.255.255.255"),
            ("0.0.0.0/0", 1 << 32, "255.255.255.255"),
            ("2001:db8::/64", 1 << 64, "2001:db8::ffff:ffff:ffff:ffff"),
            ("::/0", u128::MAX, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            let cidr = cidr(text);
            assert_eq!(cidr.size(), size, "{text}");
            assert!(cidr.contains(address(last)), "{text}");
        }
    }

    #[test]
    fn a_cidr_contains_no_address_beside_it_nor_of_the_other_family() {
        let small = cidr("10.0.0.8/29");
        for other in ["10.0.0.7", "10.0.0.16", "::a00:8"] {
            assert!(!small.contains(address(other)), "{other}");
        }
        assert!(small.is(None) && small.is(Some(IPFamily::IPv4)));
        assert!(!small.is(Some(IPFamily::IPv6)));
    }

    #[test]
    fn what_is_no_cidr_is_rejected() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.1/24",
            "2001:db8::1/64",
            "a/8",
            "::/129",
        ] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}
