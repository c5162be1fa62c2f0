//! Schemas that are not structural, and extensions that contradict each other.

use serde_json::{Value, json};

use super::Finding;
use super::node::{Level, Node};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const ANYTHING: &str =
    "`#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]` lets anything in";

/// Keywords that a CRD cannot have anywhere, and what to write instead.
const UNSUPPORTED: [(&str, &str, &str); 7] = [
    (
        "$ref",
        "a type that contains itself has no end, and a CRD has to write it out",
        "break the circle: give the inner field `#[schemars(schema_with = \"…\")]` with a schema of `type: object` and `x-kubernetes-preserve-unknown-fields: true`, or names of other entries instead of the entries themselves",
    ),
    (
        "patternProperties",
        "the keys of a map can only be strings",
        "use `BTreeMap<String, …>`",
    ),
    (
        "definitions",
        "`definitions` are not supported",
        "write each type where it is used",
    ),
    (
        "dependencies",
        "`dependencies` are not supported",
        "write a rule instead: `#[x_kube(validation = …)]`",
    ),
    (
        "additionalItems",
        "`additionalItems` is not supported",
        "use a struct instead of a tuple",
    ),
    ("id", "`id` is not supported", "leave it out"),
    ("$schema", "`$schema` is not supported", "leave it out"),
];

/// Whether the schema is structural: it has a type, and keywords that go together.
pub fn check(node: &Node, found: &mut Vec<Finding>) {
    let mut error = |text: &str, help: &str| found.push(Finding::error(&node.path, text, help));
    for (key, text, help) in UNSUPPORTED {
        if !matches!(node.get(key), Value::Null) && node.get(key) != &json!({}) {
            error(text, help);
        }
    }
    let kind = node.text("type");
    if node.get("items").is_array() {
        error(
            "a tuple is a list whose items have different types",
            "use a struct with named fields",
        );
    } else if kind == "array" && node.get("items").is_null() {
        error(
            "the items of this list have no schema",
            "add `\"items\"` to what `schema_with` gives",
        );
    }
    match kind {
        "" => found.extend(untyped(node)),
        "string" | "number" | "integer" | "boolean" | "array" | "object" => {}
        "null" => error(
            "a value that is always null has no schema",
            "leave the field out, or use `bool`",
        ),
        other => error(
            &format!("`{other}` is no type of a CRD"),
            "use `string`, `number`, `integer`, `boolean`, `array` or `object`",
        ),
    }
    maps(node, found);
    if node.is("uniqueItems") {
        found.push(Finding::error(
            &node.path,
            "`uniqueItems` is not supported",
            "use `#[x_kube(merge_strategy = ListMerge::Set)]`",
        ));
    }
    if node.level == Level::Root {
        root(node, found);
    }
    if node.is_resource() {
        resource(node, found);
    }
}

/// Why there is no type: from what derives write.
fn untyped(node: &Node) -> Option<Finding> {
    if node.is(INT_OR_STRING) || node.is(PRESERVE) || node.is(EMBEDDED) {
        return None;
    }
    let error = |text: &str, help: &str| Some(Finding::error(&node.path, text, help));
    if node.get("$ref").is_string() {
        return None;
    }
    if node.get("anyOf").is_array() || node.get("oneOf").is_array() {
        return error(
            "an untagged enum of values of different types has no type",
            "use a struct with an optional field for each variant, `k8s_openapi::apimachinery::pkg::util::intstr::IntOrString` for a number or a string, or an enum with `#[serde(rename_all = \"camelCase\")]` and without `untagged`",
        );
    }
    if node.get("enum") == &json!([null]) {
        return error(
            "`()` is always null, which has no schema",
            "leave the field out, or use `bool`",
        );
    }
    error(
        "any value has no type",
        &format!("use a type of its own, or, for whatever users write, {ANYTHING}"),
    )
}

/// `additionalProperties` beside `properties`, at the root, or without a schema.
fn maps(node: &Node, found: &mut Vec<Finding>) {
    let values = node.get("additionalProperties");
    if values.is_null() {
        return;
    }
    let fields = node
        .get("properties")
        .as_object()
        .is_some_and(|fields| !fields.is_empty());
    let mut error = |text: &str, help: &str| found.push(Finding::error(&node.path, text, help));
    if node.level == Level::Root {
        error(
            "the object itself cannot be a map",
            "put the map into a field of `spec`",
        );
    } else if fields && values != &json!(true) {
        error(
            "these are fields beside a map (`#[serde(flatten)]`), and a CRD has one or the other",
            "give the map a name of its own, or make it `BTreeMap<String, serde_json::Value>`, which lets any other field in",
        );
    } else if values == &json!(true) && !fields {
        error(
            "values of this map that are objects lose their fields: it says nothing about them",
            "add `#[schemars(schema_with = \"…\")]` with a function that gives `schemars::json_schema!({ \"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true })`, or a type of its own for the values",
        );
    }
}

