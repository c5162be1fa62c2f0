//! Fakes of texts without a structure, of numbers, and of bytes: each character becomes another one of its class.

use std::net::IpAddr;

use super::fakes::Fakes;
use super::key::Stream;

const DIGITS: &[u8] = b"0123456789";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const MARKS: &[u8] = b"!#$%&()*+,-./:;<=>?@[]^_{|}~";
/// What a number may end with: the units of quantities and durations.
const UNITS: [&str; 21] = [
    "ns", "us", "ms", "s", "m", "h", "d", "w", "Ki", "Mi", "Gi", "Ti", "Pi", "k", "K", "M", "G",
    "T", "P", "%", "MB",
];

/// As many other bytes.
pub fn bytes(fakes: &mut Fakes, value: &[u8]) -> Vec<u8> {
    fakes.unique(value, |stream, _| stream.bytes(value.len()))
}

/// Letters become letters, digits digits, and everything else stays. A text without letters and digits gets other punctuation.
pub fn text(fakes: &mut Fakes, value: &str) -> String {
    let has_words = value.contains(char::is_alphanumeric);
    let has_marks = value.contains(|c: char| c.is_ascii_punctuation());
    if !has_words && (!has_marks || value.len() < 4) {
        return value.to_owned();
    }
    of_characters(fakes, value, |stream, c| match c {
        c if !has_words && c.is_ascii_punctuation() => stream.one(MARKS),
        c => same_class(stream, c),
    })
}

/// A fake of a value with one of the shapes that are recognized by their characters: a number, a quantity, an address, a UUID, or
/// hexadecimal digits.
pub fn recognized(fakes: &mut Fakes, value: &str) -> Option<String> {
    if is_number(value) || is_quantity(value) {
        return Some(number(fakes, value));
    }
    if let Ok(address) = value.parse() {
        return Some(match address {
            IpAddr::V4(_) => number(fakes, value),
            IpAddr::V6(_) => of_characters(fakes, value, hexadecimal),
        });
    }
    if is_uuid(value) {
        return Some(uuid(fakes, value));
    }
    is_hexadecimal(value).then(|| of_characters(fakes, value, hexadecimal))
}

fn of_characters(
    fakes: &mut Fakes,
    value: &str,
    other: impl Fn(&mut Stream, char) -> char,
) -> String {
    let made = fakes.unique(value.as_bytes(), |stream, _| {
        let made: String = value.chars().map(|c| other(stream, c)).collect();
        made.into_bytes()
    });
    // It was made of characters.
    String::from_utf8(made).unwrap_or_default()
}

fn same_class(stream: &mut Stream, c: char) -> char {
    let from = |stream: &mut Stream, first: u32, count| {
        char::from_u32(first + stream.below(count)).unwrap_or(c)
    };
    match c {
        '0'..='9' => stream.one(DIGITS),
        'a'..='z' => stream.one(LOWER),
        'A'..='Z' => stream.one(UPPER),
        c if c.is_ascii() || !c.is_alphanumeric() => c,
        // Letters of as many bytes: of Latin, Chinese and old Chinese.
        c if c.len_utf8() == 2 => from(stream, 0xe0, 0x17),
        c if c.len_utf8() == 3 => from(stream, 0x4e00, 0x5000),
        _ => from(stream, 0x2_0000, 0xa000),
    }
}

fn hexadecimal(stream: &mut Stream, c: char) -> char {
    match c {
        '0'..='9' | 'a'..='f' => stream.one(b"0123456789abcdef"),
        'A'..='F' => stream.one(b"0123456789ABCDEF"),
        c => c,
    }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    is_digits(whole) && is_digits(fraction)
}

/// `1h30m`, `10Gi`, `50%`.
fn is_quantity(value: &str) -> bool {
    let mut rest = value;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = after.trim_start_matches(|c: char| !c.is_ascii_digit());
        let has_digit = rest.starts_with(|c: char| c.is_ascii_digit());
        if !has_digit || !UNITS.contains(&&after[..after.len() - unit.len()]) {
            return false;
        }
        rest = unit;
    }
    !value.is_empty()
}

fn is_uuid(value: &str) -> bool {
    let is_part = |part: &str| part.bytes().all(|c| c.is_ascii_hexdigit());
    let lengths = value.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && value.split('-').all(is_part)
}

