//! Names of a CRD -> names of Rust.

use std::collections::BTreeSet;

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The words of a name: `podIPs` is `pod` and `IPs`, `HTTPGet` is `HTTP` and `Get`.
pub fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            continue;
        }
        if starts_word(&letters, at) {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        word.push(letter);
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

fn starts_word(letters: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| letters[before]);
    let is_upper = letters[at].is_ascii_uppercase();
    let after_lower =
        before.is_some_and(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    // The last capital of several begins a word, unless it is that of a plural: `IPs`.
    let next = letters.get(at + 1).copied();
    let next_is_lower = next.is_some_and(|letter| letter.is_ascii_lowercase());
    let is_plural = next == Some('s') && !letters.get(at + 2).is_some_and(char::is_ascii_lowercase);
    let after_upper = before.is_some_and(|letter| letter.is_ascii_uppercase());
    is_upper && (after_lower || after_upper && next_is_lower && !is_plural)
}

/// `podIPs` as a field: `pod_ips`.
pub fn field(name: &str) -> String {
    let mut field = words(name).join("_").to_ascii_lowercase();
    if field.is_empty() || field.starts_with(|first: char| first.is_ascii_digit()) {
        field.insert_str(0, "field_");
        field.truncate(field.trim_end_matches('_').len());
    }
    if KEYWORDS.contains(&field.as_str()) {
        field.push('_');
    }
    field
}

/// `HTTPGet` as a type or a variant: `HttpGet`. Empty if no letter of the name can be part of one.
pub fn pascal(name: &str) -> String {
    let words = words(name).into_iter().map(|word| {
        let lower = word.to_ascii_lowercase();
        let (first, rest) = lower.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

/// A name for the items of a list or the values of a map: `pools` holds a `Pool`.
pub fn singular(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let ends = |end: &str| lower.ends_with(end);
    if name.len() > 4 && ends("ies") {
        return format!("{}y", &name[..name.len() - 3]);
    }
    if ["sses", "shes", "ches", "xes", "zes"].into_iter().any(ends) {
        return name[..name.len() - 2].to_owned();
    }
    let is_singular = ["ss", "us", "is", "as", "os", "dns", "tls"]
        .into_iter()
        .any(ends)
        || name.len() < 4;
    if ends("s") && !is_singular {
        return name[..name.len() - 1].to_owned();
    }
    name.to_owned()
}

/// The name that serde gives to a field in `camelCase`.
pub fn camel(field: &str) -> String {
    let mut camel = String::new();
    let mut capital = false;
    for letter in field.chars() {
        if letter == '_' {
            capital = true;
        } else if capital {
            camel.push(letter.to_ascii_uppercase());
            capital = false;
        } else {
            camel.push(letter);
        }
    }
    // serde capitalizes all words first, and then lowers the first letter.
    let mut letters = camel.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_lowercase().to_string() + letters.as_str()
    })
}

/// The variants of an enum with these values.
pub fn variants(values: &[String]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let variants = values.iter().enumerate().map(|(at, value)| {
        let mut name = match pascal(value) {
            name if value.is_empty() => name + "Empty",
            name if name.is_empty() => format!("Value{}", at + 1),
            name if name.starts_with(|first: char| first.is_ascii_digit()) => format!("V{name}"),
            name if name == "Self" => "ItSelf".to_owned(),
            name => name,
        };
        if values.iter().filter(|other| pascal(other) == name).count() > 1
            && value.to_ascii_lowercase() == *value
        {
            name += "Lower";
        }
        unique(name, &mut taken)
    });
    variants.collect()
}

/// `name`, or with a number if it is taken.
pub fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let free = std::iter::once(name.clone())
        .chain(numbered)
        .find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}