/// What only the schema of the whole object must not have.
fn root(node: &Node, found: &mut Vec<Finding>) {
    if node.is("nullable") {
        found.push(Finding::error(
            "",
            "the object itself cannot be null",
            "leave `nullable` out",
        ));
    }
    if !["object", ""].contains(&node.text("type")) {
        found.push(Finding::error(
            "",
            "the object itself must have the type `object`",
            "use a struct",
        ));
    }
}

/// `apiVersion`, `kind` and `metadata` of the object, or of one that is embedded.
fn resource(node: &Node, found: &mut Vec<Finding>) {
    let fields = node.get("properties");
    for (name, kind) in [
        ("apiVersion", "string"),
        ("kind", "string"),
        ("metadata", "object"),
    ] {
        let field = &fields[name];
        if field.is_object() && field["type"] != json!(kind) {
            let text = format!("`{name}` of an object is always of type `{kind}`");
            found.push(Finding::error(
                &format!("{}.{name}", node.path),
                text,
                "name the field otherwise",
            ));
        }
    }
    let metadata = &fields["metadata"];
    if node.level == Level::Root && metadata.is_object() {
        let names = metadata["properties"].as_object().into_iter().flatten();
        let sound = metadata
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, _)| key == "type" || key == "properties")
            && names
                .map(|(name, _)| name)
                .all(|name| name == "name" || name == "generateName");
        if !sound {
            found.push(Finding::error(
                ".metadata",
                "only `name` and `generateName` can be restricted",
                "write a rule for the object instead: `#[kube(validation = …)]`",
            ));
        }
    }
}

/// `x-kubernetes-*` that contradict each other, or the type.
pub fn extensions(node: &Node, found: &mut Vec<Finding>) {
    let mut error = |text: &str, help: &str| found.push(Finding::error(&node.path, text, help));
    if node.get(PRESERVE) == &json!(false) {
        error(&format!("`{PRESERVE}` can only be true"), "leave it out");
    }
    if node.is(INT_OR_STRING) && (node.is(PRESERVE) || node.is(EMBEDDED)) {
        error(
            &format!("`{INT_OR_STRING}` allows no other form beside it"),
            "leave out the other `x-kubernetes-…`",
        );
    }
    if node.is(EMBEDDED) {
        if node.text("type") != "object" {
            error(
                "an embedded object must have the type `object`",
                "add `\"type\" = \"object\"` to `extend(…)`",
            );
        }
        if !node.get("additionalProperties").is_null() {
            error(
                "an embedded object cannot be a map",
                "use `#[schemars(schema_with = \"…\")]` with a function that gives `schemars::json_schema!({ \"type\": \"object\", \"x-kubernetes-embedded-resource\": true, \"x-kubernetes-preserve-unknown-fields\": true })`",
            );
        } else if !node.is(PRESERVE)
            && node
                .get("properties")
                .as_object()
                .is_none_or(serde_json::Map::is_empty)
        {
            error(
                "an embedded object without fields would be emptied",
                ANYTHING,
            );
        }
        if node.meta {
            error(
                "`metadata` cannot hold an embedded object",
                "put it into a field of `spec`",
            );
        }
    }
    scalars(node, found);
}

/// Floats, lists of bytes and formats that nobody knows: they work, and are seldom meant.
fn scalars(node: &Node, found: &mut Vec<Finding>) {
    let format = node.text("format");
    if node.text("type") == "number" {
        found.push(Finding::warning(
            "float",
            &node.path,
            "a float is rounded differently by different readers",
            "use an integer of a smaller unit, or `Quantity`",
        ));
    }
    let items = node.get("items");
    let bytes = items["minimum"] == json!(0) && items["maximum"] == json!(255);
    if node.text("type") == "array" && items["type"] == json!("integer") && bytes {
        found.push(Finding::warning(
            "bytes",
            &node.path,
            "bytes are written as a list of numbers",
            "use `String` with `#[schemars(extend(\"format\" = \"byte\"))]` for base64",
        ));
    }
    if ["", "string"].contains(&node.text("type"))
        && !format.is_empty()
        && !node.is(INT_OR_STRING)
        && !known_format(format)
    {
        found.push(Finding::warning(
            "format",
            &node.path,
            format!("no API server knows the format `{format}`, so it checks nothing"),
            "use `#[schemars(regex(pattern = \"…\"))]`",
        ));
    }
}

/// The formats that kube-apiserver 1.36 checks.
fn known_format(format: &str) -> bool {
    const KNOWN: [&str; 24] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
    ];
    let format = format.replace('-', "");
    KNOWN.contains(&&*format) || ["k8sshortname", "k8slongname"].contains(&&*format)
}
