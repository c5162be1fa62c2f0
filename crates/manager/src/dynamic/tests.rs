//! Test the JSON of objects of dynamic kinds.

use std::sync::LazyLock;

use k8s_openapi::{ClusterResourceScope, api::core::v1::ConfigMap};
use kube::api::{DynamicObject, GroupVersionKind, PartialObjectMeta};
use serde_json::json;

use super::*;
use crate::cache::{object::Object, stripped::Stripped};

enum Ox {}

impl DynamicKind for Ox {
    type Scope = ClusterResourceScope;

    fn resource() -> &'static ApiResource {
        static OXEN: LazyLock<ApiResource> = LazyLock::new(|| {
            let kind = GroupVersionKind::gvk("farm.example.com", "v1", "Ox");
            ApiResource::from_gvk_with_plural(&kind, "oxen")
        });
        &OXEN
    }
}

fn ox() -> Value {
    json!({
        "apiVersion": "farm.example.com/v1",
        "kind": "Ox",
        "metadata": {"name": "a"},
        "spec": {"pulls": ["plough"], "weight": 0.1},
        "immutable": null,
        "status": {"phase": "Grazing"},
    })
}

fn read(object: &Value) -> serde_json::Result<Dynamic<Ox>> {
    serde_json::from_str(&object.to_string())
}

fn written(object: &Dynamic<Ox>) -> String {
    serde_json::to_value(object).unwrap_err().to_string()
}

#[test]
fn an_object_is_written_as_it_was_read() {
    let object = read(&ox()).unwrap();
    assert_eq!(
        object.data,
        json!({"spec": ox()["spec"], "immutable": null})
    );
    assert_eq!(object.status.as_ref().unwrap()["phase"], "Grazing");
    assert_eq!(serde_json::to_value(&object).unwrap(), ox());
}

#[test]
fn an_object_without_type_gets_its_own() {
    let object = read(&json!({"metadata": {"name": "a"}})).unwrap();
    assert_eq!(object, Dynamic::new("a", json!({})));
    let written = serde_json::to_value(Dynamic::<Ox>::new("a", Value::Null)).unwrap();
    let expected =
        json!({"apiVersion": "farm.example.com/v1", "kind": "Ox", "metadata": {"name": "a"}});
    assert_eq!(written, expected);
}

#[test]
fn an_object_of_another_kind_or_version_is_rejected() {
    for (field, value, error) in [
        (
            "kind",
            "Cow",
            "expected Ox of farm.example.com/v1, found Cow of farm.example.com/v1",
        ),
        (
            "apiVersion",
            "v2",
            "expected Ox of farm.example.com/v1, found Ox of v2",
        ),
    ] {
        let mut object = ox();
        object[field] = json!(value);
        assert_eq!(read(&object).unwrap_err().to_string(), error);
    }
}

#[test]
fn fields_that_are_not_data_cannot_be_written() {
    let status = Dynamic::<Ox>::new("a", json!({"status": {}}));
    let error = "`data` of kind Ox must not contain `status`, which the object has beside it";
    assert_eq!(written(&status), error);
    let list = Dynamic::<Ox>::new("a", json!([]));
    assert_eq!(written(&list), "`data` of kind Ox is not a JSON object");
}

#[test]
fn managed_fields_are_dropped_while_an_object_is_read() {
    let mut object = ox();
    object["metadata"]["managedFields"] = json!([{"manager": "m"}]);
    object["spec"]["metadata"] = json!({"managedFields": "kept"});
    let text = object.to_string();
    let Stripped(dynamic) = serde_json::from_str::<Stripped<Dynamic<Ox>>>(&text).unwrap();
    assert!(dynamic.metadata.managed_fields.is_none());
    assert_eq!(dynamic.data["spec"]["metadata"]["managedFields"], "kept");
}

#[test]
fn a_dynamic_kind_counts_as_any_other() {
    fn is_object<K: Object>() {}
    is_object::<Dynamic<Ox>>();
    is_object::<PartialObjectMeta<Dynamic<Ox>>>();
    assert_eq!(
        Dynamic::<Ox>::url_path(&(), None),
        "/apis/farm.example.com/v1/oxen"
    );
    let object: DynamicObject = serde_json::from_value(ox()).unwrap();
    assert_eq!(
        object.try_parse::<Dynamic<Ox>>().unwrap(),
        read(&ox()).unwrap()
    );
    let map = serde_json::to_value(ConfigMap::default()).unwrap();
    assert!(read(&map).is_err());
}
