//! Objects that their type cannot read. A conversion review must return every object, so they keep their content, and
//! an annotation holds the fields that another version would drop.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The maximum total size of annotations in bytes, names and values together, that the API server accepts.
const MOST: usize = 256 << 10;

/// The name of the annotation, for the kinds of a group.
pub(super) fn annotation(group: &str) -> String {
    format!("{group}/unconverted")
}

/// An object as it was before it was converted, without its metadata.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Original {
    api_version: String,
    /// Distinguishes the object from another one with copied annotations.
    uid: Value,
    /// The API server increments it when the content changes, in any version.
    generation: Value,
    fields: Map<String, Value>,
}

impl Original {
    pub(super) fn of(object: &Value) -> Self {
        let meta = &object["metadata"];
        Self {
            api_version: object["apiVersion"].as_str().unwrap_or_default().to_owned(),
            uid: meta["uid"].clone(),
            generation: meta["generation"].clone(),
            fields: content(object).map(own).collect(),
        }
    }

    /// The content of `object` before it was converted, from its annotation. The annotation is removed.
    pub(super) fn take(object: &mut Value, annotation: &str) -> Option<Self> {
        let meta = object.get_mut("metadata")?.as_object_mut()?;
        let annotations = meta.get_mut("annotations")?.as_object_mut()?;
        let text = annotations.get(annotation)?.as_str()?;
        let original = serde_json::from_str(text).ok()?;
        annotations.remove(annotation);
        if annotations.is_empty() {
            meta.remove("annotations");
        }
        Some(original)
    }

    /// The version of this content.
    pub(super) fn version(&self) -> &str {
        &self.api_version
    }

    /// Whether `object` was converted from this content.
    pub(super) fn is_of(&self, object: &Value) -> bool {
        self.uid == object["metadata"]["uid"]
    }

    /// Whether `object`, which was converted from this content, is unchanged. `read` reads an object as its type does.
    ///
    /// The generation decides, because only the API server knows which fields it has dropped.
    pub(super) fn is_unchanged(
        &self,
        object: &Value,
        read: impl Fn(&Value) -> Option<Value>,
    ) -> bool {
        let generation = &object["metadata"]["generation"];
        if self.generation.is_number() || generation.is_number() {
            return self.is_of(object) && self.generation == *generation;
        }
        let mut made = object.clone();
        replace(&mut made, self.fields.clone());
        let known = read(&made);
        complete(&mut made, known.as_ref());
        self.is_of(object) && made == *object
    }

    /// `object` with this content. Later changes of its status are kept.
    pub(super) fn restore(self, mut object: Value) -> Value {
        let status = object.get_mut("status").map(Value::take);
        object["apiVersion"] = self.api_version.into();
        replace(&mut object, self.fields);
        if let Some(status) = status {
            overlay(&mut object["status"], status);
        }
        object
    }

    /// `object` with this content, except where it has its own.
    pub(super) fn restore_below(self, mut object: Value) -> Value {
        object["apiVersion"] = self.api_version.into();
        let changed: Map<_, _> = content(&object).map(own).collect();
        replace(&mut object, self.fields);
        overlay(&mut object, Value::Object(changed));
        object
    }

    /// `object`, which has this content in another version, with the annotation. `known` is the object as its type
    /// reads it.
    ///
    /// # Errors
    /// If the annotation cannot be added.
    pub(super) fn keep_in(
        &self,
        mut object: Value,
        known: Option<&Value>,
        annotation: &str,
    ) -> Result<Value, String> {
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        let meta = object.get_mut("metadata").and_then(Value::as_object_mut);
        annotate(meta.ok_or("it has no metadata")?, annotation, text)?;
        complete(&mut object, known);
        Ok(object)
    }
}

/// Adds the annotation, if it fits.
fn annotate(meta: &mut Map<String, Value>, annotation: &str, text: String) -> Result<(), String> {
    let annotations = match meta.get("annotations") {
        None | Some(Value::Null) => Some(Map::new()),
        Some(annotations) => annotations.as_object().cloned(),
    };
    let mut annotations = annotations.ok_or("its annotations are not an object")?;
    annotations.insert(annotation.to_owned(), text.into());
    let sizes = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
    let size = sizes.sum::<usize>();
    if size <= MOST {
        meta.insert("annotations".to_owned(), annotations.into());
    } else {
        let name = meta.get("name").and_then(Value::as_str);
        let lost = "the object is too large for an annotation: fields that the other version lacks are lost if it is changed there";
        tracing::error!(name, size, "{lost}");
    }
    Ok(())
}

/// The fields that are not part of the content of an object.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

fn content(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !OF_EVERY_OBJECT.contains(&name.as_str()))
}

/// Replaces the content of `object`.
fn replace(object: &mut Value, content: Map<String, Value>) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| OF_EVERY_OBJECT.contains(&name.as_str()));
        fields.extend(content);
    }
}

/// Adds the defaults of the type, which are in `known`. Otherwise the API server would add them on the first write, and
/// treat that as a change of the content.
fn complete(object: &mut Value, known: Option<&Value>) {
    let fields = known.into_iter().flat_map(content);
    for (name, known) in fields.filter(|(_, known)| !known.is_null()) {
        add_missing(&mut object[name], known);
    }
}

fn add_missing(to: &mut Value, from: &Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (name, from) in from {
                if !from.is_null() {
                    add_missing(to.entry(name).or_insert(Value::Null), from);
                }
            }
        }
        (Value::Array(to), Value::Array(from)) if to.len() == from.len() => {
            for (to, from) in to.iter_mut().zip(from) {
                add_missing(to, from);
            }
        }
        (to @ Value::Null, from) => to.clone_from(from),
        _ => {}
    }
}

