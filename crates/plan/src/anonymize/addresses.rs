//! Made-up IP addresses: two that have a prefix in common still do, so networks still contain their addresses (as Crypto-PAn does).

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::secrets::key::Key;

/// Made-up addresses.
pub struct Addresses {
    key: Key,
    made: RefCell<HashMap<IpAddr, IpAddr>>,
}

impl Addresses {
    /// With a random key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new() -> anyhow::Result<Addresses> {
        Ok(Addresses {
            key: Key::random()?,
            made: RefCell::default(),
        })
    }

    /// How many addresses were replaced.
    pub fn count(&self) -> usize {
        self.made.borrow().len()
    }

    /// The address or network instead of one. `None` if the text is neither, or one that says nothing: that of the loopback, or of any host.
    pub fn of(&self, text: &str) -> Option<String> {
        if let Some((network, length)) = text.split_once('/') {
            let (network, length) = (network.parse().ok()?, length.parse().ok()?);
            let other = masked(self.address(network)?, length)?;
            return Some(format!("{other}/{length}"));
        }
        Some(self.address(text.parse().ok()?)?.to_string())
    }

    fn address(&self, address: IpAddr) -> Option<IpAddr> {
        let is_special = match address {
            IpAddr::V4(it) => it.is_loopback() || it.is_unspecified() || it.is_broadcast(),
            IpAddr::V6(it) => it.is_loopback() || it.is_unspecified(),
        };
        if is_special {
            return None;
        }
        if let Some(made) = self.made.borrow().get(&address) {
            return Some(*made);
        }
        let made = match address {
            IpAddr::V4(it) => {
                let bits = u128::from(it.to_bits()) << 96;
                let made = self.bits(bits, kept(it), 32) >> 96;
                Ipv4Addr::from_bits(u32::try_from(made).ok()?).into()
            }
            IpAddr::V6(it) => Ipv6Addr::from_bits(self.bits(it.to_bits(), 16, 128)).into(),
        };
        self.made.borrow_mut().insert(address, made);
        Some(made)
    }

    /// Changes the bits from `first` to `end`, counted from the highest one: each depends on those before it.
    fn bits(&self, bits: u128, first: u32, end: u32) -> u128 {
        (first..end).fold(bits, |made, at| {
            let before = if at == 0 { 0 } else { bits >> (128 - at) };
            let hash = self
                .key
                .hmac(&[&[u8::try_from(at).unwrap_or(0)], &before.to_be_bytes()]);
            made ^ u128::from(hash[0] & 1) << (127 - at)
        })
    }
}

/// The bits that say what an address is for: a private one stays private, and another one stays in its eighth.
fn kept(address: Ipv4Addr) -> u32 {
    match address.octets() {
        [192, 168, ..] | [169, 254, ..] => 16,
        [172, 16..=31, ..] => 12,
        [100, 64..=127, ..] => 10,
        _ => 8,
    }
}

fn masked(address: IpAddr, length: u32) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(it) => {
            let mask = u32::MAX
                .checked_shl(32_u32.checked_sub(length)?)
                .unwrap_or(0);
            Ipv4Addr::from_bits(it.to_bits() & mask).into()
        }
        IpAddr::V6(it) => {
            let mask = u128::MAX
                .checked_shl(128_u32.checked_sub(length)?)
                .unwrap_or(0);
            Ipv6Addr::from_bits(it.to_bits() & mask).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses_and_a_private_one_stays_private() {
        let addresses = Addresses::new().unwrap();
        let of = |text: &str| addresses.of(text).unwrap();
        let network = of("10.244.3.0/24");
        let start = network.strip_suffix("0/24").unwrap();
        assert!(start.starts_with("10."));
        let hosts = ["10.244.3.1", "10.244.3.2", "10.244.3.254"].map(of);
        assert!(
            hosts.iter().all(|it| it.starts_with(start)),
            "{hosts:?} {network}"
        );
        assert!(hosts[0] != hosts[1] && hosts[1] != hosts[2]);
        assert_eq!(of("10.244.3.1"), hosts[0]);
        assert_eq!(addresses.count(), 4);
        for (text, start) in [
            ("192.168.1.2", "192.168."),
            ("172.20.1.2", "172."),
            ("fd00::1", "fd00:"),
        ] {
            assert!(of(text).starts_with(start));
        }
        let many = (0..200).map(|it| of(&format!("8.8.4.{it}")));
        assert_eq!(many.collect::<std::collections::HashSet<_>>().len(), 200);
        assert!(of("fd00:1::/64").ends_with("::/64"));
        assert_eq!(of("10.0.0.0/8"), "10.0.0.0/8");
        assert_eq!(of("1.2.3.4/0"), "0.0.0.0/0");
    }

    #[test]
    fn what_is_not_an_address_or_says_nothing_stays() {
        let addresses = Addresses::new().unwrap();
        for text in [
            "127.0.0.1",
            "0.0.0.0",
            "0.0.0.0/0",
            "::",
            "::1",
            "1.2.3",
            "10.0.0.0/33",
            "a/b",
            "",
        ] {
            assert_eq!(addresses.of(text), None, "{text}");
        }
    }
}
