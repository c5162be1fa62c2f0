//! Questions: with dialoguer on a terminal, line by line from anything else. They go to stderr.

use std::io::{self, IsTerminal as _};

use anyhow::Context as _;

use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;

/// Whether a user can answer questions.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks `question`, and shows the answer that Enter selects: `[Y/n]`; `help` names the flags that answer it.
///
/// # Errors
/// The input ended, or cannot be read.
pub fn yes_or_no(question: &str, default: bool, help: &str) -> anyhow::Result<bool> {
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    if is_terminal() {
        // Not `Confirm`: an interrupt there leaves the terminal without a cursor.
        let line = text_input(&format!("{question} {choice}"))
            .allow_empty(true)
            .validate_with(|line: &String| {
                let answer = answer(line, default);
                answer.map(drop).ok_or("please answer `y` or `n`")
            })
            .interact_text()
            .with_context(|| format!("no answer to `{question}`"))?;
        return Ok(answer(&line, default) == Some(true));
    }
    loop {
        output::question(format_args!("{question} {choice} "));
        let mut line = String::new();
        let read = io::stdin()
            .read_line(&mut line)
            .context("cannot read the answer")?;
        output::message("");
        if read == 0 {
            let text = format!("no answer to `{question} {choice}`");
            return Err(Diagnostic::new(text).help(help).into());
        }
        match answer(&line, default) {
            Some(answer) => return Ok(answer),
            None => output::message(format_args!(
                "please answer `y` or `n`, not `{}`",
                line.trim()
            )),
        }
    }
}

fn answer(line: &str, default: bool) -> Option<bool> {
    match line.trim().to_lowercase().as_str() {
        "" => Some(default),
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

fn text_input<'a>(prompt: &str) -> dialoguer::Input<'a, String> {
    dialoguer::Input::new().with_prompt(prompt)
}

/// Asks for a line of text on a terminal until `check` accepts it; Enter selects `default`.
///
/// # Errors
/// The input ended, or cannot be read.
pub fn text(
    question: &str,
    default: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> anyhow::Result<String> {
    text_input(question)
        .default(default.to_owned())
        .validate_with(|text: &String| check(text))
        .interact_text()
        .with_context(|| format!("no answer to `{question}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_may_be_short_and_in_upper_case() {
        for yes in ["y", "yes", "Y\n", " YES \r\n"] {
            assert_eq!(answer(yes, false), Some(true));
        }
        for no in ["n", "No\n"] {
            assert_eq!(answer(no, true), Some(false));
        }
        for neither in ["yep", "1"] {
            assert_eq!(answer(neither, true), None);
        }
    }

    #[test]
    fn enter_selects_the_default() {
        for default in [true, false] {
            assert_eq!(answer("\n", default), Some(default));
        }
    }
}
