//! Errors for the user: what is wrong, where, what to type next, and whether anything was written. The only place that renders them.

mod problem;

use std::fmt::{self, Display};

pub use problem::Problem;

use crate::lines::{Lines, one_line};

/// The state of the project's files after the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command stopped before it wrote anything.
    NothingWritten,
    /// A commit in progress stopped here; the files written before are safe.
    NothingElseWritten,
    /// The command reverted what it had written.
    Restored,
    /// The text describes it.
    Described,
}

impl Outcome {
    fn text(self) -> Option<&'static str> {
        match self {
            Outcome::NothingWritten => Some("nothing was written"),
            Outcome::NothingElseWritten => Some("nothing else was written, and nothing was lost"),
            Outcome::Restored => Some("the project is unchanged"),
            Outcome::Described => None,
        }
    }
}

/// How several problems are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// One problem is a sentence, several are a list with all helps at the end.
    Problems,
    /// Always a list, even of one problem.
    Conflicts,
    /// A list under this heading, each problem with its own helps.
    Findings(&'static str),
}

/// Why a command failed: all problems in one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    form: Form,
    problems: Vec<Problem>,
    /// Unless the command that failed says it: see [`nothing_written`].
    outcome: Option<Outcome>,
    /// Lines below the text: the output of another program, or the location of an error in a file.
    details: Option<String>,
}

impl Diagnostic {
    /// One problem.
    pub fn new(text: impl Display) -> Self {
        Diagnostic::from(Problem::new(text))
    }

    /// Adds how to fix it. Only for a diagnostic with one problem.
    pub fn help(mut self, help: impl Display) -> Self {
        self.problems = self.problems.into_iter().map(|it| it.help(&help)).collect();
        self
    }

    /// Sets the state of the project's files.
    pub fn outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// Adds what another program printed, or a part of a file, below the text, indented.
    pub fn details(mut self, details: impl Display) -> Self {
        self.details = Some(details.to_string());
        self
    }

    /// Adds a line for each of these below the text, indented.
    pub fn list(self, items: impl IntoIterator<Item = impl Display>) -> Self {
        self.details(items.into_iter().collect::<Lines>())
    }

    /// Conflicts of a command with files on disk.
    pub fn conflicts(problems: Vec<Problem>) -> Self {
        Diagnostic {
            form: Form::Conflicts,
            problems,
            outcome: None,
            details: None,
        }
    }

    /// Findings about many places, each with its own helps, under a heading: `cannot generate the manifests`.
    pub fn findings(heading: &'static str, problems: Vec<Problem>) -> Self {
        Diagnostic {
            form: Form::Findings(heading),
            problems,
            outcome: None,
            details: None,
        }
    }
}

impl Problem {
    /// The error of a command that stopped because of this problem.
    pub fn outcome(self, outcome: Outcome) -> Diagnostic {
        Diagnostic::from(self).outcome(outcome)
    }
}

impl From<Problem> for Diagnostic {
    fn from(problem: Problem) -> Self {
        Diagnostic {
            form: Form::Problems,
            problems: vec![problem],
            outcome: None,
            details: None,
        }
    }
}

impl std::error::Error for Diagnostic {}

impl Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome.and_then(Outcome::text);
        let outcome = |sign| outcome.map(|text| format!("{sign} {text}"));
        let texts = match self.form {
            Form::Findings(_) => self.problems.iter().map(|it| &it.text).collect(),
            _ => distinct(self.problems.iter().map(|it| &it.text)),
        };
        let count = texts.len();
        match (self.form, &texts[..]) {
            (Form::Problems, [only]) => f.write_str(only)?,
            (Form::Problems, _) => write!(f, "{count} problems")?,
            (Form::Conflicts, [_]) => f.write_str("a conflict")?,
            (Form::Conflicts, _) => write!(f, "{count} conflicts")?,
            (Form::Findings(heading), [_]) => write!(f, "{heading}: 1 problem")?,
            (Form::Findings(heading), _) => write!(f, "{heading}: {count} problems")?,
        }
        let is_sentence = self.form == Form::Problems && count == 1;
        f.write_str(&outcome(if is_sentence { ";" } else { "," }).unwrap_or_default())?;
        if let Form::Findings(_) = self.form {
            return self
                .problems
                .iter()
                .try_for_each(|it| write!(f, "\n  {it}"));
        }
        if !is_sentence {
            for text in texts {
                write!(f, "\n  {text}")?;
            }
        }
        for line in self
            .details
            .iter()
            .flat_map(|details| details.trim_end().lines())
        {
            write!(f, "\n    {line}")?;
        }
        for help in distinct(self.problems.iter().flat_map(|it| &it.helps)) {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

/// The error of a command that writes, and that stopped before its commit: whatever went wrong, nothing was written.
pub fn nothing_written(mut error: anyhow::Error) -> anyhow::Error {
    if let Some(diagnostic) = error.downcast_mut::<Diagnostic>() {
        diagnostic.outcome.get_or_insert(Outcome::NothingWritten);
        return error;
    }
    Diagnostic::new(text(&error))
        .outcome(Outcome::NothingWritten)
        .into()
}

/// An error as it is printed. Only a [`Diagnostic`] has lines; any other text may contain the name of a file, which begins none.
pub fn text(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| match cause.downcast_ref() {
        Some(diagnostic) => Diagnostic::to_string(diagnostic),
        None => one_line(&cause.to_string()).into_owned(),
    });
    causes.collect::<Vec<_>>().join(": ")
}

