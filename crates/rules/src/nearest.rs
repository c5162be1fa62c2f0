//! Suggests the intended name for a misspelling.

/// Nobody looks for a misspelling among more or longer names, and each is compared with each that is misspelled.
const MOST: usize = 200;
const LONGEST: usize = 100;

/// The known name of which `typed` is probably a misspelling, if any.
#[must_use]
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > LONGEST {
        return None;
    }
    let typed = typed.to_lowercase();
    let allowed = if typed.chars().count() <= 4 { 1 } else { 2 };
    let distance = |name: &str| strsim::damerau_levenshtein(&typed, &name.to_lowercase());
    names
        .into_iter()
        .take(MOST)
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_recognized_and_other_words_are_not() {
        let verbs = ["get", "list", "delete"];
        assert_eq!(nearest("lits", verbs), Some("list"));
        assert_eq!(nearest("GET", verbs), Some("get"));
        assert_eq!(nearest("deletes", verbs), Some("delete"));
        assert_eq!(nearest("read", verbs), None);
    }
}
