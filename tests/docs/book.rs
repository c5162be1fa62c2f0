//! The pages of the book: all are in the summary, their links lead somewhere, and their commands and their Rust are run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::support::{repository, tree};

/// The pages with `console` blocks, each with the test that runs them. On other pages, commands are `sh` or `text`.
const RUN: [(&str, &str); 1] = [("guide.md", "tests/projects/guide.rs")];

/// The pages, by their paths below docs/.
fn pages() -> BTreeMap<String, String> {
    let files = tree(&repository().join("docs")).into_iter();
    let pages = files.filter(|(path, _)| is_page(path) && path != "SUMMARY.md");
    pages
        .map(|(path, bytes)| (path, String::from_utf8(bytes).expect("UTF-8")))
        .collect()
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "md")
}

/// What follows ```` ``` ```` at each start of a block.
fn fences(page: &str) -> impl Iterator<Item = &str> {
    let marks = page.lines().filter_map(|line| line.strip_prefix("```"));
    marks.step_by(2)
}

/// The text without blocks of code.
fn prose(page: &str) -> String {
    let mut code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with("    ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The targets of the links of a page.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    // Code is between backticks, so every second part is text. The text of a link may be code: `[` code `](target)`.
    let text: String = prose.split('`').step_by(2).collect();
    let links = text.split("](").skip(1);
    links
        .map(|rest| rest.split(')').next().unwrap_or_default().to_owned())
        .collect()
}

/// The anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text
            .chars()
            .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    headings.map(anchor).collect()
}

/// The problem with a link on the page at `path`, if any.
fn problem(path: &Path, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        let host = link.strip_prefix("https://").unwrap_or_default();
        let valid = host.contains('.') && !host.contains(char::is_whitespace);
        return (!valid).then_some("is not `https://…`");
    }
    let (file, anchor) = link
        .split_once('#')
        .map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let file = if file.is_empty() {
        path.to_owned()
    } else {
        path.parent().expect("a folder").join(file)
    };
    if !file.exists() {
        return Some("does not exist");
    }
    let anchor = anchor?;
    let text = fs::read_to_string(&file).unwrap_or_default();
    (!anchors(&text).contains(anchor)).then_some("has no such heading")
}

#[test]
fn each_link_leads_to_a_file_and_a_heading() {
    let mut files: Vec<PathBuf> = pages()
        .keys()
        .map(|page| repository().join("docs").join(page))
        .collect();
    files.extend(
        [
            "README.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "docs/SUMMARY.md",
        ]
        .map(|path| repository().join(path)),
    );
    let examples = fs::read_dir(repository().join("examples")).expect("examples");
    let readmes = examples.map(|entry| entry.expect("readable").path().join("README.md"));
    files.extend(readmes.filter(|path| path.exists()));
    let (mut count, mut dead) = (0, Vec::new());
    for file in files {
        for link in links(&fs::read_to_string(&file).expect("readable")) {
            count += 1;
            if let Some(problem) = problem(&file, &link) {
                dead.push(format!("{}: `{link}` {problem}", file.display()));
            }
        }
    }
    assert!(count > 100, "{count} links");
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn each_page_is_in_the_summary_once() {
    let summary = fs::read_to_string(repository().join("docs/SUMMARY.md")).expect("readable");
    let mut listed = links(&summary);
    listed.sort();
    assert_eq!(listed, pages().into_keys().collect::<Vec<_>>());
}

#[test]
fn each_page_has_one_title() {
    for (path, page) in pages() {
        let titles = prose(&page)
            .lines()
            .filter(|line| line.starts_with("# "))
            .count();
        assert_eq!(titles, 1, "{path}");
    }
}

#[test]
fn each_example_has_a_tutorial_and_its_readme_leads_there() {
    let examples = fs::read_dir(repository().join("examples")).expect("examples");
    let examples = examples.map(|entry| entry.expect("readable").path());
    let with_readme = examples.filter(|path| path.join("README.md").exists());
    let names = with_readme.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let names: BTreeSet<_> = names.collect();
    let tutorials = pages().into_iter().filter_map(|(path, page)| {
        let name = path.strip_prefix("tutorials/")?.strip_suffix(".md")?;
        Some((name.to_owned(), page))
    });
    let tutorials: BTreeMap<_, _> = tutorials.collect();
    assert_eq!(names, tutorials.keys().cloned().collect());
    for (name, page) in tutorials {
        assert!(
            page.contains(&format!("(../../examples/{name}/README.md)")),
            "{name}"
        );
        let readme = repository().join(format!("examples/{name}/README.md"));
        let readme = fs::read_to_string(readme).expect("readable");
        assert!(
            readme.contains(&format!("(../../docs/tutorials/{name}.md)")),
            "{name}"
        );
    }
}

#[test]
fn each_console_block_is_run() {
    for (path, page) in pages() {
        let console = fences(&page).any(|mark| mark.split_whitespace().next() == Some("console"));
        let test = RUN.iter().find(|(run, _)| *run == path);
        assert_eq!(
            console,
            test.is_some(),
            "docs/{path}: no test runs its `console` blocks; write `sh` or `text`"
        );
        let Some((_, test)) = test else { continue };
        let test = fs::read_to_string(repository().join(test)).expect("a test");
        assert!(
            test.contains(&format!("docs/{path}")),
            "the test of docs/{path}"
        );
    }
}

#[test]
fn each_block_of_rust_is_compiled() {
    let library =
        fs::read_to_string(repository().join("crates/book/src/lib.rs")).expect("readable");
    let compiled: BTreeSet<_> = library
        .split('"')
        .skip(1)
        .step_by(2)
        // Not a README of a crate, whose links and tables are its own.
        .filter(|path| is_page(path) && !path.starts_with("../"))
        .map(str::to_owned)
        .collect();
    let mut with_rust = BTreeSet::new();
    for (path, page) in pages() {
        for mark in fences(&page) {
            let words: Vec<_> = mark.split([' ', ',']).collect();
            if words[0] != "rust" {
                continue;
            }
            assert!(!words.contains(&"ignore"), "docs/{path}: `{mark}`");
            // A part of an example, which is compiled with it: see `each_part_of_an_example_is_in_it`.
            if words.iter().any(|word| word.starts_with("from=")) {
                continue;
            }
            // `crates/book/build.rs` takes all of these.
            if path.starts_with("recipes/") {
                assert_eq!(mark, "rust", "docs/{path}");
                continue;
            }
            // A file of a project, which is compiled with the project.
            if words.iter().any(|word| word.starts_with("file=")) {
                assert!(
                    RUN.iter().any(|(run, _)| *run == path),
                    "docs/{path}: `{mark}`"
                );
            } else {
                with_rust.insert(path.clone());
            }
        }
    }
    assert_eq!(
        compiled, with_rust,
        "the pages in crates/book/src/lib.rs, and those with Rust"
    );
}

#[test]
fn each_part_of_an_example_is_in_it() {
    let mut count = 0;
    for (path, page) in pages() {
        for block in page.split("\n```rust from=").skip(1) {
            let (file, code) = block.split_once('\n').expect("a block");
            let code = code.split("```").next().expect("an end");
            let text = fs::read_to_string(repository().join(file)).expect("readable");
            assert!(text.contains(code), "docs/{path}: not in {file}:\n{code}");
            count += 1;
        }
    }
    assert!(count > 5, "{count}");
}
