//! A module of the library that became a crate, in the user's code: `manager::testing` is `kbr_testing`.

use super::replace::with_new_name;
use crate::edit;
use crate::upgrade::Span;

/// The first release with the crate.
pub const RELEASE: &str = "0.3.0";

const MODULE: &str = "manager::testing";
const CRATE: &str = "kbr_testing";

/// How a group begins that may have the module among its items.
const GROUP: &str = "use manager::{";

/// The longest line that rustfmt writes.
const WIDTH: usize = 100;

/// The text of a Rust file with the paths of the crate.
pub fn as_crate(text: &str, span: Span) -> String {
    if !span.includes(RELEASE) {
        return text.to_owned();
    }
    let mut after = split_groups(text);
    for root in ["", "::"] {
        let [module, crate_] = [MODULE, CRATE].map(|path| format!("{root}{path}"));
        // `use manager::testing;` keeps the name for the rest of the file.
        after = with_new_name(&after, &module, &crate_, "testing");
    }
    if after == text {
        return after;
    }
    in_order(&with_self_named(&after))
}

/// The text in which `use kbr_testing::{self}` has the name of the module: `self as testing`.
fn with_self_named(text: &str) -> String {
    let group = format!("{CRATE}::{{");
    let mut parts = text.split(&group);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result += &group;
        let items = part.trim_start();
        match items.strip_prefix("self") {
            Some(rest) if rest.trim_start().starts_with([',', '}']) => {
                result += &part[..part.len() - items.len()];
                result += "self as testing";
                result += rest;
            }
            _ => result += part,
        }
    }
    result
}

/// Takes the module out of groups: `use manager::{Key, testing::Run};` imports `manager::testing::Run` by an item of its own.
fn split_groups(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(GROUP) {
        let (before, group) = rest.split_at(at);
        let items = items(&group[GROUP.len()..]);
        let length: usize = items.iter().map(|item| item.len() + 1).sum();
        let (group, after) = group.split_at(GROUP.len() + length);
        result += before;
        let (own, others): (Vec<&str>, Vec<&str>) = items
            .iter()
            .map(|item| item.trim())
            .filter(|item| !item.is_empty())
            .partition(|item| is_of_module(item));
        if own.is_empty() || !after.starts_with(';') {
            result += group;
        } else {
            let uses = own.iter().map(|item| format!("use manager::{item}"));
            let start = result.rfind('\n').map_or(0, |at| at + 1);
            let indent = result.len() - start;
            let rest = (!others.is_empty()).then(|| group_of(&others, indent));
            let between = between(&result);
            result += &uses.chain(rest).collect::<Vec<_>>().join(&between);
        }
        rest = after;
    }
    result + rest
}

/// The items of a group, without the commas, from the text after its brace up to the brace that closes it. None if nothing closes it.
fn items(text: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, sign) in text.match_indices(['{', '}', ',']) {
        match (sign, depth) {
            ("{", _) => depth += 1,
            ("}", 1..) => depth -= 1,
            (_, 1..) => {}
            _ => {
                items.push(&text[start..at]);
                start = at + 1;
                if sign == "}" {
                    return items;
                }
            }
        }
    }
    Vec::new()
}

/// Whether an item of a group is the module, or something in it.
fn is_of_module(item: &str) -> bool {
    let rest = item.strip_prefix("testing");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
}

/// What is between a `use` item that begins at the end of `text` and another one in its place: the end of the first line, and the
/// attributes, visibility and indentation of the second.
fn between(text: &str) -> String {
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let (lines, prefix) = text.split_at(start);
    if prefix.contains(['{', ';']) {
        return "; ".to_owned();
    }
    let ending = if text.ends_with("\r\n") || lines.ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let attributes = lines.split_inclusive('\n').rev();
    let attributes = attributes.take_while(|line| line.trim_start().starts_with("#["));
    let attributes: usize = attributes.map(str::len).sum();
    let attributes = &lines[lines.len() - attributes..];
    format!(";{ending}{attributes}{prefix}")
}

/// The group of these items at this indentation, as rustfmt writes it.
fn group_of(items: &[&str], indent: usize) -> String {
    if let [item] = items
        && *item != "self"
    {
        return format!("use manager::{item}");
    }
    let is_nested = items.iter().any(|item| item.contains('{'));
    let line = format!("{GROUP}{}}}", items.join(", "));
    if !is_nested && indent + line.len() < WIDTH {
        return line;
    }
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 4));
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if !is_nested && line.len() + item.len() + 2 <= WIDTH => {
                line.extend([" ", item, ","]);
            }
            _ => lines.push(format!("{inner}{item},")),
        }
    }
    format!("{GROUP}\n{}\n{outer}}}", lines.join("\n"))
}

