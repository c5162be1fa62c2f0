//! Base64 inside a text, also as a part of a longer one: `Basic dXNlcjpwYXNz`, `prefix/dXNlcjpwYXNz`.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The shortest run that can contain eight bytes.
const SHORTEST: usize = 11;

/// The text with what `change` makes of the content of each run of base64, of which only characters that differ are written again. `None` if
/// nothing changes.
pub fn replace(text: &str, change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<String> {
    let (mut made, mut from) = (String::new(), 0);
    let mut start = 0;
    while start < text.len() {
        let length = run_length(&text.as_bytes()[start..]);
        let end = start + length;
        let run = &text[start..end];
        let padding = text[end..].len() - text[end..].trim_start_matches('=').len();
        if let Some(other) = (length >= SHORTEST)
            .then(|| in_run(run, padding, &change))
            .flatten()
        {
            made += &text[from..start];
            made += &other;
            from = end + padding;
        }
        start = end.max(start + 1);
        while !text.is_char_boundary(start) {
            start += 1;
        }
    }
    (from > 0).then(|| made + &text[from..])
}

fn run_length(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| value(*byte).is_none());
    end.unwrap_or(text.len())
}

/// The six bits of a character, of either alphabet.
fn value(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Where base64 begins in a run is not certain after `/`, which separates words, too: each of the four positions is tried that has a reason.
fn in_run(run: &str, padding: usize, change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<String> {
    let separators = run.match_indices(['/', '+', '-', '_']);
    let mut phases = [true, false, false, false];
    separators.for_each(|(at, _)| phases[(at + 1) % 4] = true);
    let (mut run, mut padding) = (run.to_owned(), "=".repeat(padding));
    let mut is_changed = false;
    for phase in (0..4).filter(|phase| phases[*phase]) {
        let content = decode(&run.as_bytes()[phase..]);
        if let Some(other) = change(&content) {
            let is_padded = (run.len() - phase + padding.len()).is_multiple_of(4);
            let encoded = encode(&content, &other, &run[phase..]);
            if other.len() != content.len() && is_padded {
                padding = "=".repeat(encoded.len().next_multiple_of(4) - encoded.len());
            }
            run.replace_range(phase.., &encoded);
            is_changed = true;
        }
    }
    is_changed.then_some(run + &padding)
}

/// What the run contains; bits at its end that are no byte are ignored.
fn decode(run: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(run.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for six in run.iter().filter_map(|byte| value(*byte)) {
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.extend((bits >> count).to_be_bytes().last());
        }
    }
    decoded
}

/// The run of another content. Groups of four characters whose content is the same stay, because what is around a value may be words.
fn encode(old: &[u8], new: &[u8], run: &str) -> String {
    let equal = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let before = old.iter().zip(new).take_while(equal).count() / 3;
    let (mut after, mut end) = (old.len().div_ceil(3), new.len());
    if old.len() == new.len() {
        let same = old.iter().rev().zip(new.iter().rev());
        after = (old.len() - same.take_while(equal).count()).div_ceil(3);
        end = end.min(after * 3);
    }
    let middle = &run[before * 4..(after * 4).min(run.len())];
    let mut alphabet = &STANDARD_NO_PAD;
    if middle.contains(['-', '_']) {
        alphabet = &URL_SAFE_NO_PAD;
    }
    let middle = alphabet.encode(&new[before * 3..end]);
    let rest = run.get(after * 4..).unwrap_or_default();
    format!("{}{middle}{rest}", &run[..before * 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces `secret` by `public` in the content, and `long` by `longer`.
    fn replaced(text: &str) -> Option<String> {
        replace(text, |content| {
            // Each byte as a character.
            let text: String = content.iter().map(|byte| char::from(*byte)).collect();
            let other = text.replace("a secret!", "no sense?");
            let other = other.replace("a long one", "an even longer one");
            let bytes = other.chars().filter_map(|c| u8::try_from(c).ok());
            (other != text).then(|| bytes.collect())
        })
    }

    fn base64(text: &str) -> String {
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
    }

    #[test]
    fn base64_is_found_at_each_position() {
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "a", "ab", "abc"] {
                let text = |word| {
                    let run = base64(&format!("{before}{word}{after}"));
                    format!("é x/{run} é x-y/{run}")
                };
                assert_eq!(replaced(&text("a secret!")).unwrap(), text("no sense?"));
            }
        }
        assert_eq!(
            replaced(&format!("a/b-c_{}", base64("another secret"))),
            None
        );
        assert_eq!(replaced("é"), None);
    }

    #[test]
    fn another_length_changes_what_follows() {
        let text = |word| format!("x/{}", base64(&format!("a{word}")).trim_end_matches('='));
        let other = replaced(&text("a long one")).unwrap();
        assert_eq!(other, text("an even longer one"));
        let padded = |word| base64(&format!("ab{word}")) + " x";
        let other = replaced(&padded("a long one")).unwrap();
        assert_eq!(other, padded("an even longer one"));
    }

    #[test]
    fn only_what_differs_is_written_again() {
        let run = base64("a secret!");
        let word = base64("no sense?");
        let other = replaced(&format!("my-app_x{run}")).unwrap();
        assert_eq!(other, format!("my-app_x{word}"));
    }
}
