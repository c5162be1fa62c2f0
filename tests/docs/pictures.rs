//! The pictures of the docs show what kbr shows today, and the README's code is code that is compiled.

use std::fs;

use super::support::repository;

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).expect("readable")
}

/// The texts of a picture, from left to right and from top to bottom.
fn texts(picture: &str) -> Vec<String> {
    let parts = picture.split("<text ").skip(1);
    let text = |part: &str| {
        let (_, rest) = part.split_once('>').expect("an element");
        rest.split("</text>").next().expect("a text").to_owned()
    };
    parts.map(text).collect()
}

/// What every screen of `kbr dev` has: the labels at its top, the titles of its parts, and the keys. The page has it from a test of the
/// screen, so it is what kbr shows today.
fn labels() -> Vec<String> {
    let page = read("docs/dev.md");
    let (_, screen) = page.split_once("```text overview\n").expect("a screen");
    let screen = screen.split("\n```").next().expect("an end");
    let lines: Vec<_> = screen.lines().collect();
    let head = lines[..4]
        .iter()
        .map(|line| line.trim().split("  ").next().unwrap_or_default());
    let titles = lines
        .iter()
        .filter_map(|line| Some(line.split_once(" ──")?.0.trim()));
    let keys = lines.last().expect("keys").trim();
    head.chain(titles)
        .chain([keys])
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_picture_of_kbr_dev_has_the_texts_of_its_screen() {
    let light = texts(&read("docs/pictures/dev-light.svg"));
    let dark = texts(&read("docs/pictures/dev-dark.svg"));
    assert_eq!(light, dark);
    let labels = labels();
    assert!(labels.len() > 7, "{labels:?}");
    for label in labels {
        let shown = light
            .iter()
            .any(|text| *text == label || text.starts_with(&format!("{label} ─")));
        assert!(
            shown,
            "`make pictures`: {label:?} is not in the picture: {light:#?}"
        );
    }
}

/// The rows above this one are drawn: the operator of the picture has no webhooks.
const NOT_DRAWN: &str = "Webhooks";

#[test]
fn the_picture_of_the_dashboard_has_the_titles_of_its_panels() {
    let light = texts(&read("docs/pictures/dashboard-light.svg"));
    assert_eq!(light, texts(&read("docs/pictures/dashboard-dark.svg")));
    let dashboard: serde_json::Value =
        serde_json::from_str(&read("examples/foo/grafana/dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let titles = panels.map(|panel| panel["title"].as_str().expect("a title"));
    let drawn: Vec<_> = titles.take_while(|title| *title != NOT_DRAWN).collect();
    assert!(drawn.len() > 15, "{drawn:?}");
    for title in drawn {
        let shown = light.iter().any(|text| text == title);
        assert!(
            shown,
            "`make pictures`: {title:?} is not in the picture: {light:#?}"
        );
    }
}

#[test]
fn the_readme_shows_the_pictures_of_terminals() {
    let readme = read("README.md");
    for name in ["plan-light", "plan-dark", "dev-light", "dev-dark"] {
        let picture = format!("=\"docs/pictures/{name}.svg\"");
        assert!(readme.contains(&picture), "{picture}");
    }
}

#[test]
fn the_rust_of_the_readme_is_compiled() {
    // crates/book compiles these pages.
    let pages = ["docs/introduction.md", "docs/recipes/external.md"].map(read);
    let story = read("docs/simulation.md");
    let readme = read("README.md");
    let mut blocks = readme.split("```rust\n").skip(1);
    let first = blocks.next().expect("the line that simulates");
    let (line, _) = first.split_once(";\n```").expect("one statement");
    assert!(story.contains(&format!("`{line}`")), "{line}");
    let mut count = 0;
    for block in blocks {
        let code = block.split("```").next().expect("an end");
        assert!(pages.iter().any(|page| page.contains(code)), "{code}");
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn the_story_of_the_readme_is_that_of_the_simulation() {
    let (readme, page) = (read("README.md"), read("docs/simulation.md"));
    let (_, story) = readme.split_once("```text\n").expect("a story");
    let story = story.split("```").next().expect("an end");
    for line in story.lines() {
        assert!(page.contains(line), "{line}");
    }
}

#[test]
fn the_readme_fits_on_a_screen() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 110, "{lines} lines");
}

#[test]
fn pages_say_how_kbr_is_installed_as_kbr_itself_does() {
    let version = env!("CARGO_PKG_VERSION");
    let command = kbr_scaffold::install::shown(version);
    for page in [
        "README.md",
        "docs/guide.md",
        "docs/ci.md",
        "examples/README.md",
    ] {
        assert!(read(page).contains(command), "{page}: `{command}`");
    }
}
