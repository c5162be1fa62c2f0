//! The descriptions of fields: truncated like by controller-gen's `maxDescLen`, and those that are lost.

use serde_json::Value;

use super::tidy::each;

/// Truncates every description in `schema` to at most `most` bytes; 0 removes them.
pub fn truncate(schema: &mut Value, most: usize) {
    each(schema, &mut |schema| {
        if most == 0 {
            schema.remove("description");
        }
        if let Some(Value::String(text)) = schema.get_mut("description")
            && let Some(short) = shorter(text, most)
        {
            *text = short;
        }
    });
}

/// Gives each field the description that `lost` returns for its path and description, if any: kube drops the comment of an
/// `Option<Enum>` whose variants have comments.
pub fn restore<'d>(schema: &mut Value, path: &str, lost: &impl Fn(&str, &str) -> Option<&'d str>) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let description = object.get("description").and_then(Value::as_str);
    if let Some(comment) = description.and_then(|it| lost(path, it)) {
        object.insert("description".to_owned(), comment.into());
    }
    for (key, value) in object {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                for (name, field) in fields {
                    restore(field, &format!("{path}.{name}"), lost);
                }
            }
            ("items", child) => restore(child, &format!("{path}[]"), lost),
            ("additionalProperties", child) => restore(child, &format!("{path}[*]"), lost),
            _ => {}
        }
    }
}

/// `text` up to the last full sentence that fits, otherwise the last full word; `None` if `text` is short enough.
fn shorter(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    // controller-gen may split a character here.
    let whole = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..whole.unwrap_or(0)];
    let ends = |c: char| ".!?։؟۔।॥。．！？".contains(c);
    let after = |at: usize| at + text[at..].chars().next().map_or(0, char::len_utf8);
    Some(match (text.rfind(ends), text.rfind(char::is_whitespace)) {
        (Some(at), _) if at > 0 => text[..after(at)].to_owned(),
        (_, Some(at)) if at > 0 => format!("{}...", &text[..at]),
        _ => format!("{text}..."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source_map::SourceMap;
    use kbr_scaffold::rust::Source;
    use serde_json::json;

    #[test]
    fn a_description_ends_after_a_sentence_or_else_after_a_word() {
        let check = |text: &str, most: usize, expected: Option<&str>| {
            assert_eq!(
                shorter(text, most).as_deref(),
                expected,
                "{text:?} to {most}"
            );
        };
        check("One. Two three.", 15, None);
        check("One. Two three.", 14, Some("One."));
        check("One. Two three.", 4, Some("One."));
        check("One. Two three.", 3, Some("One..."));
        check("One two three", 10, Some("One two..."));
        check("One\ntwo", 5, Some("One..."));
        check("Oneword", 3, Some("One..."));
        check(".dotfile is hidden", 10, Some(".dotfile..."));
        check("één", 1, Some("..."));
        check("三。四", 7, Some("三。"));
    }

    #[test]
    fn a_field_gets_its_own_comment_back_unless_it_has_none() {
        let source = "/// K.\n#[kube(version = \"v1\", kind = \"A\")]\nstruct ASpec {\n    /// Field a.\n    ///\n    /// More.\n    a: Option<Mode>,\n    b: Option<Mode>,\n    #[schemars(description = \"Field c.\")]\n    c: Vec<Inner>,\n}\n/// Type.\nenum Mode { Fast }\nstruct Inner {\n    /** Field d. */\n    d: Option<Mode>,\n}\n";
        let map = SourceMap::new(&[Source::new("a.rs", source)], &[]);
        let text = |text: &str| json!({ "description": text });
        let schema = |a: &str, d: &str| {
            let items = json!({ "description": "Type.", "properties": { "d": text(d) } });
            let c = json!({ "description": "Field c.", "items": items });
            let spec = json!({ "description": "K.", "properties": { "a": text(a), "b": text("Type."), "c": c } });
            json!({ "properties": { "spec": spec } })
        };
        let mut lossy = schema("Type.", "Type.");
        restore(&mut lossy, "", &|path, it| {
            map.lost_comment(("A", "v1"), path, it)
        });
        assert_eq!(lossy, schema("Field a.\n\nMore.", "Field d."));
        let mut other = schema("Of schemars.", "Field d.");
        restore(&mut other, "", &|path, it| {
            map.lost_comment(("A", "v1"), path, it)
        });
        assert_eq!(other, schema("Of schemars.", "Field d."));
    }

    #[test]
    fn every_description_of_a_schema_is_truncated_but_data_is_not() {
        let text = |text: &str| json!({ "description": text });
        let mut schema = json!({
            "description": "A b", "default": text("A b"), "enum": [text("A b")], "example": text("A b"),
            "properties": { "description": text("A b"), "x": { "items": text("A b"), "additionalProperties": text("A b") } },
            "allOf": [text("A b")],
        });
        truncate(&mut schema, 2);
        let cut = text("A...");
        assert_eq!(
            schema,
            json!({
                "description": "A...", "default": text("A b"), "enum": [text("A b")], "example": text("A b"),
                "properties": { "description": cut, "x": { "items": cut, "additionalProperties": cut } },
                "allOf": [cut],
            })
        );
        truncate(&mut schema, 0);
        assert_eq!(
            schema,
            json!({
                "default": text("A b"), "enum": [text("A b")], "example": text("A b"),
                "properties": { "description": {}, "x": { "items": {}, "additionalProperties": {} } },
                "allOf": [{}],
            })
        );
    }
}