/// The text with the imports of the crate where rustfmt sorts them.
fn in_order(text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let mut at = 0;
    while at < lines.len() {
        let is_import = lines[at].trim_start().starts_with(&format!("use {CRATE}"));
        let end = lines[at..].iter().position(|line| line.contains(';'));
        let Some(end) = end.filter(|_| is_import) else {
            at += 1;
            continue;
        };
        let attributes = lines[..at].iter().rev();
        let attributes = attributes.take_while(|line| line.trim_start().starts_with("#["));
        let start = at - attributes.count();
        let item = lines[at..=at + end].concat();
        at += end + 1;
        let place = edit::place(&lines[..start], &item);
        lines[place..at].rotate_left(start - place);
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let [from, to] = ["0.2.0", "0.3.0"];
        assert_eq!(as_crate(text, Span { from, to }), expected);
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let moved = as_crate(&crlf(text), Span { from: "0.1.0", to });
        assert_eq!(moved.replace("\r\n", "\n"), expected);
    }

    #[test]
    fn a_path_of_the_module_is_one_of_the_crate() {
        check(
            "use manager::testing::{FakeApi, is_ready};\nmanager::testing::eventually();\n",
            "use kbr_testing::{FakeApi, is_ready};\nkbr_testing::eventually();\n",
        );
        check(
            "    ::manager::testing::review(a)\n",
            "    ::kbr_testing::review(a)\n",
        );
        check("/// [`manager::testing`]\n", "/// [`kbr_testing`]\n");
    }

    #[test]
    fn an_imported_module_keeps_its_name_for_the_rest_of_the_file() {
        check(
            "use manager::testing;\ntesting::review(a);\n",
            "use kbr_testing as testing;\ntesting::review(a);\n",
        );
        check(
            "pub use manager::testing as t;\n",
            "pub use kbr_testing as t;\n",
        );
        check(
            "pub(crate) use manager::testing;\n",
            "pub(crate) use kbr_testing as testing;\n",
        );
        check(
            "use manager::testing::{self, FakeApi};\n",
            "use kbr_testing::{self as testing, FakeApi};\n",
        );
        check(
            "use manager::testing::{\n    self,\n    FakeApi,\n};\nuse kbr_testing::{self as t, Run};\n",
            "use kbr_testing::{\n    self as testing,\n    FakeApi,\n};\nuse kbr_testing::{self as t, Run};\n",
        );
        check(
            "use manager::{Key, testing};\n",
            "use kbr_testing as testing;\nuse manager::Key;\n",
        );
    }

    #[test]
    fn an_item_of_a_group_becomes_an_import_of_its_own() {
        check(
            "    use manager::{\n        Action, Manager,\n        testing::{FakeApi, eventually},\n    };\n",
            "    use kbr_testing::{FakeApi, eventually};\n    use manager::{Action, Manager};\n",
        );
        check(
            "use manager::{Key, testing::Run, webhook::{Request, User}};\n",
            "use kbr_testing::Run;\nuse manager::{\n    Key,\n    webhook::{Request, User},\n};\n",
        );
        check(
            "#[cfg(test)]\npub use manager::{self, testing::FakeApi, testing::Run};\n",
            "#[cfg(test)]\npub use kbr_testing::FakeApi;\n#[cfg(test)]\npub use kbr_testing::Run;\n#[cfg(test)]\npub use manager::{self};\n",
        );
        check(
            "use manager::{testing::FakeApi};\n",
            "use kbr_testing::FakeApi;\n",
        );
        check(
            "fn a() { use manager::{Key, testing::Run}; }\n",
            "fn a() { use kbr_testing::Run; use manager::Key; }\n",
        );
        let long: Vec<String> = (0..9).map(|n| format!("AnImportedName{n}")).collect();
        check(
            &format!("use manager::{{{}, testing::Run}};\n", long.join(", ")),
            &format!(
                "use kbr_testing::Run;\nuse manager::{{\n    {},\n    {},\n}};\n",
                long[..5].join(", "),
                long[5..].join(", ")
            ),
        );
    }

    #[test]
    fn an_import_moves_to_where_rustfmt_sorts_it() {
        check(
            "use api::A;\nuse kube::{\n    Api, Client,\n};\nuse manager::testing::{\n    FakeApi,\n    Run,\n};\n",
            "use api::A;\nuse kbr_testing::{\n    FakeApi,\n    Run,\n};\nuse kube::{\n    Api, Client,\n};\n",
        );
        check(
            "use std::io;\n\nuse kube::Api;\n#[cfg(test)]\nuse manager::testing::Run;\n\nuse super::*;\n",
            "use std::io;\n\n#[cfg(test)]\nuse kbr_testing::Run;\nuse kube::Api;\n\nuse super::*;\n",
        );
    }

    #[test]
    fn other_code_stays() {
        for text in [
            "use manager::{Key, testing_ground::Run};\n",
            "use crate::manager::testing::Run;\nmy_manager::testing::run();\n",
            "use kube::Api;\nuse kbr_testing::Run;\n",
            "use manager::{Key, testing::Run",
            "use manager::{",
        ] {
            check(text, text);
        }
        let text = "use manager::testing::FakeApi;\n";
        let [from, to] = ["0.1.0", "0.2.0"];
        assert_eq!(as_crate(text, Span { from, to }), text);
    }
}
