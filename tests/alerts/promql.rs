//! Reads which series and labels a query of Prometheus uses. promtool checks the syntax.

use std::collections::BTreeSet;

/// What a query uses.
#[derive(Debug, Default, PartialEq)]
pub struct Query {
    pub selectors: Vec<Selector>,
    /// The labels in `by (…)`, `on (…)` and the like.
    pub grouped: BTreeSet<String>,
}

/// A series as a query selects it.
#[derive(Debug, Default, PartialEq)]
pub struct Selector {
    pub name: String,
    /// The labels that it matches.
    pub labels: BTreeSet<String>,
    /// The function directly around it, or the empty string.
    pub function: String,
}

const GROUPINGS: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

/// Reads a query without variables.
pub fn parse(text: &str) -> Query {
    let (tokens, mut query) = (tokens(text), Query::default());
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut at = 0;
    while at < tokens.len() {
        let (word, next) = (token(at), token(at + 1));
        if GROUPINGS.contains(&word) {
            query.grouped.extend(words_until(&tokens[at..], ")"));
        } else if is_series(word, next) {
            let before = at.checked_sub(2).map_or("", token);
            let function = if token(at.saturating_sub(1)) == "(" && is_word(before) {
                before
            } else {
                ""
            };
            let labels = if next == "{" {
                words_until(&tokens[at + 1..], "}")
            } else {
                BTreeSet::new()
            };
            query.selectors.push(Selector {
                name: word.to_owned(),
                labels,
                function: function.to_owned(),
            });
        }
        // Past the labels, which are not series.
        if GROUPINGS.contains(&word) || next == "{" {
            let close = if next == "{" { "}" } else { ")" };
            at += tokens[at..].iter().take_while(|it| *it != close).count();
        }
        at += 1;
    }
    query
}

/// Whether a word is the name of a series, and not a function, an aggregation or an operator.
fn is_series(word: &str, next: &str) -> bool {
    is_word(word) && !OPERATORS.contains(&word) && next != "(" && !GROUPINGS.contains(&next)
}

/// Words, numbers with their units, strings, and single characters.
fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => rest[1..].find(first).expect("a closing quote") + 2,
            _ if is_of_word(first) => rest.find(|it| !is_of_word(it)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_:.".contains(character)
}

/// Whether a token is a word, and not a number, a string or a character.
fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

fn words_until(tokens: &[String], close: &str) -> BTreeSet<String> {
    let inside = tokens.iter().skip(1).take_while(|token| *token != close);
    inside.filter(|token| is_word(token)).cloned().collect()
}

#[test]
fn selectors_labels_and_functions_are_found() {
    let query = parse(
        "sum by (job, le) (rate(a_total{job=\"x by (y)\", code!~'4..'}[5m])) > 10 * max(b) or on (c) time() - d{} unless 0.5",
    );
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let selector = |name: &str, labels: &[&str], function: &str| Selector {
        name: name.to_owned(),
        labels: set(labels),
        function: function.to_owned(),
    };
    let wanted = Query {
        selectors: vec![
            selector("a_total", &["job", "code"], "rate"),
            selector("b", &[], "max"),
            selector("d", &[], ""),
        ],
        grouped: set(&["job", "le", "c"]),
    };
    assert_eq!(query, wanted);
}
