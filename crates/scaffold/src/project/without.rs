//! Removes tables, or some of their keys, from the text of PROJECT.

use std::ops::Range;

use super::{Project, Table, parse};
use crate::tables;

/// The text of PROJECT with `after` in place of its tables, in their order: `None` removes a table, a changed one loses or changes
/// keys. Comments above a table stay. `None` if the text has a form in which the tables cannot be separated from the rest.
///
/// # Errors
/// A value cannot be written as TOML.
pub fn without(text: &str, after: &[Option<Table>]) -> anyhow::Result<Option<String>> {
    let Ok(mut wanted) = parse(text) else {
        return Ok(None);
    };
    let all = tables::tables(text);
    let tables: Vec<&[tables::Table]> = recorded(&all).collect();
    if tables.len() != after.len() || wanted.tables.len() != after.len() {
        return Ok(None);
    }
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for ((before, table), found) in wanted.tables.iter().zip(after).zip(tables) {
        match table {
            Some(table) if table == before => {}
            Some(table) => edits.extend(changed_keys(text, before, table, found)?),
            None => edits.push((whole(text, found), String::new())),
        }
    }
    wanted.tables = after.iter().flatten().cloned().collect();
    let new = edited(text, edits);
    Ok(matches(&new, &wanted).then_some(new))
}

/// Whether `text` describes exactly `project`.
fn matches(text: &str, project: &Project) -> bool {
    parse(text).is_ok_and(|found| found == *project)
}

/// Each table that commands record, with the tables in it, in the order of the file, as in [`Project::tables`].
fn recorded(all: &[tables::Table]) -> impl Iterator<Item = &[tables::Table]> {
    let name = |table: &tables::Table| table.path.first().cloned().unwrap_or_default();
    let is_in = move |a: &tables::Table, b: &tables::Table| b.path.len() > 1 && name(a) == name(b);
    let chunks = all.chunk_by(is_in);
    chunks.filter(move |chunk| ["api", "controller", "webhook"].contains(&&*name(&chunk[0])))
}

/// The lines of a table from its header to its last key, with the blank line above.
fn whole(text: &str, table: &[tables::Table]) -> Range<usize> {
    let end = table.iter().map(tables::Table::end).max();
    let start = table[0].header.start;
    let mut lines = tables::lines(text, &(start..end.unwrap_or(start)));
    if let Some(above) = text[..lines.start].strip_suffix('\n') {
        let start = above.rfind('\n').map_or(0, |at| at + 1);
        if above[start..].trim().is_empty() {
            lines.start = start;
        }
    }
    lines
}

/// Edits that turn the keys of `before` into those of `after`, which has no new ones.
fn changed_keys(
    text: &str,
    before: &Table,
    after: &Table,
    found: &[tables::Table],
) -> anyhow::Result<Vec<(Range<usize>, String)>> {
    let (before, after) = (before.fields()?, after.fields()?);
    let mut edits = Vec::new();
    for entry in &found[0].entries {
        let name = entry.path[0].as_str();
        match (before.get(name), after.get(name)) {
            (Some(_), None) => {
                let range = entry.key.start..entry.value.end;
                edits.push((tables::lines(text, &range), String::new()));
            }
            (Some(old), Some(new)) if old != new => {
                edits.push((entry.value.clone(), new.to_string()));
            }
            _ => {}
        }
    }
    Ok(edits)
}

fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        out.replace_range(range, &new);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "layout = \"v1\"\nkbr = \"0.1.0\"\nname = \"x\"\ndomain = \"example.com\"\n";

    fn controller(name: &str) -> String {
        format!(
            "[[controller]]\nname = \"{name}\"\ngroup = \"core\"\nfull_group = \"\"\nversion = \"v1\"\nkind = \"Pod\"\nplural = \"pods\"\nnamespaced = true\ntype = \"k8s_openapi::api::core::v1::Pod\"\n"
        )
    }

    /// `before` and `after` are what follows the head; the tables whose `kept` is false are removed.
    fn check(before: &str, kept: &[bool], after: &str) {
        let text = format!("{HEAD}{before}");
        let tables = parse(&text).unwrap().tables.into_iter().zip(kept);
        let tables: Vec<_> = tables.map(|(it, kept)| kept.then_some(it)).collect();
        let expected = format!("{HEAD}{after}");
        assert_eq!(
            without(&text, &tables).unwrap().as_deref(),
            Some(&*expected)
        );
        let windows = text.replace('\n', "\r\n");
        let expected = expected.replace('\n', "\r\n");
        assert_eq!(without(&windows, &tables).unwrap(), Some(expected));
    }

    #[test]
    fn a_table_goes_with_the_blank_line_above_it() {
        let (a, b, c) = (controller("a"), controller("b"), controller("c"));
        let all = format!("\n{a}\n{b}\n{c}");
        check(&all, &[true, true, false], &format!("\n{a}\n{b}"));
        check(&all, &[true, false, true], &format!("\n{a}\n{c}"));
        check(&all, &[false, true, true], &format!("\n{b}\n{c}"));
        check(&all, &[false, false, false], "");
        check(&format!("{a}{b}"), &[false, true], &b);
    }

    #[test]
    fn unknown_keys_go_with_their_table_and_comments_around_it_stay() {
        let (a, b) = (controller("a"), controller("b"));
        let text =
            format!("\n# of a\n{a}color = [\n  \"x\", # in a\n]\n# below a\n\n# of b\n{b}# end\n");
        check(
            &text,
            &[false, true],
            &format!("\n# of a\n# below a\n\n# of b\n{b}# end\n"),
        );
        check(&text, &[true, false], &text.replace(&b, ""));
    }

    #[test]
    fn a_table_in_another_form_is_not_guessed() {
        let (_, keys) = HEAD.split_once('\n').unwrap();
        let inline = "controller = [{ name = \"a\", group = \"core\", full_group = \"\", version = \"v1\", kind = \"Pod\", plural = \"pods\", namespaced = true, type = \"k8s_openapi::api::core::v1::Pod\" },\n]\n";
        let text = format!("layout = \"v1\"\n{keys}{inline}");
        assert_eq!(without(&text, &[None]).unwrap(), None);
    }

    #[test]
    fn keys_of_a_table_are_removed_and_changed_in_place() {
        let api = |version: &str| {
            format!(
                "[[api]]\ngroup = \"crew\"\nfull_group = \"crew.example.com\"\nversion = \"{version}\"\nkind = \"Captain\"\nplural = \"captains\"\nsingular = \"captain\"\nnamespaced = true\n\n"
            )
        };
        let webhook = |keys: &str| {
            let (api, keys) = (api("v2"), keys.to_owned());
            let api = api.replace("[[api]]", "[[webhook]]");
            let api = api.replace("singular = \"captain\"\n", "");
            format!(
                "{}# mine\n{keys}mood = 1\n",
                api.trim_end().to_owned()
                    + "\ntype = \"api::crew::v2::Captain\"\nexternal_crate = \"\"\n"
            )
        };
        let kinds = [api("v1"), api("v2"), api("v3")].concat();
        let before = webhook("validation = \"/a\"\nspokes = [\n  \"v1\", # old\n  \"v3\"]\n");
        let after = webhook("spokes = [\"v1\"]\n");
        let text = format!("{HEAD}\n{kinds}{before}");
        let mut tables = parse(&text).unwrap().tables;
        let Some(Table::Webhook(last)) = tables.last_mut() else {
            panic!("a webhook");
        };
        last.validation.clear();
        last.spokes = vec!["v1".to_owned()];
        let tables: Vec<_> = tables.into_iter().map(Some).collect();
        let expected = format!("{HEAD}\n{kinds}{after}");
        assert_eq!(without(&text, &tables).unwrap(), Some(expected));
    }
}
