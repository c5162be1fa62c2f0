//! Generates strings that match a pattern of a schema.

use apiserver_rules::re2;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::random::Random;

/// The maximum number of repetitions if a pattern sets no limit, or a higher one.
const REPEATED: u32 = 8;

/// How many strings are made to find one that fits.
const TRIES: usize = 32;

/// A string that fits and matches `pattern`; `None` if the pattern is invalid, or none of some attempts does.
pub(super) fn matching(
    pattern: &str,
    random: &mut Random,
    fits: impl Fn(&str) -> bool,
) -> Option<String> {
    let (hir, regex) = (
        regex_syntax::parse(&re2::translate(pattern).ok()?).ok()?,
        re2::compiled(pattern)?,
    );
    let texts = (0..TRIES).map(|_| {
        let mut text = Vec::new();
        write(&hir, random, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    // What a boundary of a word or an anchor in the middle demands is left to chance.
    let mut texts = texts.filter(|text| regex.is_match(text));
    texts.find(|text| fits(text))
}

/// Appends a string for a part of a pattern.
fn write(part: &Hir, random: &mut Random, text: &mut Vec<u8>) {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.extend(&*literal.0),
        HirKind::Class(class) => text.extend(one_of(class, random).to_string().bytes()),
        HirKind::Capture(group) => write(&group.sub, random, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, random, text)),
        HirKind::Alternation(choices) => {
            write(&choices[random.below(choices.len())], random, text);
        }
        HirKind::Repetition(repeated) => {
            let most = repeated.min.saturating_add(REPEATED);
            let more = repeated.max.map_or(most, |max| max.min(most)) - repeated.min;
            let count = repeated.min as usize + random.below(more as usize + 1);
            (0..count).for_each(|_| write(&repeated.sub, random, text));
        }
    }
}

/// A character of a class, one that can be printed in ASCII if there is any.
fn one_of(class: &Class, random: &mut Random) -> char {
    let all: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|it| (it.start(), it.end())).collect(),
        Class::Bytes(class) => {
            let ranges = class.iter();
            ranges
                .map(|it| (it.start().into(), it.end().into()))
                .collect()
        }
    };
    let printed = all.iter().filter_map(|(first, last)| {
        let (first, last) = (*first.max(&' '), *last.min(&'~'));
        (first <= last).then_some((first, last))
    });
    let printed: Vec<_> = printed.collect();
    let ranges = if printed.is_empty() { all } else { printed };
    // A class without characters never matches.
    let Some((first, last)) = ranges.get(random.below(ranges.len())) else {
        return ' ';
    };
    let range = *first..=*last;
    let at = random.below(range.clone().count());
    range.clone().nth(at).unwrap_or(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pattern: &str) -> Vec<String> {
        let made = |seed| matching(pattern, &mut Random::new(seed), |_| true);
        (0..100).map_while(made).collect()
    }

    #[test]
    fn texts_match_their_patterns() {
        for pattern in [
            "^v1$",
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            r"^(\d+)\.(\d{1,3})$",
            "^(?:red|green|blue)$",
            r"^[A-Z]{2}_[\w.-]{3,}$",
            "^([0-9]+(ms|s|m|h))+$",
            "[]]+?",
            "[^a]",
            r"\bA",
            r"^\p{Greek}+$",
            "(?i)^captain$",
            "^[[:alpha:]]+$",
            "a{b}",
            r"^\x00$",
            "^(a|)$",
        ] {
            // Each is checked by the pattern itself.
            assert_eq!(made(pattern).len(), 100, "{pattern}");
        }
    }

    #[test]
    fn texts_of_one_pattern_differ() {
        let made: std::collections::BTreeSet<_> = made("^[a-z]{4}$").into_iter().collect();
        assert!(made.len() > 90, "{made:?}");
    }

    #[test]
    fn a_text_also_fits() {
        let long = |text: &str| text.len() > 6;
        let text = matching("^[a-z]*$", &mut Random::new(0), long);
        assert!(text.is_some_and(|text| long(&text)));
    }

    #[test]
    fn patterns_that_are_invalid_or_match_nothing_generate_no_text() {
        for pattern in ["(a", "a)", "[a", "+", "a**", "(?=a)", r"a\bb", "a^b"] {
            assert!(made(pattern).is_empty(), "{pattern}");
        }
    }
}