/// Whether two versions of an object that cannot be read differ only in other metadata.
pub(super) fn same(one: &Value, other: &Value, annotation: &str) -> bool {
    let kept = |object| Value::pointer(object, "/metadata/annotations")?.get(annotation);
    content(one).eq(content(other)) && kept(one) == kept(other)
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Writes the fields of `now` over those of `before`. Fields that `now` lacks are kept: an API server may have dropped
/// them.
fn overlay(before: &mut Value, now: Value) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (name, now) in now {
                overlay(before.entry(name).or_insert(Value::Null), now);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (before, now) in before.iter_mut().zip(now) {
                overlay(before, now);
            }
        }
        (before, now) => *before = now,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NAME: &str = "crew.example.com/unconverted";

    fn captain(meta: &Value) -> Value {
        json!({
            "apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": meta,
            "spec": { "message": 5 }, "status": { "seen": [{ "a": 1 }] },
        })
    }

    fn kept(object: &Value) -> Value {
        let mut there = object.clone();
        there["apiVersion"] = json!("crew.example.com/v2");
        let original = Original::of(object);
        original.keep_in(there, None, NAME).unwrap()
    }

    fn take(there: &mut Value) -> Original {
        Original::take(there, NAME).unwrap()
    }

    #[test]
    fn an_object_keeps_its_content_and_is_restored() {
        for meta in [
            json!({ "name": "a" }),
            json!({ "name": "a", "annotations": { "b": "c" }, "uid": "u", "generation": 3 }),
        ] {
            let mut there = kept(&captain(&meta));
            assert_eq!(there["spec"], json!({ "message": 5 }));
            let original = take(&mut there);
            assert_eq!(original.version(), "crew.example.com/v1");
            assert!(original.is_unchanged(&there, |_| None));
            assert_eq!(original.restore(there), captain(&meta));
        }
    }

    #[test]
    fn the_generation_shows_whether_the_object_was_changed() {
        let unchanged = |change: &dyn Fn(&mut Value)| {
            let meta = json!({ "name": "a", "uid": "u", "generation": 3 });
            let mut there = kept(&captain(&meta));
            change(&mut there);
            let original = take(&mut there);
            original.is_unchanged(&there, |_| None)
        };
        assert!(unchanged(&|it| it["spec"] = json!({ "default": 1 })));
        assert!(unchanged(
            &|it| it["metadata"]["labels"] = json!({ "b": "c" })
        ));
        assert!(!unchanged(&|it| it["metadata"]["generation"] = json!(4)));
        assert!(!unchanged(&|it| it["metadata"]["uid"] = json!("v")));
    }

    #[test]
    fn without_a_generation_a_change_is_detected_by_comparing_content() {
        let read = |object: &Value| {
            let mut known = json!({ "spec": { "size": 1, "message": null } });
            known["metadata"] = object["metadata"].clone();
            Some(known)
        };
        let object = captain(&json!({ "name": "a" }));
        let mut there = object.clone();
        let known = read(&there);
        there = Original::of(&object)
            .keep_in(there, known.as_ref(), NAME)
            .unwrap();
        assert_eq!(there["spec"], json!({ "message": 5, "size": 1 }));
        let original = take(&mut there);
        assert!(original.is_unchanged(&there, read));
        there["spec"]["size"] = json!(2);
        assert!(!original.is_unchanged(&there, read));
        assert_eq!(
            original.restore_below(there)["spec"],
            json!({ "message": 5, "size": 2 })
        );
    }

    #[test]
    fn later_changes_of_the_status_are_kept() {
        let mut there = kept(&captain(&json!({ "name": "a", "generation": 1 })));
        let original = take(&mut there);
        there["status"] = json!({ "seen": [{}], "ready": true });
        let back = original.restore(there);
        assert_eq!(
            back["status"],
            json!({ "seen": [{ "a": 1 }], "ready": true })
        );
    }

    #[test]
    fn an_annotation_with_other_content_is_kept() {
        for text in ["", "{}", "[]"] {
            let mut object = captain(&json!({ "annotations": { NAME: text } }));
            assert!(Original::take(&mut object, NAME).is_none());
            assert_eq!(object["metadata"]["annotations"][NAME], text);
        }
    }

    #[test]
    fn an_object_too_large_for_an_annotation_gets_none() {
        let mut object = captain(&json!({ "name": "a" }));
        object["spec"] = "x".repeat(MOST).into();
        assert_eq!(kept(&object)["metadata"], json!({ "name": "a" }));
    }

    #[test]
    fn an_object_without_metadata_cannot_be_kept() {
        for (meta, why) in [
            (json!("a"), "it has no metadata"),
            (
                json!({ "annotations": [] }),
                "its annotations are not an object",
            ),
        ] {
            let object = captain(&meta);
            let kept = Original::of(&object).keep_in(object, None, NAME);
            assert_eq!(kept.unwrap_err(), why);
        }
    }

    #[test]
    fn objects_are_the_same_if_only_other_metadata_differs() {
        let (a, b) = (captain(&json!({})), captain(&json!({ "labels": {} })));
        assert!(same(&a, &b, NAME));
        let annotated = kept(&a);
        assert!(!same(&a, &annotated, NAME));
        let mut changed = a.clone();
        changed["spec"]["message"] = json!(6);
        assert!(!same(&a, &changed, NAME));
    }
}
