//! The first line of a sample, which tells whether somebody has changed the rest.

use crate::hash::sha256;

/// How the first line of each sample begins that kbr wrote; a template has it with nothing behind it.
const MARK: &str = "# kbr:sample";

/// How much of the hash is shown.
const DIGITS: usize = 12;

/// The sample with its first line: `# kbr:sample <first 12 hexadecimal digits of the SHA-256 of the rest>`.
pub fn signed(body: &str) -> String {
    format!("{MARK} {}\n{body}", &sha256(body.as_bytes())[..DIGITS])
}

/// The rest of a sample that nobody has touched since kbr wrote it.
pub fn untouched(text: &str) -> Option<&str> {
    let (_, body) = text.split_once('\n')?;
    (signed(body) == text).then_some(body)
}

/// A rendered template: signed if its first line asks for that, as it is otherwise.
pub fn sign(rendered: String) -> String {
    match rendered
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_prefix('\n'))
    {
        Some(body) => signed(body),
        None => rendered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_untouched_until_a_byte_of_it_changes() {
        let text = sign("# kbr:sample\na: 1\n".to_owned());
        // The first digits that `printf 'a: 1\n' | sha256sum` prints.
        assert_eq!(text, "# kbr:sample 37b128c59f1f\na: 1\n");
        assert_eq!(untouched(&text), Some("a: 1\n"));
        for touched in [
            text.replace('1', "2"),
            text.clone() + "\n",
            text.replace("37", "38"),
            text.replace("a: 1\n", ""),
            "a: 1\n".to_owned(),
            format!("\n{text}"),
        ] {
            assert_eq!(untouched(&touched), None, "{touched:?}");
        }
    }

    #[test]
    fn only_a_template_that_asks_for_it_is_signed() {
        for text in [
            "",
            "a: 1\n",
            "# kbr:samples\na: 1\n",
            "a: 1\n# kbr:sample\n",
        ] {
            assert_eq!(sign(text.to_owned()), text);
        }
    }
}
