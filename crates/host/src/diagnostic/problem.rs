//! What is wrong, where, and how to fix it.

use std::fmt::{self, Display};

use crate::lines::one_line;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A sentence in lower case, without a full stop.
    pub(super) text: String,
    /// How to fix it: sentences in the same form. May be empty.
    pub(super) helps: Vec<String>,
    /// The id with which it can be allowed, if it can: `unknown-function`.
    id: Option<&'static str>,
}

impl Problem {
    /// `text` is a sentence in lower case, without a full stop.
    pub fn new(text: impl Display) -> Self {
        Problem {
            text: one_line(&text.to_string()).into_owned(),
            helps: Vec::new(),
            id: None,
        }
    }

    /// Puts the location first: `src/main.rs:12`.
    pub fn at(mut self, place: &str) -> Self {
        self.text = format!("`{}`: {}", one_line(place), self.text);
        self
    }

    /// Adds how to fix it, in the same form.
    pub fn help(mut self, help: impl Display) -> Self {
        self.helps.push(one_line(&help.to_string()).into_owned());
        self
    }

    /// Adds lines of a file or of another program, indented, below what was added last.
    pub fn below(mut self, lines: impl Display) -> Self {
        let last = self.helps.last_mut().unwrap_or(&mut self.text);
        for line in lines.to_string().trim_end().lines() {
            last.extend(["\n  ", line]);
        }
        self
    }

    /// Adds a suggested name, if there is one.
    pub fn did_you_mean(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.help(format_args!("did you mean `{name}`")),
            None => self,
        }
    }

    /// Sets the id with which it can be allowed.
    pub fn allowed_by(mut self, id: &'static str) -> Self {
        self.id = Some(id);
        self
    }

    /// The id with which it can be allowed, if it can.
    pub fn id(&self) -> Option<&'static str> {
        self.id
    }

    /// Prefixes the text with what failed because of it: `cannot finish the commit`.
    pub fn context(mut self, context: impl Display) -> Self {
        self.text = format!("{}: {}", one_line(&context.to_string()), self.text);
        self
    }

    /// The text without help.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A warning, with each help on a line below the text.
impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        for help in &self.helps {
            write!(f, "\n    help: {help}")?;
        }
        Ok(())
    }
}
