//! PROJECT of any content.

use super::*;
use crate::blueprint::Blueprint;
use crate::checkout;
use crate::fuzz::{self, Corpus};
use crate::release::Release;

const INPUTS: &[&[u8]] = &[
    include_bytes!("../../../../../tests/golden/a_project_that_has_seen_every_command/out/PROJECT"),
    b"layout = 'v1'\nkbr = '0.1.0'\nname = 'captains'\ndomain = 'example.com'\nrepo = 'github.com/a/b'\nowner = 'A'\nlicense = 'mit'\n\
      [manifests]\nallow = ['unknown-function']\n",
];

const WORDS: &[&str] = &[
    "[[api]]\n",
    "[[controller]]\n",
    "[[webhook]]\n",
    "[manifests]\n",
    "\n",
    "\"",
    "'",
    "\"\"\"",
    "\\n",
    "\\u001B",
    "{{ kind }}",
    "../",
    "a.",
    "v1",
    "Captain",
    "[",
    "{ a = ",
    "owner = \"x\"\n",
    "repo = \"a.b/c\"\n",
    "license = \"none\"\n",
    "dependency = 'a = 1'\n",
    "spokes = ['v1']\n",
    "short_names = ['a']\n",
    "true",
    "-1",
    "1979-05-27",
    "#",
];

#[test]
fn project_of_any_content_is_refused_or_read_back_as_it_was_written() {
    let corpus = Corpus {
        inputs: INPUTS,
        words: WORDS,
    };
    let release = checkout::current();
    fuzz::run(corpus, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let project = match parse(&text) {
            Ok(project) => project,
            Err(error) => return drop(format!("{error:#}")),
        };
        let tables = project.tables.iter().map(|table| table.text().unwrap());
        let written = project.head.text().unwrap() + &tables.collect::<String>();
        let again = parse(&written).unwrap();
        assert_eq!(
            (&again.head, &again.tables),
            (&project.head, &project.tables)
        );
        // Rendering is slow.
        if bytes.len() % 16 == 0 {
            check_rendered(&project, &release);
        }
    });
}

/// What is accepted becomes files that are Rust, TOML and YAML, whatever the names.
fn check_rendered(project: &Project, release: &Release) {
    // Two kinds that clash are checked when the second one is created.
    let Ok(blueprint) = Blueprint::new(project, release) else {
        return;
    };
    let files = blueprint.files();
    for (path, file) in files.filter(|(path, _)| !path.starts_with("third_party/")) {
        assert!(!path.split('/').any(|part| ["", ".", ".."].contains(&part)));
        let Ok(text) = file.text(path) else {
            continue;
        };
        let (_, format) = path.rsplit_once('.').unwrap_or_default();
        let problem = match format {
            "rs" => syn::parse_file(&text).err().map(|it| it.to_string()),
            "toml" => text.parse::<toml::Table>().err().map(|it| it.to_string()),
            "yaml" => {
                let parsed = serde_saphyr::from_multiple::<serde_json::Value>(&text);
                parsed.err().map(|it| it.to_string())
            }
            _ => None,
        };
        assert_eq!(problem, None, "{path}:\n{text}");
    }
}
