//! Removes tables, or some of their keys, from the text of PROJECT.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Project, Table, parse};

/// The text of PROJECT with `after` in place of its tables, in their order: `None` removes a table, a changed one loses or changes
/// keys. Comments above a table stay. `None` if the text has a form in which the tables cannot be separated from the rest.
///
/// # Errors
/// A value cannot be written as TOML.
pub fn without(text: &str, after: &[Option<Table>]) -> anyhow::Result<Option<String>> {
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (Ok(parsed), Ok(mut wanted)) = (DeTable::parse(plain), parse(plain)) else {
        return Ok(None);
    };
    let tables = tables(parsed.get_ref());
    if tables.len() != after.len() || wanted.tables.len() != after.len() {
        return Ok(None);
    }
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for ((before, table), spanned) in wanted.tables.iter().zip(after).zip(&tables) {
        match table {
            Some(table) if table == before => {}
            Some(table) => edits.extend(changed_keys(plain, before, table, spanned.get_ref())?),
            None => edits.push((whole(plain, spanned), String::new())),
        }
    }
    wanted.tables = after.iter().flatten().cloned().collect();
    let new = edited(plain, edits);
    let mark = &text[..text.len() - plain.len()];
    Ok(is(&new, &wanted).then(|| format!("{mark}{new}")))
}

/// Whether `text` describes exactly `project`.
fn is(text: &str, project: &Project) -> bool {
    parse(text).is_ok_and(|found| found == *project)
}

/// All tables, in the order of the file, as in [`Project::tables`].
fn tables<'a>(parsed: &'a DeTable<'a>) -> Vec<&'a Spanned<DeValue<'a>>> {
    let names = ["api", "controller", "webhook"];
    let arrays = names.iter().filter_map(|name| parsed.get(*name));
    let mut tables: Vec<_> = arrays
        .filter_map(|array| array.get_ref().as_array())
        .flat_map(|array| array.iter())
        .collect();
    tables.sort_by_key(|table| table.span().start);
    tables
}

/// The lines of a table from its header to its last key, with the blank line above.
fn whole(text: &str, table: &Spanned<DeValue>) -> Range<usize> {
    let mut lines = lines(text, table.span().start..end(table));
    if let Some(above) = text[..lines.start].strip_suffix('\n') {
        let start = above.rfind('\n').map_or(0, |at| at + 1);
        if above[start..].trim().is_empty() {
            lines.start = start;
        }
    }
    lines
}

/// The end of the last value in it.
fn end(value: &Spanned<DeValue>) -> usize {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.values().map(end).max(),
        DeValue::Array(array) => array.iter().map(end).max(),
        _ => None,
    };
    inner.unwrap_or_default().max(value.span().end)
}

/// The whole lines around `range`.
fn lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n');
    start..end.map_or(text.len(), |at| range.end + at + 1)
}

/// Edits that turn the keys of `before` into those of `after`, which has no new ones.
fn changed_keys(
    text: &str,
    before: &Table,
    after: &Table,
    table: &DeValue,
) -> anyhow::Result<Vec<(Range<usize>, String)>> {
    let (before, after) = (before.fields()?, after.fields()?);
    let mut edits = Vec::new();
    for (key, value) in table.as_table().into_iter().flatten() {
        let name: &str = key.get_ref();
        match (before.get(name), after.get(name)) {
            (Some(_), None) => {
                let range = key.span().start..end(value);
                edits.push((lines(text, range), String::new()));
            }
            (Some(old), Some(new)) if old != new => edits.push((value.span(), new.to_string())),
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
