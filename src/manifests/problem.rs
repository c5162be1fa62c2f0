//! What is wrong with the sources of the manifests, all at once.

use std::fmt;

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    text: String,
    help: Option<String>,
}

impl Problem {
    /// What is wrong; the place comes first, here or through [`Problem::at`].
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            help: None,
        }
    }

    /// What is wrong, without what to type.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Puts the place first: `src/main.rs:12`.
    pub fn at(mut self, place: &str) -> Self {
        self.text = format!("`{place}`: {}", self.text);
        self
    }

    /// Adds what to type.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the name that was meant, if there is one.
    pub fn did_you_mean(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`")),
            None => self,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if let Some(help) = &self.help {
            write!(f, "\n    help: {help}")?;
        }
        Ok(())
    }
}

/// One error for all of them; `None` when there are none.
pub fn error(problems: &[Problem]) -> Option<anyhow::Error> {
    let count = match problems.len() {
        0 => return None,
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    };
    let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let list = list.join("\n  ");
    Some(anyhow::anyhow!(
        "cannot generate the manifests: {count}, nothing was written\n  {list}"
    ))
}

/// The name that `typed` is a slip of the pen of, if any.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let allowed = if typed.chars().count() <= 4 { 1 } else { 2 };
    names
        .into_iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&typed, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_found_and_other_words_are_not() {
        let verbs = ["get", "list", "delete"];
        assert_eq!(nearest("lits", verbs), Some("list"));
        assert_eq!(nearest("GET", verbs), Some("get"));
        assert_eq!(nearest("deletes", verbs), Some("delete"));
        assert_eq!(nearest("read", verbs), None);
    }

    #[test]
    fn all_problems_are_in_one_error_that_says_that_nothing_was_written() {
        assert!(error(&[]).is_none());
        let two = [
            Problem::new("`a`: b").help("type c"),
            Problem::new("`d`: e"),
        ];
        assert_eq!(
            error(&two).unwrap().to_string(),
            "cannot generate the manifests: 2 problems, nothing was written\n  `a`: b\n    help: type c\n  `d`: e"
        );
    }
}
