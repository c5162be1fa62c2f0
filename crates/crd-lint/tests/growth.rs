//! A definition costs in proportion to its size: each is doubled, and what is allocated is compared. Growing with the square shows as
//! four times the number or the bytes.

use allocation_counter::measure;
use crd_lint::{compatibility, lint};
use serde_json::{Map, Value, json};

/// A definition with this schema of `spec`.
fn crd(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "ships.x.io" },
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec },
            } } }],
        },
    })
}

fn object(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    json!({ "type": "object", "properties": fields.into_iter().collect::<Map<_, _>>() })
}

fn string() -> Value {
    json!({ "type": "string", "maxLength": 9 })
}

fn fields(n: usize, schema: impl Fn(usize) -> Value) -> Value {
    object((0..n).map(|at| (format!("f{at}"), schema(at))))
}

fn list(n: usize, item: impl Fn(usize) -> Value) -> Value {
    (0..n).map(item).collect()
}

fn with(mut schema: Value, key: &str, value: Value) -> Value {
    schema[key] = value;
    schema
}

type Family = (&'static str, fn(usize) -> Value);

/// Schemas of a size, or of two sizes whose product must not be what they cost.
const FAMILIES: &[Family] = &[
    ("fields", |n| fields(n, |_| string())),
    ("required fields", |n| {
        with(
            fields(n, |_| string()),
            "required",
            list(n, |at| json!(format!("f{at}"))),
        )
    }),
    ("keys of a list", |n| {
        let item = with(
            fields(n, |_| string()),
            "required",
            list(n, |at| json!(format!("f{at}"))),
        );
        let keys = list(n, |at| json!(format!("f{at}")));
        json!({ "type": "array", "maxItems": 2, "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys })
    }),
    ("unknown keys of a list", |n| {
        let keys = list(n, |at| json!(format!("g{at}")));
        json!({ "type": "array", "maxItems": 2, "items": fields(n, |_| string()), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys })
    }),
    ("rules", |n| {
        with(
            fields(n, |_| string()),
            "x-kubernetes-validations",
            list(n, |at| json!({ "rule": format!("self.f{at} != 'a'") })),
        )
    }),
    ("rules with unknown fields", |n| {
        with(
            fields(n, |_| string()),
            "x-kubernetes-validations",
            list(n, |at| json!({ "rule": format!("self.g{at} != 'a'") })),
        )
    }),
    ("costly rules", |n| {
        with(
            fields(n, |_| json!({ "type": "array", "items": string() })),
            "x-kubernetes-validations",
            list(
                n,
                |at| json!({ "rule": format!("self.f{at}.all(a, self.f{at}.all(b, a == b))") }),
            ),
        )
    }),
    ("lists in a rule", |n| {
        with(
            json!({ "type": "string" }),
            "x-kubernetes-validations",
            json!([{ "rule": format!("self in [{}'a']", "'a', ".repeat(n)) }]),
        )
    }),
    ("terms of a rule", |n| {
        with(
            fields(n, |_| string()),
            "x-kubernetes-validations",
            json!([{ "rule": format!("{}true", "self.f1 == 'a' && ".repeat(n)) }]),
        )
    }),
    (
        "values of an enum",
        |n| json!({ "type": "string", "enum": list(n, |at| json!(format!("a{at}"))) }),
    ),
    (
        "defaults that are not in an enum",
        |n| json!({ "type": "array", "maxItems": 9, "items": { "type": "string", "enum": list(n, |at| json!(format!("a{at}"))) }, "default": list(n, |at| json!(format!("b{at}"))) }),
    ),
    (
        "defaults with alternatives",
        |n| json!({ "type": "array", "maxItems": 9, "items": { "type": "string", "anyOf": list(n, |at| json!({ "minLength": 9 + at })) }, "default": list(n, |at| json!(format!("b{at}"))) }),
    ),
    (
        "defaults with a pattern",
        |n| json!({ "type": "array", "maxItems": 9, "items": { "type": "string", "pattern": "ab".repeat(n) }, "default": list(n, |at| json!(format!("b{at}"))) }),
    ),
    ("defaults with rules", |n| {
        let rules = list(
            n,
            |at| json!({ "rule": format!("self.all(a, a != 'c{at}')") }),
        );
        json!({ "type": "array", "maxItems": 9, "items": { "type": "string" }, "default": list(n, |at| json!(format!("b{at}"))), "x-kubernetes-validations": rules })
    }),
    ("defaults with keys", |n| {
        let item = with(
            with(
                object([("a".to_owned(), string())]),
                "required",
                json!(["a"]),
            ),
            "x-kubernetes-validations",
            json!([{ "rule": "self.a != oldSelf.a || true" }]),
        );
        json!({ "type": "array", "maxItems": 9, "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "default": list(n, |at| json!({ "a": format!("{at}") })) })
    }),
    ("unknown fields of a default", |n| {
        with(
            object([("a".to_owned(), string())]),
            "default",
            (0..n)
                .map(|at| (format!("b{at}"), json!(1)))
                .collect::<Map<_, _>>()
                .into(),
        )
    }),
    ("alternatives", |n| {
        with(
            json!({ "type": "string" }),
            "anyOf",
            list(n, |at| json!({ "minLength": at })),
        )
    }),
    (
        "braces of a pattern",
        |n| json!({ "type": "string", "pattern": "{".repeat(50 * n) }),
    ),
    (
        "groups of a pattern",
        |n| json!({ "type": "string", "pattern": (0..n).map(|at| format!("(?P<a{at}>b)")).collect::<Vec<_>>().concat() }),
    ),
    ("fields below deep ones", |n| {
        (0..40).fold(fields(n, |_| string()), |inner, at| {
            object([(format!("d{at}"), inner)])
        })
    }),
    ("rules below deep ones", |n| {
        (0..40).fold(
            with(
                fields(n, |_| string()),
                "x-kubernetes-validations",
                list(n, |at| json!({ "rule": format!("self.f{at} != 'a'") })),
            ),
            |inner, at| object([(format!("d{at}"), inner)]),
        )
    }),
    ("fields below a long name", |n| {
        object([("x".repeat(40 * n), fields(n, |_| string()))])
    }),
    ("maps", |n| {
        fields(
            n,
            |_| json!({ "type": "object", "additionalProperties": string() }),
        )
    }),
    ("other types", |n| {
        fields(n, |_| json!({ "type": "array", "items": string() }))
    }),
];

/// Fails if twice the size takes much more than twice the allocations or bytes.
fn growth(name: &str, run: impl FnMut(usize)) {
    // Large enough to exhaust the steps that all defaults share: until then, their checks may multiply.
    growth_to(600, name, run);
}

fn growth_to(size: usize, name: &str, mut run: impl FnMut(usize)) {
    let mut count = |size| {
        let info = measure(|| run(size));
        [info.count_total, info.bytes_total]
    };
    let (small, large) = (count(size / 2), count(size));
    for (small, large) in small.into_iter().zip(large) {
        assert!(
            10 * large < 26 * small + 10_000,
            "{name}: {small} -> {large}"
        );
    }
}

#[test]
fn a_lint_grows_with_the_definition() {
    for (name, family) in FAMILIES {
        growth(name, |n| drop(lint(&crd(&family(n)))));
    }
}

#[test]
fn a_comparison_grows_with_the_definitions() {
    for (name, family) in FAMILIES {
        for (other, after) in [
            ("nothing", (|_| object([])) as fn(usize) -> Value),
            ("fields", FAMILIES[0].1),
            ("twice", *family),
        ] {
            growth(&format!("{name} to {other}"), |n| {
                let after = if other == "twice" {
                    family(2 * n)
                } else {
                    after(n)
                };
                drop(compatibility::compare(&crd(&family(n)), &crd(&after)));
                drop(compatibility::compare(&crd(&after), &crd(&family(n))));
            });
        }
    }
}

#[test]
fn the_parts_of_a_definition_grow_with_their_number() {
    let version = |n: usize, key: &str, value: Value| {
        let mut crd = crd(&fields(n, |_| string()));
        crd["spec"]["versions"][0][key] = value;
        crd
    };
    growth("columns", |n| {
        drop(lint(&version(
            n,
            "additionalPrinterColumns",
            list(
                n,
                |at| json!({ "name": format!("{at}"), "type": "string", "jsonPath": format!(".spec.g{at}") }),
            ),
        )));
    });
    growth("selectable fields", |n| {
        drop(lint(&version(
            n,
            "selectableFields",
            list(n, |at| json!({ "jsonPath": format!(".spec.f{at}") })),
        )));
    });
    growth("versions", |n| {
        let mut crd = crd(&fields(3, |_| string()));
        let version = crd["spec"]["versions"][0].clone();
        crd["spec"]["versions"] = list(n, |at| {
            with(version.clone(), "name", json!(format!("v{at}")))
        });
        drop(lint(&crd));
        drop(compatibility::compare(&crd, &crd));
    });
}

#[test]
fn the_levels_of_a_rule_grow_with_their_number() {
    let any = json!({ "x-kubernetes-int-or-string": true });
    growth_to(8, "levels", |n| {
        let rule = (0..n).fold("self.a".to_owned(), |inner, _| format!("[{inner}][0].b"));
        let rule = json!([{ "rule": format!("{rule} == 1") }]);
        let spec = object([("a".to_owned(), any.clone())]);
        drop(lint(&crd(&with(spec, "x-kubernetes-validations", rule))));
    });
}
