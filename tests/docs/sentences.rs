//! Each sentence of the pages has a line of its own, so that a change of one shows as a change of one. `UPDATE=1` divides the lines.

use std::{fs, path::Path};

use super::support::{repository, tree};

/// After these, a sentence goes on.
const ABBREVIATIONS: [&str; 5] = ["e.g.", "i.e.", "etc.", "vs.", "cf."];

/// The Markdown files with prose, below the repository.
fn files() -> Vec<String> {
    let pages = tree(&repository().join("docs")).into_keys();
    let pages = pages.filter(|path| {
        let is_page = Path::new(path).extension().is_some_and(|end| end == "md");
        is_page && !["cli.md", "SUMMARY.md"].contains(&path.as_str())
    });
    let mut files: Vec<_> = pages.map(|path| format!("docs/{path}")).collect();
    files.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned));
    files
}

#[test]
fn each_sentence_has_a_line_of_its_own() {
    let mut wrong = Vec::new();
    for file in files() {
        let path = repository().join(&file);
        let text = fs::read_to_string(&path).expect("readable");
        let divided = divided(&text);
        if divided == text {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &divided).expect("a writable file");
            continue;
        }
        let line = text
            .lines()
            .zip(divided.lines())
            .position(|(old, new)| old != new);
        wrong.push(format!("{file}:{}", line.unwrap_or_default() + 1));
    }
    assert!(
        wrong.is_empty(),
        "`make update` divides the lines of {wrong:#?}"
    );
}

/// What a program prints has the width that it has.
#[test]
fn code_in_the_pages_fits_on_a_screen() {
    let mut long = Vec::new();
    for file in files() {
        let text = fs::read_to_string(repository().join(&file)).expect("readable");
        let mut block = None;
        for (number, line) in text.lines().enumerate() {
            if let Some(mark) = line.trim_start().strip_prefix("```") {
                block = if block.is_some() { None } else { Some(mark) };
            } else if block.is_some_and(|mark| !mark.starts_with("text"))
                && line.chars().count() > 120
            {
                long.push(format!("{file}:{}", number + 1));
            }
        }
    }
    assert!(long.is_empty(), "over 120 characters: {long:#?}");
}

/// The text with one sentence a line in its paragraphs and lists; all else as it is.
fn divided(text: &str) -> String {
    let mut result: Vec<String> = Vec::new();
    // The paragraph or item that is being read, and the indent of its further lines.
    let mut open: Option<(String, usize)> = None;
    let mut code = false;
    for line in text.lines() {
        let start = line.trim_start();
        let indent = line.len() - start.len();
        let fence = start.starts_with("```");
        let verbatim = code || fence || is_verbatim(line);
        code ^= fence;
        let continues = !verbatim && marker(start) == 0;
        match &mut open {
            Some((so_far, within)) if continues && (indent == 0 || indent == *within) => {
                so_far.push(' ');
                so_far.push_str(start.trim_end());
                continue;
            }
            _ => close(&mut result, open.take()),
        }
        if verbatim {
            result.push(line.to_owned());
        } else {
            open = Some((line.trim_end().to_owned(), indent + marker(start)));
        }
    }
    close(&mut result, open);
    result.join("\n") + "\n"
}

/// Whether a line is no prose: empty, a heading, a row of a table, HTML, a quotation, or code by its indent.
fn is_verbatim(line: &str) -> bool {
    let start = line.trim_start();
    start.is_empty()
        || start.starts_with(['#', '|', '<', '>'])
        || (line.starts_with("    ") && marker(start) == 0)
}

/// The length of `- ` or `1. ` at the start of an item; 0 if there is none.
fn marker(start: &str) -> usize {
    if start.starts_with("- ") || start.starts_with("* ") {
        return 2;
    }
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && start[digits..].starts_with(". ") {
        return digits + 2;
    }
    0
}

/// Ends a paragraph or an item: one line for each of its sentences.
fn close(result: &mut Vec<String>, open: Option<(String, usize)>) {
    let Some((text, indent)) = open else { return };
    for (number, sentence) in sentences(&text).into_iter().enumerate() {
        let indent = if number == 0 { 0 } else { indent };
        result.push(format!("{}{sentence}", " ".repeat(indent)));
    }
}

/// Divides a paragraph where a sentence ends outside of code, parentheses and links.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut start, mut depth, mut code) = (0, 0_i32, false);
    // The marker of an item is no sentence.
    let first = text.len() - text.trim_start().len() + marker(text.trim_start());
    for (at, character) in text.char_indices() {
        match character {
            '`' => code = !code,
            '(' | '[' if !code => depth += 1,
            ')' | ']' if !code => depth -= 1,
            ' ' if !code
                && depth == 0
                && at > first
                && ends(&text[start..at])
                && begins(&text[at + 1..]) =>
            {
                found.push(text[start..at].trim_end().to_owned());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim_end().to_owned());
    found
        .into_iter()
        .enumerate()
        .map(|(number, it)| {
            if number == 0 {
                it
            } else {
                it.trim_start().to_owned()
            }
        })
        .collect()
}

/// Whether a sentence ends here: with a full stop or the like, perhaps in bold or in quotation marks.
fn ends(sentence: &str) -> bool {
    let bare = sentence.trim_end_matches(['*', '"', '_']);
    let word = bare.rsplit(' ').next().unwrap_or_default();
    bare.ends_with(['.', '?', '!']) && !bare.ends_with("..") && !ABBREVIATIONS.contains(&word)
}

/// Whether another sentence begins here.
fn begins(rest: &str) -> bool {
    let bare = rest.trim_start_matches(['*', '"', '_', '[']);
    bare.starts_with(|it: char| it.is_uppercase() || it == '`' || it.is_ascii_digit())
        || [
            "kubectl ",
            "kbr ",
            "etcd ",
            "kube-",
            "kwok ",
            "cert-manager",
            "crdify ",
            "controller-gen",
        ]
        .iter()
        .any(|it| bare.starts_with(it))
}

#[track_caller]
fn check(before: &str, after: &str) {
    assert_eq!(divided(before), after);
    assert_eq!(divided(after), after, "again");
}

#[test]
fn paragraphs_and_items_are_divided_by_sentences() {
    check(
        "One. Two is `a. B` here (no. No), see\n[it. It](x). Three!\n",
        "One.\nTwo is `a. B` here (no. No), see [it. It](x).\nThree!\n",
    );
    check(
        "- **Bold.** More e.g. This. kubectl is one.\n- Next\n",
        "- **Bold.**\n  More e.g. This.\n  kubectl is one.\n- Next\n",
    );
    check(
        "1. One. Two\n   lines.\n\n   ```rust\n   a. B\n   ```\n",
        "1. One.\n   Two lines.\n\n   ```rust\n   a. B\n   ```\n",
    );
}

#[test]
fn tables_code_and_headings_stay() {
    let verbatim = [
        "# A. B\n",
        "| a. B | c |\n",
        "```text\na. B\n```\n",
        "    kbr a. B\n",
    ];
    for text in verbatim {
        check(text, text);
    }
}
