//! What is wrong with the sources of the manifests, all at once.

use std::fmt;

/// One thing to fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    text: String,
    helps: Vec<String>,
    /// The id that allows it; none if nothing does.
    id: Option<&'static str>,
}

impl Problem {
    /// What is wrong; the place comes first, here or through [`Problem::at`].
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            helps: Vec::new(),
            id: None,
        }
    }

    /// Puts the place first: `src/main.rs:12`.
    pub fn at(mut self, place: &str) -> Self {
        self.text = format!("`{place}`: {}", self.text);
        self
    }

    /// Adds what to type.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.helps.push(help.into());
        self
    }

    /// Adds how to say that a finding is meant.
    pub fn or_meant(self, id: &'static str) -> Self {
        self.or(id, "it is meant")
    }

    /// Adds how to say that a newer Kubernetes has what is unknown here.
    pub fn or_newer(self, id: &'static str) -> Self {
        self.or(id, "your Kubernetes is newer than this kbr and has it")
    }

    fn or(mut self, id: &'static str, when: &str) -> Self {
        self.id = Some(id);
        self.help(format!(
            "if {when}, write above it `// +kbr:lint:allow={id}`"
        ))
    }

    /// The id that allows it, if anything does.
    pub fn id(&self) -> Option<&'static str> {
        self.id
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
        for help in &self.helps {
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

#[cfg(test)]
mod tests {
    use super::*;

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