fn is_hexadecimal(value: &str) -> bool {
    let all = |is: fn(u8) -> bool| value.bytes().all(is);
    let any = |is: fn(&u8) -> bool| value.bytes().any(|c| is(&c));
    let is_one_case = !(any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase));
    let is_mixed = any(u8::is_ascii_digit) && any(u8::is_ascii_alphabetic);
    let is_long = value.len() >= 32 || value.len() >= 8 && is_mixed;
    is_long && value.len().is_multiple_of(2) && is_one_case && all(|c| c.is_ascii_hexdigit())
}

/// The version and the variant stay: they say how the rest is read.
fn uuid(fakes: &mut Fakes, value: &str) -> String {
    let kept = |at: usize| at == 14 || at == 19;
    let made = fakes.unique(value.as_bytes(), |stream, _| {
        let other = |(at, c)| {
            if kept(at) {
                return c;
            }
            hexadecimal(stream, c)
        };
        let made: String = value.chars().enumerate().map(other).collect();
        made.into_bytes()
    });
    String::from_utf8(made).unwrap_or_default()
}

/// Each run of digits becomes one of the same length that is not larger, so a port stays a port. If there are too few of these, any digits
/// do.
fn number(fakes: &mut Fakes, value: &str) -> String {
    let made = fakes.unique(value.as_bytes(), |stream, attempt| {
        let (mut made, mut is_first, mut is_tight) = (String::new(), true, true);
        for c in value.chars() {
            let Some(digit) = c.to_digit(10) else {
                (is_first, is_tight) = (true, true);
                made.push(c);
                continue;
            };
            let lowest = u32::from(is_first && digit > 0);
            let highest = if is_tight && attempt < 100 { digit } else { 9 };
            let other = lowest + stream.below(highest + 1 - lowest);
            (is_first, is_tight) = (false, is_tight && other == digit);
            made.extend(char::from_digit(other, 10));
        }
        made.into_bytes()
    });
    String::from_utf8(made).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(c: char) -> char {
        match c {
            '0'..='9' => '0',
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            c if c.is_ascii() => c,
            c => char::from_digit(u32::try_from(c.len_utf8()).unwrap(), 10).unwrap(),
        }
    }

    #[test]
    fn each_character_keeps_its_class() {
        let mut fakes = Fakes::new(|_, text, _| text.to_owned()).unwrap();
        for value in ["pAss-w0rd_!\t\n", "é漢𠀀x", "{{ .x }}", "a"] {
            let fake = text(&mut fakes, value);
            assert_ne!(fake, value);
            assert_eq!(fake.len(), value.len());
            let classes = |text: &str| text.chars().map(class).collect::<String>();
            assert_eq!(classes(&fake), classes(value));
        }
        assert_eq!(text(&mut fakes, " \n"), " \n");
        assert_eq!(text(&mut fakes, "---"), "---");
        assert_ne!(text(&mut fakes, "!$%&/()="), "!$%&/()=");
    }

    #[test]
    fn numbers_addresses_and_ids_stay_such() {
        for _ in 0..100 {
            let mut fakes = Fakes::new(|_, text, _| text.to_owned()).unwrap();
            let mut fake = |value: &str| recognized(&mut fakes, value).unwrap();
            assert!(fake("65535").parse::<u16>().unwrap() >= 10000);
            assert!(fake("-0.25").starts_with("-0."));
            assert!(fake("255.0.10.1").parse::<IpAddr>().is_ok());
            assert!(fake("fe80::1").parse::<IpAddr>().is_ok());
            assert!(is_quantity(&fake("1h30m")) && is_quantity(&fake("512Mi")));
            let fake = fake("c9bf9e57-1685-4c89-bafb-ff5af830be8a");
            assert!(is_uuid(&fake) && fake[14..].starts_with('4') && fake[19..].starts_with('b'));
        }
        let mut fakes = Fakes::new(|_, text, _| text.to_owned()).unwrap();
        assert!(is_hexadecimal(
            &recognized(&mut fakes, "0a1b2c3d4e5f").unwrap()
        ));
        for other in ["facade", "Ab12cd34", "1x", "10 Gi", "", "word"] {
            assert_eq!(recognized(&mut fakes, other), None, "{other}");
        }
    }
}
