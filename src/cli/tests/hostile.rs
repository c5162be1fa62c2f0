//! What no file of an import may have of the text that the fuzzers plant in a CRD or a Go project.

use std::collections::BTreeSet;

use kbr_scaffold::changes::Change;
use kbr_scaffold::quote::{is_marker, is_plain};
use kbr_scaffold::rust::comments::lex;
use kbr_scaffold::rust::parse::is_valid;
use proc_macro2::{TokenStream, TokenTree};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::planted::{data, is_yaml, yaml};

/// How planted markers begin.
const GRANTS: [&str; 2] = [
    "kbr:rbac:groups=plánted",
    "kubebuilder:webhook:path=/plánted",
];

/// Checks that no planted text has left its literal or comment in what a command would write.
pub fn check(changes: &[Change]) -> Result<(), String> {
    for change in changes {
        let path = &change.path;
        let text = String::from_utf8(change.after.clone()).map_err(|error| error.to_string())?;
        if !path.chars().all(is_plain) {
            return Err(format!("{path:?}: the name of a file"));
        }
        if !text.contains('á') {
            continue;
        }
        let found = match path.rsplit_once('.') {
            Some((_, "rs")) => rust(&text),
            _ if is_yaml(path) => yaml(&text),
            Some((_, "toml")) => toml(&text),
            _ if path == "PROJECT" => toml(&text),
            Some((_, "md")) => markdown(&text),
            _ => Err("planted text in a file of another language".to_owned()),
        };
        found.map_err(|what| format!("{path}: {what}\n{text}"))?;
        // Kubernetes reads tabs in a block of YAML as kbr does.
        let is_odd = |it: &char| !is_plain(*it) && *it != '\n' && (*it != '\t' || !is_yaml(path));
        if let Some(odd) = text.chars().find(is_odd) {
            return Err(format!("{path}: {odd:?} is not visible\n{text}"));
        }
    }
    Ok(())
}

/// What is more than text in a doc comment: code, which is a test, HTML and scripts.
const ACTIVE: [&str; 7] = [
    "    ",
    "```",
    "~~~",
    "<script",
    "<!--",
    "(javascript",
    ": javascript",
];

fn rust(text: &str) -> Result<(), String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("not Rust: {error}"))?;
    if !is_valid(text) {
        return Err("not Rust".to_owned());
    }
    code(tokens)?;
    for line in text.lines().map(str::trim_start) {
        let is_planted = line.starts_with("///") && line.contains('á');
        let mut active = ACTIVE.iter().filter(|it| is_planted && line.contains(**it));
        if let Some(active) = active.next() {
            return Err(format!("rustdoc reads {active:?}"));
        }
    }
    let lexed = lex(text).map_err(|open| format!("the {} has no end", open.what))?;
    let mut scaffold = BTreeSet::new();
    for marker in lexed.comments.iter().filter(|it| is_marker(&it.text)) {
        let name = marker.text.trim_start_matches(['+', '@', ' ']);
        let is_twice = name.starts_with("kbr:scaffold:") && !scaffold.insert(name);
        if is_twice || GRANTS.iter().any(|grant| name.starts_with(grant)) {
            return Err(format!("line {}: a marker", marker.line));
        }
    }
    Ok(())
}

/// The arguments of attributes that are Rust in a literal.
const CODE: [&str; 8] = [
    "attr",
    "crate",
    "default",
    "derive",
    "schema_with",
    "serialize_with",
    "status",
    "with",
];

fn code(tokens: TokenStream) -> Result<(), String> {
    let mut before = [String::new(), String::new()];
    for token in tokens {
        let text = token.to_string();
        let [key, equals] = &before;
        let is_code = equals == "=" && CODE.contains(&key.as_str());
        match &token {
            TokenTree::Group(group) => code(group.stream())?,
            TokenTree::Literal(_) if !is_code => {}
            _ if text.contains('á') => {
                let line = token.span().start().line;
                return Err(format!("line {line}: `{text}` is code"));
            }
            _ => {}
        }
        before = [std::mem::take(&mut before[1]), text];
    }
    Ok(())
}

fn toml(text: &str) -> Result<(), String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    data(&serde_json::to_value(table).map_err(|error| error.to_string())?)
}

/// Text, code and the lines of kbr's own lists and tables: no HTML, link, picture or heading.
fn markdown(text: &str) -> Result<(), String> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_GFM;
    let mut is_heading = false;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => is_heading = true,
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            Event::Text(text) | Event::Code(text) if is_heading && text.contains('á') => {
                return Err(format!("{text:?} is a heading"));
            }
            Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak
            | Event::TaskListMarker(_)
            | Event::End(_)
            | Event::Start(
                Tag::Paragraph
                | Tag::List(None)
                | Tag::Item
                | Tag::Table(_)
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell,
            ) => {}
            other => return Err(format!("{other:?} in Markdown")),
        }
    }
    Ok(())
}

/// A CRD with all that kbr writes of one.
pub fn crd() -> Value {
    serde_saphyr::from_str(include_str!("hostile/crd.yaml")).unwrap()
}

/// Names, without which nothing of a CRD is read, and types, without which it says little.
pub fn is_name_of_crd(path: &str) -> bool {
    let is_head = [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/spec/group",
        "/spec/scope",
    ];
    let names =
        ["kind", "plural", "singular", "shortNames/-"].map(|it| format!("/spec/names/{it}"));
    is_head.contains(&path)
        || names.iter().any(|it| it == path)
        || path.starts_with("/spec/versions/-/") && path.matches('/').count() == 4
        || path.ends_with("/type") && path.contains("/openAPIV3Schema/")
        || ["/metadata", "/spec", "/spec/names", "/spec/versions"].contains(&path)
        || path.ends_with("/openAPIV3Schema")
        || path.ends_with("/properties")
}
