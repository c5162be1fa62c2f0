//! All that is wrong with what the user asked for, in one error.

/// What is wrong, each with what to do about it.
#[derive(Debug, Default)]
pub struct Problems(Vec<(String, String)>);

impl Problems {
    /// `problem` is a sentence without a full stop, `help` says what to type.
    pub fn add(&mut self, problem: impl Into<String>, help: impl Into<String>) {
        self.0.push((problem.into(), help.into()));
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: Problems) {
        self.0.extend(others.0);
    }

    /// Whether nothing was wrong so far.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is wrong, without what to do about it.
    pub fn sentences(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(problem, _)| problem)
    }

    /// One error that lists everything, if there is anything.
    pub fn into_result(self) -> anyhow::Result<()> {
        let text = match &self.0[..] {
            [] => return Ok(()),
            [(problem, help)] => format!("{problem}; nothing was written\nhelp: {help}"),
            all => {
                let mut lines = vec![format!("{} problems, nothing was written", all.len())];
                lines.extend(all.iter().map(|(problem, _)| format!("  {problem}")));
                lines.extend(all.iter().map(|(_, help)| format!("help: {help}")));
                lines.join("\n")
            }
        };
        Err(anyhow::Error::msg(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_problem_is_one_line_and_several_are_a_list() {
        let mut problems = Problems::default();
        assert!(problems.is_empty());
        problems.add("`a` is wrong", "type `b`");
        assert!(!problems.is_empty());
        let mut two = Problems::default();
        two.add("`a` is wrong", "type `b`");
        two.add("`c` is wrong", "type `d`");
        let text = |problems: Problems| problems.into_result().unwrap_err().to_string();
        assert_eq!(
            text(problems),
            "`a` is wrong; nothing was written\nhelp: type `b`"
        );
        assert_eq!(
            text(two),
            "2 problems, nothing was written\n  `a` is wrong\n  `c` is wrong\nhelp: type `b`\nhelp: type `d`"
        );
        assert!(Problems::default().into_result().is_ok());
    }
}
