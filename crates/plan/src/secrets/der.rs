//! The little of DER (X.690) that certificates and keys need: an element is a tag, a length and a content.

/// The tags that are looked for.
pub mod tag {
    /// A number.
    pub const INTEGER: u8 = 0x02;
    /// Bits, after a byte with the number of unused ones.
    pub const BIT_STRING: u8 = 0x03;
    /// Bytes.
    pub const OCTET_STRING: u8 = 0x04;
    /// Elements.
    pub const SEQUENCE: u8 = 0x30;
    /// The element with the number 0 among optional ones.
    pub const ZERO: u8 = 0xa0;
    /// The element with the number 1.
    pub const ONE: u8 = 0xa1;
    /// The element with the number 3.
    pub const THREE: u8 = 0xa3;
}

/// An element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// What it is.
    pub tag: u8,
    /// Without tag and length.
    pub content: &'a [u8],
    /// With them.
    pub whole: &'a [u8],
}

/// The first element, and what follows. `None` if it is not an element, or longer than the input.
pub fn first(input: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (tag, length, rest) = match input {
        [tag, short @ 0..=0x7f, rest @ ..] => (tag, usize::from(*short), rest),
        [tag, 0x81, length, rest @ ..] => (tag, usize::from(*length), rest),
        [tag, 0x82, high, low, rest @ ..] => {
            (tag, usize::from(u16::from_be_bytes([*high, *low])), rest)
        }
        _ => return None,
    };
    let content = rest.get(..length)?;
    let after = &rest[length..];
    let element = Element {
        tag: *tag,
        content,
        whole: &input[..input.len() - after.len()],
    };
    Some((element, after))
}

/// The elements of a content. `None` if something else follows them.
pub fn all(mut content: &[u8]) -> Option<Vec<Element<'_>>> {
    let mut elements = Vec::new();
    while !content.is_empty() {
        let (element, rest) = first(content)?;
        elements.push(element);
        content = rest;
    }
    Some(elements)
}

/// The elements of the only element of the input, which has this tag.
pub fn inside(input: &[u8], tag: u8) -> Option<Vec<Element<'_>>> {
    match first(input)? {
        (element, []) if element.tag == tag => all(element.content),
        _ => None,
    }
}

/// An element with the parts as its content, which is shorter than 64 KiB.
pub fn element(tag: u8, parts: &[&[u8]]) -> Option<Vec<u8>> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>();
    let [high, low] = u16::try_from(length).ok()?.to_be_bytes();
    let mut element = match (high, low) {
        (0, 0..=0x7f) => vec![tag, low],
        (0, _) => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    element.extend(parts.concat());
    Some(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for length in [0, 0x7f, 0x80, 0xff, 0x100, 0xffff] {
            let content = vec![7; length];
            let written = element(tag::OCTET_STRING, &[&content]).unwrap();
            let (read, rest) = first(&written).unwrap();
            assert_eq!((read.content, read.whole), (&content[..], &written[..]));
            assert!(rest.is_empty());
            assert_eq!(first(&written[..written.len() - 1]), None);
        }
        assert_eq!(element(4, &[&vec![0; 0x1_0000]]), None);
        assert_eq!(inside(&[0x30, 3, 4, 1, 9], tag::SEQUENCE).unwrap().len(), 1);
        for wrong in [&[0x30, 2, 4, 1][..], &[0x30, 0, 0], &[0x30], &[4, 0x84]] {
            assert_eq!(inside(wrong, tag::SEQUENCE), None);
        }
    }
}