/// Equal texts are printed once.
fn distinct<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut distinct = Vec::new();
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct
}

/// Collects all problems of a command.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem; `text` and `help` are in lower case, without a full stop.
    pub fn add(&mut self, text: impl Display, help: impl Display) {
        self.0.push(Problem::new(text).help(help));
    }

    /// Adds all problems of `others`.
    pub fn extend(&mut self, others: Problems) {
        self.0.extend(others.0);
    }

    /// Whether there are no problems so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without help.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Problem::text)
    }

    /// Fails with one error if there are any problems.
    ///
    /// # Errors
    /// All problems.
    pub fn into_result(self) -> anyhow::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let all = Diagnostic {
            form: Form::Problems,
            problems: self.0,
            outcome: None,
            details: None,
        };
        Err(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(diagnostic: &Diagnostic, expected: &str) {
        assert_eq!(diagnostic.to_string(), expected);
    }

    #[test]
    fn one_problem_is_a_sentence_with_the_outcome_and_help() {
        let diagnostic = Diagnostic::new("`a` is wrong").help("type `b`");
        check(&diagnostic, "`a` is wrong\nhelp: type `b`");
        let diagnostic = diagnostic
            .outcome(Outcome::NothingWritten)
            .details("line 1\nline 2\n");
        check(
            &diagnostic,
            "`a` is wrong; nothing was written\n    line 1\n    line 2\nhelp: type `b`",
        );
    }

    #[test]
    fn several_problems_are_a_list_and_the_same_help_is_printed_once() {
        let mut problems = Problems::default();
        assert!(problems.is_empty());
        problems.add("`a` is wrong", "type `b`");
        problems.add("`c` is wrong", "type `b`");
        problems.add("`d` is wrong", "type `e`");
        assert!(!problems.is_empty());
        assert_eq!(
            problems.into_result().unwrap_err().to_string(),
            "3 problems\n  `a` is wrong\n  `c` is wrong\n  `d` is wrong\nhelp: type `b`\nhelp: type `e`"
        );
        assert!(Problems::default().into_result().is_ok());
    }

    #[test]
    fn equal_problems_count_once() {
        let mut problems = Problems::default();
        problems.add("`a` is wrong", "type `b`");
        problems.add("`a` is wrong", "type `c`");
        assert_eq!(
            problems.into_result().unwrap_err().to_string(),
            "`a` is wrong\nhelp: type `b`\nhelp: type `c`"
        );
        let [a, d] = ["`a` differs", "`d` differs"].map(Problem::new);
        check(
            &Diagnostic::conflicts(vec![a.clone(), d, a]),
            "2 conflicts\n  `a` differs\n  `d` differs",
        );
    }

    #[test]
    fn a_conflict_is_listed_even_if_it_is_the_only_one() {
        let one = Problem::new("`a` differs").help("pass `--force`");
        check(
            &Diagnostic::conflicts(vec![one]),
            "a conflict\n  `a` differs\nhelp: pass `--force`",
        );
    }

    #[test]
    fn findings_have_their_helps_below_them() {
        let two = vec![
            Problem::new("b").at("a").help("type c").help("type d"),
            Problem::new("`d`: e"),
        ];
        check(
            &Diagnostic::findings("cannot generate the manifests", two),
            "cannot generate the manifests: 2 problems\n  `a`: b\n    help: type c\n    help: type d\n  `d`: e",
        );
    }

    #[test]
    fn an_error_of_a_plan_says_that_nothing_was_written() {
        let check = |error: anyhow::Error, expected: &str| {
            assert_eq!(format!("{:#}", nothing_written(error)), expected);
        };
        let conflict = || Diagnostic::conflicts(vec![Problem::new("`a` differs")]);
        check(
            conflict().into(),
            "a conflict, nothing was written\n  `a` differs",
        );
        let restored = conflict().outcome(Outcome::Restored);
        check(
            restored.into(),
            "a conflict, the project is unchanged\n  `a` differs",
        );
        let inner = Diagnostic::new("`a` is wrong").help("type `b`");
        check(
            anyhow::Error::from(inner).context("cannot plan"),
            "cannot plan: `a` is wrong; nothing was written\nhelp: type `b`",
        );
        let plain = anyhow::anyhow!("it is a folder").context("cannot read `a`");
        check(
            plain,
            "cannot read `a`: it is a folder; nothing was written",
        );
        check(
            anyhow::anyhow!("no file `a\nhelp: type b`"),
            "no file `a\\nhelp: type b`; nothing was written",
        );
    }
}
