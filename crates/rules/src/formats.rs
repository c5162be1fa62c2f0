//! Validates the formats of strings like an API server.

use std::net::IpAddr;

/// An example of a format: one that an API server knows, or one that Rust types have in addition.
#[must_use]
pub fn example(format: &str) -> Option<&'static str> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => "507f1f77bcf86cd799439011",
        "uri" | "url" | "iri" => "https://example.com",
        "email" => "user@example.com",
        "hostname" | "k8slongname" => "example.com",
        "k8sshortname" | "password" => "example",
        "ipv4" | "ip" => "10.0.0.1",
        "ipv6" => "2001:db8::1",
        "cidr" => "10.0.0.0/16",
        "mac" => "02:00:00:00:00:01",
        "uuid" => "00000000-0000-0000-0000-000000000000",
        "uuid3" => "00000000-0000-3000-8000-000000000000",
        "uuid4" => "00000000-0000-4000-8000-000000000000",
        "uuid5" => "00000000-0000-5000-8000-000000000000",
        "isbn" | "isbn10" => "0306406152",
        "isbn13" => "9780306406157",
        "creditcard" => "4111111111111111",
        "ssn" => "123-45-6789",
        "hexcolor" => "#336699",
        "rgbcolor" => "rgb(51,102,153)",
        "byte" => "ZXhhbXBsZQ==",
        "date" => "2026-01-01",
        "datetime" => "2026-01-01T00:00:00Z",
        "partialdatetime" => "2026-01-01T00:00:00",
        "time" => "00:00:00Z",
        "duration" => "10s",
        _ => return None,
    })
}

/// The formats that kube-apiserver 1.37 checks.
#[must_use]
pub fn is_known(format: &str) -> bool {
    const KNOWN: [&str; 24] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
    ];
    let format = format.replace('-', "");
    KNOWN.contains(&&*format) || ["k8sshortname", "k8slongname"].contains(&&*format)
}

/// Whether a string has a format. Only formats that are easy to check are validated; for others it returns `true`.
pub fn matches(format: &str, text: &str) -> bool {
    let date = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        let digits = |text: &str, count| {
            text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2)
            && (1..=12).contains(&month.parse().unwrap_or(0)) && (1..=31).contains(&day.parse().unwrap_or(0)))
    };
    match format.replace('-', "").as_str() {
        "ipv4" => text.contains('.') && address(text).is_some(),
        "ipv6" => text.contains(':') && address(text).is_some(),
        "date" => date(text),
        "datetime" => text
            .split_once(['T', 't'])
            .is_some_and(|(day, time)| date(day) && time.len() >= 9),
        "duration" => is_duration(text),
        "cidr" => text.split_once('/').is_some_and(|(address, bits)| {
            let most = if address.contains(':') { 128 } else { 32 };
            self::address(address).is_some() && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
        }),
        "mac" => text.split([':', '-', '.']).all(is_hexadecimal) && text.len() >= 14,
        "bsonobjectid" => text.len() == 24 && is_hexadecimal(text),
        "hexcolor" => is_hexadecimal(text.strip_prefix('#').unwrap_or(text)),
        "rgbcolor" => text.starts_with("rgb("),
        "creditcard" | "isbn" | "isbn10" | "isbn13" | "ssn" => {
            text.starts_with(|first: char| first.is_ascii_digit())
        }
        "uuid" | "uuid3" | "uuid4" | "uuid5" => {
            let bare: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
            bare.len() == 32 && bare.iter().all(u8::is_ascii_hexdigit)
        }
        "email" => text
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "uri" => text.contains(':') || text.starts_with('/'),
        "byte" => {
            let characters = text.trim_end_matches('=');
            let padding = text.len() - characters.len();
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
            // For the API server, an empty string is not base64.
            !characters.is_empty()
                && padding <= 2
                && text.len().is_multiple_of(4)
                && characters.bytes().all(allowed)
        }
        _ => true,
    }
}

/// An address as Go's `ParseIPSloppy` reads it: numbers of version 4 may begin with zeros, unless they are the end of a version 6.
fn address(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse().ok().map(IpAddr::V6);
    }
    let short = text
        .split('.')
        .map(|part| match part.trim_start_matches('0') {
            "" if !part.is_empty() => "0",
            short => short,
        });
    let short: Vec<&str> = short.collect();
    short.join(".").parse().ok().map(IpAddr::V4)
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A duration: `1h30m`, `-2.5s` in Go's syntax, or `3 days` with long unit names.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 30] = [
        "ns", "us", "µs", "ms", "s", "m", "h", "d", "w", "nano", "nanos", "micro", "micros",
        "milli", "millis", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes",
        "hour", "hours", "hr", "day", "days", "week", "weeks",
    ];
    let mut rest = text.trim_start_matches(['-', '+']);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let unit = rest
            .trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
        let number = &rest[..rest.len() - unit.len()];
        let unit = unit.trim_start();
        let end = unit
            .find(|character: char| character.is_ascii_digit())
            .unwrap_or(unit.len());
        if number.parse::<f64>().is_err() || !UNITS.contains(&unit[..end].trim_end()) {
            return false;
        }
        rest = &unit[end..];
        parts += 1;
    }
    parts > 0
}
