//! Pruning, defaults and validation by the schema of a definition.

use super::*;

/// The schema of boats.
pub fn restricted() -> Value {
    let keyed = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {
            "k": {"type": "string"}, "protocol": {"type": "string", "default": "TCP"},
        }},
    });
    let spec = json!({"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 1},
        "speed": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "name": {"type": "string", "minLength": 2, "maxLength": 4},
        "note": {"type": "string", "nullable": true, "default": "none"},
        "crew": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "keyed": keyed,
        "labels": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "boolean"}},
        "port": {"x-kubernetes-int-or-string": true},
        "engine": {"type": "object", "default": {"power": 1}, "properties": {
            "power": {"type": "integer"}, "fuel": {"type": "string", "default": "wind"},
        }},
        "either": {
            "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "known": {"type": "object", "properties": {"a": {"type": "string"}}},
        }},
        "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
            "spec": {"type": "object"},
        }},
        "code": {"type": "string", "pattern": r"^[a-z]([-a-z0-9]*[a-z0-9])?\.\d+$"},
        "small": {"type": "integer", "format": "int32"},
        "formats": {"type": "object", "properties": formats()},
    }});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string", "enum": ["New", "Old"]}, "count": {"type": "integer", "default": 0},
    }});
    json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}})
}

/// A text of each format that is checked, and one that is not of it.
const FORMATS: [(&str, &str, &str); 18] = [
    ("ipv4", "10.0.0.1", "10.0.0"),
    ("ipv6", "2001:db8::1", "2001:db8"),
    ("date", "2026-01-31", "2026-13-01"),
    ("date-time", "2026-01-31T03:04:05Z", "2026-01-31"),
    ("duration", "1h30m", "soon"),
    ("cidr", "10.0.0.0/16", "10.0.0.0"),
    ("mac", "02:00:00:00:00:01", "02:00"),
    ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
    ("hexcolor", "#336699", "blue"),
    ("rgbcolor", "rgb(51,102,153)", "blue"),
    ("creditcard", "4111111111111111", "many"),
    ("isbn", "0306406152", "many"),
    ("ssn", "123-45-6789", "many"),
    ("uuid", "00000000-0000-4000-8000-000000000000", "00000000"),
    ("email", "user@example.com", "user"),
    ("uri", "https://example.com", "example"),
    ("byte", "YWhveQ==", "YWhveQ"),
    ("unknown", "anything", ""),
];

/// The schemas of a field for each format.
fn formats() -> Value {
    let schema = |(format, ..): &(&str, _, _)| {
        (
            (*format).to_owned(),
            json!({"type": "string", "format": format}),
        )
    };
    FORMATS.iter().map(schema).collect()
}

fn boat(spec: Value) -> Value {
    json!({
        "apiVersion": "crew.example.com/v1", "kind": "Boat", "metadata": {"name": "argo"}, "spec": spec,
    })
}

pub fn cases() -> Vec<Case> {
    let mut all = completed();
    all.extend(rejected());
    all
}

fn completed() -> Vec<Case> {
    vec![
        case(
            "defaults are set and unknown fields pruned on creation",
            [
                post(
                    "boats",
                    boat(json!({
                        "size": 2, "wrong": 1, "note": null, "keyed": [{"k": "a", "wrong": 1}],
                        "free": {"any": {"thing": 1}, "known": {"a": "1", "wrong": 1}},
                        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"wrong": 1}, "wrong": 1},
                    })),
                ),
                get("boats/argo"),
            ],
        ),
        case(
            "defaults are set and unknown fields pruned by replacements and patches",
            [
                post("boats", boat(json!({"size": 2}))),
                merge(
                    "boats/argo",
                    json!({"spec": {"color": null, "wrong": 1, "engine": {"fuel": null}}}),
                ),
                merge("boats/argo", json!({"spec": {"keyed": [{"k": "b"}]}})),
                json_patch(
                    "boats/argo",
                    json!([{"op": "remove", "path": "/spec/engine"}]),
                ),
                get("boats/argo"),
            ],
        ),
        case(
            "defaults are owned by no one who applies",
            [
                apply(
                    "boats/argo",
                    "a",
                    boat(json!({"size": 2, "keyed": [{"k": "a"}]})),
                ),
                apply("boats/argo", "a", boat(json!({"size": 3}))),
                apply(
                    "boats/argo",
                    "a",
                    boat(json!({"size": 3, "keyed": [{"k": "b"}]})),
                ),
                get("boats/argo"),
            ],
        ),
        case(
            "a field that the schema does not know cannot be applied",
            [apply(
                "boats/argo",
                "a",
                boat(json!({"size": 2, "wrong": 1})),
            )],
        ),
        case(
            "a status has its schema",
            [
                post("boats", boat(json!({"size": 2}))),
                merge(
                    "boats/argo/status",
                    json!({"status": {"phase": "New", "wrong": 1}}),
                ),
                merge("boats/argo/status", json!({"status": {"phase": "Other"}})),
                merge("boats/argo", json!({"spec": {"size": 3}})),
            ],
        ),
    ]
}

fn rejected() -> Vec<Case> {
    let spec = |more: Value| {
        let mut spec = json!({"size": 2});
        merge_into(&mut spec, more);
        post("boats", boat(spec))
    };
    let wrong = [
        json!({"size": null}),
        json!({"size": "2"}),
        json!({"size": 1.5}),
        json!({"size": 0}),
        json!({"size": 10}),
        json!({"speed": 0}),
        json!({"color": "green"}),
        json!({"name": "a"}),
        json!({"name": "abcde"}),
        json!({"crew": []}),
        json!({"crew": ["a", "b", "c"]}),
        json!({"crew": "a"}),
        json!({"tags": ["a", "a"]}),
        json!({"keyed": [{"k": "a"}, {"k": "a"}]}),
        json!({"keyed": [{}]}),
        json!({"labels": {"a": true, "b": true}}),
        json!({"labels": {"a": "true"}}),
        json!({"port": 1.5}),
        json!({"either": {}}),
        json!({"either": {"a": "1", "b": "2"}}),
        json!({"code": "A.1"}),
        json!({"code": "a.\u{664}"}),
        json!({"small": 3_000_000_000_i64}),
    ];
    let named = |(format, _, wrong): (&str, _, &str)| {
        let mut formats = json!({});
        formats[format] = json!(wrong);
        json!({ "formats": formats })
    };
    let wrong = wrong.into_iter().chain(FORMATS.map(named));
    let formats: Value = FORMATS
        .iter()
        .map(|(format, right, _)| ((*format).to_owned(), json!(right)))
        .collect();
    let right = json!({
        "code": "a-b.1", "small": 2_000_000_000, "formats": formats,
        "speed": 0.5, "color": "blue", "name": "abcd", "crew": ["a", "b"], "tags": ["a", "b"],
        "labels": {"a": true}, "port": "5%", "either": {"b": "2"},
    });
    vec![
        case(
            "what a schema does not allow is rejected",
            wrong.map(spec).collect::<Vec<_>>(),
        ),
        case(
            "what a schema does not allow is rejected in changes too",
            [
                spec(right),
                merge("boats/argo", json!({"spec": {"size": 0}})),
                apply("boats/argo", "a", boat(json!({"size": 2, "crew": []}))),
                merge("boats/argo", json!({"spec": {"port": 80}})),
            ],
        ),
    ]
}

fn merge_into(spec: &mut Value, more: Value) {
    for (field, value) in more.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(spec.as_object_mut().and_then(|spec| spec.remove(field))),
            value => spec[field] = value.clone(),
        }
    }
}
