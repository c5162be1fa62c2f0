//! The encodings around values: base64 and gzip.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::{
    GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD,
};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// The most that a compressed value is unpacked to. A Secret has at most 1 MiB, so a Helm release with more is a bomb.
const UNPACKED: u64 = 64 << 20;
/// The shortest text that is taken for base64. Shorter ones are words.
const SHORTEST: usize = 16;

/// What a base64 text contains, and the alphabet that it is written in. `None` if it rather is a word or a path.
pub fn base64(text: &str) -> Option<(Vec<u8>, &'static GeneralPurpose)> {
    let has = |is: fn(&char) -> bool| text.chars().any(|c| is(&c));
    let is_mixed =
        has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase) && has(char::is_ascii_digit);
    let is_likely = text.ends_with('=') || is_mixed && !text.starts_with('/');
    if text.len() < SHORTEST || !is_likely {
        return None;
    }
    [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD]
        .into_iter()
        .find_map(|engine| Some((engine.decode(text).ok()?, engine)))
}

/// The text in standard base64, however short.
pub fn base64_text(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

/// The content in standard base64.
pub fn to_base64(content: impl AsRef<[u8]>) -> String {
    STANDARD.encode(content)
}

/// The content of a part of a token.
pub fn url_base64(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// A part of a token.
pub fn to_url_base64(content: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(content)
}

/// Whether the content is compressed.
pub fn is_gzip(content: &[u8]) -> bool {
    content.starts_with(&[0x1f, 0x8b, 8])
}

/// The content, unpacked. `None` if it is not gzip, damaged, or larger than 64 MiB.
pub fn gunzip(content: &[u8]) -> Option<Vec<u8>> {
    if !is_gzip(content) {
        return None;
    }
    let mut unpacked = Vec::new();
    let mut decoder = GzDecoder::new(content).take(UNPACKED + 1);
    decoder.read_to_end(&mut unpacked).ok()?;
    (unpacked.len() as u64 <= UNPACKED).then_some(unpacked)
}

/// The content, compressed.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(content);
    encoder.finish().unwrap_or_default()
}

/// The text without its percent-encoding (RFC 3986). `None` if it is not UTF-8 then.
pub fn percent_decode(text: &str) -> Option<String> {
    let (mut decoded, mut rest) = (Vec::new(), text.as_bytes());
    while let [byte, after @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let code = match after {
            [high, low, ..] if *byte == b'%' && high.is_ascii_hexdigit() => hex(&[*high, *low]),
            _ => None,
        };
        decoded.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(decoded).ok()
}

/// The text with percent-encoding of all but unreserved characters.
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', hex_digit(byte >> 4), hex_digit(byte & 15)]);
        }
    }
    encoded
}

fn hex_digit(four_bits: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(four_bits)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_paths_are_not_base64() {
        for text in [
            "deployments-apps",
            "/usr/Local/bin1/",
            "short12A",
            "team/project/one",
        ] {
            assert!(base64(text).is_none(), "{text}");
        }
        let value = b"a long value \xff\xfe?";
        for engine in [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let (decoded, found) = base64(&engine.encode(value)).unwrap();
            assert_eq!(decoded, value);
            assert_eq!(found.encode(value), engine.encode(value));
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        assert_eq!(gunzip(&gzip(b"abc")).unwrap(), b"abc");
        assert_eq!(gunzip(b"abc"), None);
        assert_eq!(gunzip(&gzip(b"abc")[..15]), None);
        assert_eq!(gunzip(&gzip(&vec![0; (64 << 20) + 1])), None);
    }

    #[test]
    fn percent_encoding_is_reversed() {
        assert_eq!(percent_encode("a@/é~"), "a%40%2F%C3%A9~");
        assert_eq!(percent_decode("a%40%2f%C3%A9~%%4").unwrap(), "a@/é~%%4");
        assert_eq!(percent_decode("%ff"), None);
    }
}
