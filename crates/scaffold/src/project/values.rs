//! Rules for the values of PROJECT that become text in the project's files, but are no names.

use super::spdx;
use crate::quote::is_plain;

/// Why `repo` is invalid, as a sentence: it becomes a string of `Cargo.toml`.
pub fn repo_problem(repo: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\<>`".contains(&byte);
    (!repo.bytes().all(fits)).then(|| format!("`{}` is not a repository", repo.escape_debug()))
}

/// Why `owner` is invalid, as a sentence: it becomes a part of a line of the license.
pub fn owner_problem(owner: &str) -> Option<String> {
    (!is_line(owner)).then(|| {
        let owner = owner.escape_debug();
        format!("the owner `{owner}` is not one line of text")
    })
}

/// Why `license` is invalid, as a sentence: it selects a template.
pub fn license_problem(license: &str) -> Option<String> {
    let is_known = ["", "none"].contains(&license) || !spdx(license).is_empty();
    (!is_known).then(|| {
        let license = license.escape_debug();
        format!("`{license}` is not a license: kbr knows `apache2`, `mit` and `none`")
    })
}

/// Why `dependency` is invalid, as a sentence: it becomes a line of `Cargo.toml`.
pub fn dependency_problem(dependency: &str) -> Option<String> {
    let table = dependency.parse::<toml::Table>();
    // Empty if the manifest already had the crate.
    // A header would be one of a table of its own.
    let is_header = dependency.trim_start().starts_with('[');
    let is_one = table.is_ok_and(|table| table.len() <= 1) && !is_header && is_line(dependency);
    (!is_one).then(|| {
        let dependency = dependency.escape_debug();
        format!("`{dependency}` is not one dependency of `Cargo.toml`")
    })
}

/// Whether `text` is one line that everyone sees as it is; in some scripts, words have invisible joiners.
fn is_line(text: &str) -> bool {
    text.chars()
        .all(|it| is_plain(it) || ['\u{a0}', '\u{200c}', '\u{200d}'].contains(&it))
}
