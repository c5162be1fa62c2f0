//! Generates strings that match a pattern of a schema.

use std::{iter::Peekable, str::Chars};

use super::random::Random;

/// The maximum number of repetitions if a pattern sets no limit, or a higher one.
const REPEATED: usize = 8;

/// A string that matches `pattern`; `None` if it uses more than literals, classes, groups and repetitions.
pub(super) fn matching(pattern: &str, random: &mut Random) -> Option<String> {
    let mut rest = pattern.chars().peekable();
    let choices = choices(&mut rest)?;
    let mut text = String::new();
    // An unmatched closing bracket is left over.
    rest.next()
        .is_none()
        .then(|| pick(&choices, random, &mut text))?;
    Some(text)
}

/// A part of a pattern, and how often it may be repeated.
struct Part {
    what: What,
    least: usize,
    most: usize,
}

enum What {
    /// One character of these ranges.
    Class(Vec<(char, char)>),
    /// One of several sequences.
    Group(Vec<Vec<Part>>),
}

fn pick(choices: &[Vec<Part>], random: &mut Random, text: &mut String) {
    for part in &choices[random.below(choices.len())] {
        for _ in 0..part.least + random.below(part.most - part.least + 1) {
            match &part.what {
                What::Group(choices) => pick(choices, random, text),
                What::Class(ranges) => {
                    let (first, last) = ranges[random.below(ranges.len())];
                    let all = first..=last;
                    let at = random.below(all.clone().count());
                    text.extend(all.clone().nth(at));
                }
            }
        }
    }
}

type Rest<'a> = Peekable<Chars<'a>>;

/// Alternatives with `|` between them, up to a closing bracket or the end.
fn choices(rest: &mut Rest) -> Option<Vec<Vec<Part>>> {
    let mut choices = vec![Vec::new()];
    while let Some(next) = rest.next_if(|next| *next != ')') {
        match next {
            '|' => choices.push(Vec::new()),
            // The generated string is the whole match, so anchors always hold.
            '^' | '$' => {}
            _ => {
                let what = what(next, rest)?;
                let (least, most) = repetition(rest)?;
                choices.last_mut()?.push(Part { what, least, most });
            }
        }
    }
    Some(choices)
}

fn what(first: char, rest: &mut Rest) -> Option<What> {
    Some(match first {
        '(' => {
            if rest.next_if_eq(&'?').is_some() {
                rest.next_if_eq(&':')?;
            }
            let choices = choices(rest)?;
            rest.next_if_eq(&')')?;
            What::Group(choices)
        }
        '[' => What::Class(class(rest)?),
        '\\' => What::Class(escaped(rest.next()?)?),
        '.' => What::Class(vec![('a', 'z')]),
        '*' | '+' | '?' | '{' => return None,
        literal => What::Class(vec![(literal, literal)]),
    })
}

/// The ranges of a class whose opening bracket has been consumed.
fn class(rest: &mut Rest) -> Option<Vec<(char, char)>> {
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next()? {
            ']' if !ranges.is_empty() => return Some(ranges),
            '^' if ranges.is_empty() => return None,
            '[' if rest.peek() == Some(&':') => return None,
            '\\' => match escaped(rest.next()?)?[..] {
                [(one, same)] if one == same => one,
                ref several => {
                    ranges.extend_from_slice(several);
                    continue;
                }
            },
            literal => literal,
        };
        if rest.peek() != Some(&'-') {
            ranges.push((first, first));
            continue;
        }
        rest.next();
        match rest.next()? {
            ']' => {
                ranges.extend([(first, first), ('-', '-')]);
                return Some(ranges);
            }
            '\\' => return None,
            last if first <= last => ranges.push((first, last)),
            _ => return None,
        }
    }
}

/// The meaning of a character after `\`.
fn escaped(letter: char) -> Option<Vec<(char, char)>> {
    Some(match letter {
        'd' => vec![('0', '9')],
        'w' => vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')],
        's' => vec![(' ', ' ')],
        'A' | 'z' => return None,
        letter if letter.is_ascii_alphanumeric() => return None,
        literal => vec![(literal, literal)],
    })
}

/// The minimum and maximum number of repetitions of the previous part.
fn repetition(rest: &mut Rest) -> Option<(usize, usize)> {
    let (least, most) = match rest.peek() {
        Some('?') => (0, 1),
        Some('*') => (0, REPEATED),
        Some('+') => (1, REPEATED),
        Some('{') => {
            rest.next();
            let text: String = std::iter::from_fn(|| rest.next_if(|next| *next != '}')).collect();
            let (least, most) = text.split_once(',').unwrap_or((&text, &text));
            let least: usize = least.parse().ok()?;
            let most = match most {
                "" => least + REPEATED,
                most => most.parse::<usize>().ok()?.min(least + REPEATED),
            };
            (least, most.max(least))
        }
        _ => return Some((1, 1)),
    };
    rest.next()?;
    // Lazy or greedy makes no difference here.
    rest.next_if_eq(&'?');
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pattern: &str) -> Vec<String> {
        let made = |seed| matching(pattern, &mut Random::new(seed));
        (0..100).map_while(made).collect()
    }

    #[track_caller]
    fn check(pattern: &str, matches: impl Fn(&str) -> bool) {
        let made = made(pattern);
        assert_eq!(made.len(), 100, "{pattern}");
        for text in made {
            assert!(matches(&text), "{pattern}: {text:?}");
        }
    }

    #[test]
    fn texts_match_their_patterns() {
        check("^v1$", |text| text == "v1");
        check("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", |text| {
            let allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
            !text.is_empty()
                && text.chars().all(allowed)
                && !text.starts_with('-')
                && !text.ends_with('-')
        });
        check(r"^(\d+)\.(\d{1,3})$", |text| {
            let (whole, part) = text.split_once('.').unwrap();
            whole.parse::<u64>().is_ok() && part.parse::<u16>().is_ok_and(|part| part < 1000)
        });
        check("^(?:red|green|blue)$", |text| {
            ["red", "green", "blue"].contains(&text)
        });
        check(r"^[A-Z]{2}_[\w.-]{3,}$", |text| {
            text.len() >= 6
                && text[..2].chars().all(|it| it.is_ascii_uppercase())
                && &text[2..3] == "_"
        });
        check("^([0-9]+(ms|s|m|h))+$", |text| {
            text.ends_with(['s', 'm', 'h'])
        });
        check("[]]+?", |text| text.chars().all(|it| it == ']'));
    }

    #[test]
    fn texts_of_one_pattern_differ() {
        let made: std::collections::BTreeSet<_> = made("^[a-z]{4}$").into_iter().collect();
        assert!(made.len() > 90, "{made:?}");
    }

    #[test]
    fn unsupported_patterns_generate_no_text() {
        for pattern in [
            "[^a]",
            r"\bA",
            r"\p{L}",
            "(?i)a",
            "(a",
            "a)",
            "[a",
            "[[:alpha:]]",
            "+",
            "a{b}",
            "a**",
        ] {
            assert!(made(pattern).is_empty(), "{pattern}");
        }
    }
}
