//! Names of a CRD -> names of Rust.

use std::collections::{BTreeMap, BTreeSet};

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// A name of Rust is made of so many letters at most: what is nested repeats the names around it.
const LONGEST: usize = 100;

/// The words of a name: `podIPs` is `pod` and `IPs`, `HTTPGet` is `HTTP` and `Get`.
pub fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().take(LONGEST).collect();
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
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for value in values {
        *count.entry(pascal(value)).or_default() += 1;
    }
    let mut taken = Taken::default();
    let variants = values.iter().enumerate().map(|(at, value)| {
        let mut name = match pascal(value) {
            name if value.is_empty() => name + "Empty",
            name if name.is_empty() => format!("Value{}", at + 1),
            name if name.starts_with(|first: char| first.is_ascii_digit()) => format!("V{name}"),
            name if name == "Self" => "ItSelf".to_owned(),
            name => name,
        };
        if count.get(&name).is_some_and(|count| *count > 1) && value.to_ascii_lowercase() == *value
        {
            name += "Lower";
        }
        taken.unique(name)
    });
    variants.collect()
}

/// The names of one scope.
#[derive(Debug, Default)]
pub struct Taken {
    names: BTreeSet<String>,
    /// The number to try next for a name that is taken: without it, the same name `n` times would take `n²` tries.
    next: BTreeMap<String, usize>,
}

impl Taken {
    /// Names that are there from the start.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(str::to_owned).collect();
        Self {
            names,
            ..Self::default()
        }
    }

    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Takes `name`, or the name with a number if it is taken.
    pub fn unique(&mut self, name: String) -> String {
        if self.names.insert(name.clone()) {
            return name;
        }
        let number = self.next.get(&name).copied().unwrap_or(2);
        let numbered = (number..).map(|number| (number, format!("{name}{number}")));
        let free = { numbered }.find(|(_, it)| !self.names.contains(it));
        let (number, free) = free.unwrap_or((number, name.clone()));
        self.next.insert(name, number + 1);
        self.names.insert(free.clone());
        free
    }
}
