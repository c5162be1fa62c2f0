//! Test that conversions keep what their types do not know, whatever it is, and nothing that they know: objects with
//! random fields, which are the same in each run.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::PodSpec, apimachinery::pkg::apis::meta::v1::LabelSelector,
    apimachinery::pkg::util::intstr::IntOrString,
};
use kbr_testing::FakeApi;
use kube::CustomResource;
use manager::Manager;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::mutated::Random;

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Part {
    #[serde(alias = "number", skip_serializing_if = "is_zero")]
    count: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<IntOrString>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it")]
fn is_zero(count: &i32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum Choice {
    One(Box<Part>),
    Two { part: Wrapped },
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Wrapped(Part);

macro_rules! version {
    ($module:ident, $version:literal, $name:ident) => {
        mod $module {
            use super::*;
            #[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
            #[kube(group = "a.example.com", version = $version, kind = "Parcel", schema = "disabled")]
            #[serde(rename_all = "camelCase")]
            pub struct ParcelSpec {
                pub $name: String,
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub(super) choice: Option<Choice>,
                #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
                pub(super) map: BTreeMap<String, Part>,
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(super) pod: Option<PodSpec>,
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(super) selector: Option<LabelSelector>,
                #[serde(default, skip_serializing_if = "Value::is_null")]
                pub(super) any: Value,
            }
        }
    };
}
version!(v1, "v1", old);
version!(v2, "v2", new);

macro_rules! convert {
    ($from:ident.$old:ident, $to:ident.$new:ident) => {
        impl From<$from::Parcel> for $to::Parcel {
            fn from(it: $from::Parcel) -> Self {
                Self {
                    metadata: it.metadata,
                    spec: $to::ParcelSpec {
                        $new: it.spec.$old,
                        choice: it.spec.choice,
                        map: it.spec.map,
                        pod: it.spec.pod,
                        selector: it.spec.selector,
                        any: it.spec.any,
                    },
                }
            }
        }
    };
}
convert!(v1.old, v2.new);
convert!(v2.new, v1.old);

fn register(manager: &mut Manager) {
    manager.spoke::<v2::Parcel, v1::Parcel>();
}

/// An object as it is sent, and with what is kept of it.
struct Made {
    sent: Map<String, Value>,
    kept: Map<String, Value>,
}

impl Made {
    /// Some fields that no type knows.
    fn with_unknown(random: &mut Random) -> Self {
        let values = [
            json!(false),
            json!(0),
            json!(""),
            json!({}),
            json!([]),
            json!(null),
            json!(0.0),
            json!([{}, null, [0]]),
            json!({ "count": 0, "deeper": { "": null } }),
            json!("text"),
            json!(1e300),
        ];
        let field = |random: &mut Random| {
            let name = ["unknown", "n/e~w", "a\"b\u{e4}<", ""][random.below(4)];
            (name.to_owned(), values[random.below(values.len())].clone())
        };
        let sent: Map<_, _> = (0..random.below(3)).map(|_| field(random)).collect();
        let kept = sent.clone();
        Self { sent, kept }
    }

    /// Adds a known field: how it is sent, and how it is written.
    fn know(&mut self, sent: (&str, Value), kept: Option<(&str, Value)>) {
        self.sent.insert(sent.0.to_owned(), sent.1);
        if let Some((name, value)) = kept {
            self.kept.insert(name.to_owned(), value);
        }
    }

    fn put(&mut self, name: &str, (sent, kept): (Value, Value)) {
        self.know((name, sent), Some((name, kept)));
    }

    fn end(self) -> (Value, Value) {
        (self.sent.into(), self.kept.into())
    }
}

fn part(random: &mut Random, depth: usize) -> (Value, Value) {
    let mut made = Made::with_unknown(random);
    match random.below(4) {
        0 => made.know(("count", json!(0)), None),
        1 => made.know(("number", json!(0)), None),
        2 => made.know(("number", json!(7)), Some(("count", json!(7)))),
        _ => made.put("count", (json!(5), json!(5))),
    }
    if random.below(3) == 0 {
        made.put("port", (json!("http"), json!("http")));
    }
    match random.below(3) {
        0 => made.know(("parts", json!([])), None),
        1 if depth < 3 => {
            let parts = (0..=random.below(2)).map(|_| part(random, depth + 1));
            let (sent, kept): (Vec<_>, Vec<_>) = parts.unzip();
            made.put("parts", (sent.into(), kept.into()));
        }
        _ => {}
    }
    made.end()
}

fn pod(random: &mut Random) -> (Value, Value) {
    let mut container = Made::with_unknown(random);
    container.put("name", (json!("a"), json!("a")));
    let (sent, kept) = container.end();
    let mut made = Made::with_unknown(random);
    made.put("containers", (json!([sent]), json!([kept])));
    made.end()
}

fn spec(random: &mut Random) -> (Value, Value) {
    let mut made = Made::with_unknown(random);
    if random.below(2) == 0 {
        let (sent, kept) = part(random, 0);
        let choice = |part: Value, which| match which {
            0 => json!({ "one": part }),
            _ => json!({ "two": { "part": part } }),
        };
        let which = random.below(2);
        made.put("choice", (choice(sent, which), choice(kept, which)));
    }
    let (sent, kept) = part(random, 0);
    made.put("map", (json!({ "a/b": sent }), json!({ "a/b": kept })));
    if random.below(2) == 0 {
        made.put("pod", pod(random));
    }
    if random.below(2) == 0 {
        made.put("selector", Made::with_unknown(random).end());
    }
    if random.below(2) == 0 {
        let any = json!({ "a": [0, {}, ""], "b": false });
        made.put("any", (any.clone(), any));
    }
    made.end()
}

fn object(version: &str, name: &str, mut spec: Value) -> Value {
    spec[name] = json!("x");
    json!({
        "apiVersion": format!("a.example.com/{version}"), "kind": "Parcel",
        "metadata": { "name": "a", "unknown": 0 }, "spec": spec, "status": { "seen": false },
    })
}

#[tokio::test]
async fn a_conversion_keeps_exactly_what_its_types_do_not_know() {
    let (api, mut random) = (FakeApi::new(), Random(0x5eed));
    let specs: Vec<_> = (0..1000).map(|_| spec(&mut random)).collect();
    let sent = specs
        .iter()
        .map(|(sent, _)| object("v1", "old", sent.clone()));
    let there = api
        .convert(register, &sent.collect::<Vec<_>>(), "a.example.com/v2")
        .await
        .unwrap();
    for ((sent, kept), there) in specs.iter().zip(&there) {
        assert_eq!(*there, object("v2", "new", kept.clone()), "{sent}");
    }
    let back = api
        .convert(register, &there, "a.example.com/v1")
        .await
        .unwrap();
    for ((_, kept), back) in specs.iter().zip(&back) {
        assert_eq!(*back, object("v1", "old", kept.clone()));
    }
}
