//! IP addresses and CIDRs: the libraries `ip.go` and `cidr.go` in `pkg/cel/library` of apiserver.

use std::net::IpAddr;

use super::super::super::data::Data;
use super::super::super::outcome::{Outcome, Stop, failed};

/// Calls a function of these libraries; `None` if it is not one.
pub fn call(name: &str, arguments: &[Data]) -> Option<Outcome> {
    let bool = |value| Ok(Data::Bool(value));
    let number = |value: u8| Ok(Data::Int(value.into()));
    Some(match (name, arguments) {
        ("isIP", [Data::Text(text)]) => bool(address(text).is_some()),
        ("isCIDR", [Data::Text(text)]) => bool(range(text).is_some()),
        ("ip", [Data::Text(text)]) => address(text).map_or_else(unreadable, |it| Ok(Data::Ip(it))),
        ("cidr", [Data::Text(text)]) => {
            range(text).map_or_else(unreadable, |(ip, bits)| Ok(Data::Cidr(ip, bits)))
        }
        ("string", [Data::Ip(ip)]) => Ok(Data::text(&ip.to_string())),
        ("string", [Data::Cidr(ip, bits)]) => Ok(Data::text(&format!("{ip}/{bits}"))),
        ("family", [Data::Ip(ip)]) => number(if ip.is_ipv4() { 4 } else { 6 }),
        ("isUnspecified", [Data::Ip(ip)]) => bool(ip.is_unspecified()),
        ("isLoopback", [Data::Ip(ip)]) => bool(ip.is_loopback()),
        ("ip", [Data::Cidr(ip, _)]) => Ok(Data::Ip(*ip)),
        ("prefixLength", [Data::Cidr(_, bits)]) => number(*bits),
        ("masked", [Data::Cidr(ip, bits)]) => Ok(Data::Cidr(masked(*ip, *bits), *bits)),
        ("containsIP" | "containsCIDR", [Data::Cidr(ip, bits), other]) => {
            let is_ip = name == "containsIP";
            let other = match other {
                Data::Ip(other) if is_ip => Some((*other, length(*other))),
                Data::Cidr(other, bits) if !is_ip => Some((*other, *bits)),
                Data::Text(text) if is_ip => address(text).map(|other| (other, length(other))),
                Data::Text(text) => range(text),
                _ => return Some(Err(Stop::Unknown)),
            };
            let Some((other, inner)) = other else {
                return Some(unreadable());
            };
            let same = ip.is_ipv4() == other.is_ipv4();
            bool(same && *bits <= inner && masked(*ip, *bits) == masked(other, *bits))
        }
        _ => return None,
    })
}

/// The address; `None` if it is not one, has a zone, or is an IPv4 address in IPv6.
fn address(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    let is_mapped = matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some());
    (!is_mapped).then_some(ip)
}

/// The address and the length of the prefix.
fn range(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.rsplit_once('/')?;
    let ip = address(ip)?;
    let is_number = bits.bytes().all(|digit| digit.is_ascii_digit());
    let is_plain = is_number && (bits == "0" || !bits.starts_with('0'));
    let bits = bits.parse().ok().filter(|_| is_plain)?;
    (bits <= length(ip)).then_some((ip, bits))
}

/// How many bits an address has.
fn length(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

/// The address without the bits after its prefix.
fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    let rest = u32::from(length(ip).saturating_sub(bits));
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(rest).unwrap_or_default();
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(rest).unwrap_or_default();
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

fn unreadable() -> Outcome {
    failed("parse error during conversion from string")
}
