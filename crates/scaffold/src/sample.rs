//! The first line of a sample, whose checksum shows whether the user has edited the rest.

use crate::hash::sha256;

/// The start of the first line of each sample that kbr wrote; templates have no checksum.
const MARK: &str = "# kbr:sample";

/// The length of the shortened checksum.
const DIGITS: usize = 12;

/// The sample with its first line: `# kbr:sample <first 12 hexadecimal digits of the SHA-256 of the rest>`.
pub fn checksummed(body: &str) -> String {
    format!("{MARK} {}\n{body}", &sha256(body.as_bytes())[..DIGITS])
}

/// Whether a sample has not been edited since kbr wrote it. Line endings are ignored, because git may convert them.
pub fn is_untouched(text: &str) -> bool {
    let text = text.replace("\r\n", "\n");
    text.split_once('\n')
        .is_some_and(|(_, body)| checksummed(body) == text)
}

/// A rendered template, with a checksum if its first line asks for one.
pub fn with_checksum(rendered: String) -> String {
    match rendered
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_prefix('\n'))
    {
        Some(body) => checksummed(body),
        None => rendered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_as_edited_once_a_byte_changes() {
        let text = with_checksum("# kbr:sample\na: 1\n".to_owned());
        // The first digits that `printf 'a: 1\n' | sha256sum` prints.
        assert_eq!(text, "# kbr:sample 37b128c59f1f\na: 1\n");
        assert!(is_untouched(&text));
        assert!(is_untouched(&text.replace('\n', "\r\n")));
        for touched in [
            text.replace('1', "2"),
            text.clone() + "\n",
            text.replace("37", "38"),
            text.replace("a: 1\n", ""),
            "a: 1\n".to_owned(),
            format!("\n{text}"),
        ] {
            assert!(!is_untouched(&touched), "{touched:?}");
        }
    }

    #[test]
    fn only_a_template_with_the_line_gets_a_checksum() {
        for text in [
            "",
            "a: 1\n",
            "# kbr:samples\na: 1\n",
            "a: 1\n# kbr:sample\n",
        ] {
            assert_eq!(with_checksum(text.to_owned()), text);
        }
    }
}
