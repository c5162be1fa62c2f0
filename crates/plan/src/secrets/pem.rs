//! PEM (RFC 7468) inside a text: certificates and keys are made again, other blocks keep their length.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fakes::{Fakes, Treatment};
use super::plain;

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";

/// A block: where it, its label and its body are in the text.
struct Block {
    whole: Range<usize>,
    label: Range<usize>,
    body: Range<usize>,
}

/// The content of each certificate in a text.
pub fn certificates(text: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(block) = next(text, from) {
        from = block.whole.end;
        if text[block.label].ends_with("CERTIFICATE") {
            found.extend(content(&text[block.body]));
        }
    }
    found
}

/// The text with a fake of each block, and of the text between them. `None` if it has no blocks.
pub fn fake(fakes: &mut Fakes, text: &str, treatment: Treatment) -> Option<String> {
    let (mut made, mut from) = (String::with_capacity(text.len()), 0);
    while let Some(block) = next(text, from) {
        made += &around(fakes, &text[from..block.whole.start], treatment);
        from = block.whole.end;
        let whole = &text[block.whole.clone()];
        if treatment.searched {
            fakes.search(whole.as_bytes());
        }
        if let Some(Ok(known)) = fakes.known(whole.as_bytes()).map(|it| str::from_utf8(it)) {
            made += known;
            continue;
        }
        let fake = block_fake(fakes, text, &block, treatment);
        fakes.remember(whole.as_bytes(), fake.as_bytes());
        made += &fake;
    }
    (from > 0).then(|| made + &around(fakes, &text[from..], treatment))
}

/// The text before, between or after blocks: often the keys of YAML, or a comment.
fn around(fakes: &mut Fakes, text: &str, treatment: Treatment) -> String {
    fakes.text(text, treatment.unsearched().inner())
}

fn next(text: &str, from: usize) -> Option<Block> {
    let start = from + text[from..].find(BEGIN)?;
    let label = start + BEGIN.len();
    let label = label..label + text[label..].find(DASHES)?;
    let body = label.end + DASHES.len();
    let end = format!("-----END {}-----", &text[label.clone()]);
    let body = body..body + text[body..].find(&end)?;
    Some(Block {
        whole: start..body.end + end.len(),
        label,
        body,
    })
}

/// What the base64 of a body contains.
fn content(body: &str) -> Option<Vec<u8>> {
    let compact: String = body.split_whitespace().collect();
    STANDARD.decode(compact).ok()
}

fn block_fake(fakes: &mut Fakes, text: &str, block: &Block, treatment: Treatment) -> String {
    let (label, body) = (&text[block.label.clone()], &text[block.body.clone()]);
    let is_public = label.ends_with("CERTIFICATE") || label.ends_with("PUBLIC KEY");
    if treatment.searched && !is_public {
        each_line(fakes, body);
    }
    let made = content(body).and_then(|der| fakes.certificates.fake(label, &der));
    let (label, body) = match made {
        Some((label, der)) => (label, wrapped(body, &STANDARD.encode(der))),
        None => (label.to_owned(), same_length(fakes, body)),
    };
    format!("-----BEGIN {label}-----{body}-----END {label}-----")
}

/// Lines of a private key are searched for, too: with other spaces before them, the block as a whole is not found.
fn each_line(fakes: &mut Fakes, body: &str) {
    for line in body.split_whitespace().map(str::as_bytes) {
        if line.len() >= 16 && fakes.known(line).is_none() {
            let made = plain::text(fakes, body_text(line));
            fakes.remember(line, made.as_bytes());
        }
        fakes.search(line);
    }
}

fn body_text(line: &[u8]) -> &str {
    str::from_utf8(line).unwrap_or_default()
}

/// The base64 in lines as long as those of `like`, with the same spaces around them.
fn wrapped(like: &str, base64: &str) -> String {
    let first = like.trim_start();
    let before = &like[..like.len() - first.len()];
    let mut words = first.split_whitespace();
    let width = match (words.next(), words.next()) {
        (Some(first), Some(_)) => first.len(),
        _ => 64,
    };
    let after = &like[like.trim_end().len()..];
    let lines: Vec<_> = base64.as_bytes().chunks(width).map(body_text).collect();
    format!("{before}{}{after}", lines.join(before))
}

/// Other base64 at the same positions; text of the same classes, if it is not base64.
fn same_length(fakes: &mut Fakes, body: &str) -> String {
    let Some(content) = content(body) else {
        return plain::text(fakes, body);
    };
    let made = fakes.unique(body.as_bytes(), |stream, _| stream.bytes(content.len()));
    let made = STANDARD.encode(made);
    let mut made = made.chars();
    let other = |c: char| match c {
        c if c.is_whitespace() => Some(c),
        _ => made.next(),
    };
    body.chars().filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use rcgen::KeyPair;

    use super::*;
    use crate::secrets::shape;

    #[test]
    fn blocks_keep_their_layout_and_lines_of_a_private_key_are_searched() {
        let mut fakes = Fakes::new(shape::text).unwrap();
        let key = KeyPair::generate().unwrap().serialize_pem();
        let lines: Vec<_> = key.lines().collect();
        let indented = format!("a: |\n  {}\nb: cdefgh", lines.join("\n  "));
        let fake = fake(&mut fakes, &indented, Treatment::VALUE).unwrap();
        assert!(fake.starts_with("a: |\n  -----BEGIN PRIVATE KEY-----\n  "));
        assert!(fake.contains("\n  -----END PRIVATE KEY-----\nb: "));
        assert_eq!(fake.lines().count(), indented.lines().count());
        let unindented = fake.replace("\n  ", "\n");
        assert!(KeyPair::from_pem(&unindented[5..]).is_ok(), "{unindented}");
        let searched: Vec<_> = fakes.into_searched().map(|it| it.0).collect();
        let is_searched = |line: &&str| searched.contains(&line.as_bytes().to_owned());
        assert!(lines[1..lines.len() - 1].iter().all(is_searched));
        assert!(!is_searched(&lines[0]));
    }

    #[test]
    fn what_is_not_a_block_is_none_and_what_is_not_base64_keeps_its_characters() {
        let mut fakes = Fakes::new(shape::text).unwrap();
        let mut fake = |text| fake(&mut fakes, text, Treatment::VALUE);
        for text in ["", "-----BEGIN A", "-----BEGIN A-----\n-----END B-----"] {
            assert_eq!(fake(text), None, "{text}");
        }
        let legacy = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nQUJD\n-----END RSA PRIVATE KEY-----";
        let made = fake(legacy).unwrap();
        assert_eq!(made.len(), legacy.len());
        assert!(!made.contains("QUJD") && made.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
        let one_line =
            fake("-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----");
        assert!(one_line.unwrap().contains("\nBggqhkjOPQMBBw==\n"));
    }
}
