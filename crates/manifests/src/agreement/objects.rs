//! Objects of a version that the API server accepts: one with what is required, and others that each differ from it in one field.

use std::collections::VecDeque;

use apiserver_rules::{Problem, Rules, complete, formats, problems};
use serde_json::{Map, Value, json};

use super::place::{Path, Step};
use crate::crd::Crd;
use crate::samples::fill::fill;

/// The most fields of a version that are looked at, nearest to the top first.
const FIELDS: usize = 250;

/// The most objects for one field.
pub const MOST: usize = 24;

/// How many items a list has to show whether their order stays.
const ITEMS: usize = 6;

/// Texts that types with a syntax of their own read differently from their schema.
const TEXTS: [&str; 15] = [
    "x",
    "",
    "1",
    "01",
    "1d",
    "90s",
    "1.5",
    "example.com",
    "a/b",
    "A-b_c",
    "10.0.0.1",
    "10.0.0.1:80",
    "01.2.3.4",
    "::ffff:1.2.3.4",
    "é",
];

/// The schema of a version, and the rules of the API server for it.
pub struct Schema<'a> {
    pub version: &'a str,
    pub root: &'a Value,
    kind: &'a str,
    group: &'a str,
    rules: Option<Rules>,
    /// Where the objects have something that serde can read instead of what the schema says.
    pub replaced: Vec<String>,
}

/// An object that the API server accepts, as it stores it, and the place of the value that it is about.
pub struct Tried {
    pub place: Path,
    pub object: Value,
    /// Whether it is sent a second time, to compare the order of the items at the place.
    pub is_again: bool,
}

impl<'a> Schema<'a> {
    pub fn of(crd: &'a Crd, version: &'a Value) -> Option<Self> {
        let root = &version["schema"]["openAPIV3Schema"];
        Some(Self {
            version: version["name"].as_str()?,
            root,
            kind: &crd.kind,
            group: &crd.group,
            rules: Rules::of(root, true),
            replaced: Vec::new(),
        })
    }

    /// An object with what is required; `None` if none is found.
    pub fn base(&self) -> Option<Value> {
        let mut object = fill(self.root, None);
        object["apiVersion"] = json!(format!("{}/{}", self.group, self.version));
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({ "name": "example" });
        for part in ["spec", "status"] {
            let schema = &self.root["properties"][part];
            if schema.is_object() && (part == "spec" || schema["required"].is_array()) {
                object[part] = fill(schema, object.get(part));
            }
        }
        self.stored(&object)
    }

    /// What the API server stores of an object; `None` if it rejects it.
    pub fn stored(&self, object: &Value) -> Option<Value> {
        let mut object = object.clone();
        complete(&mut object, self.root);
        self.rejected(&object).is_none().then_some(object)
    }

    /// Why the API server rejects an object that has its defaults: the place in it, and the message.
    pub fn rejected(&self, object: &Value) -> Option<Problem> {
        let is_replaced = |problem: &Problem| {
            let path = self.shown(&problem.path);
            self.replaced.iter().any(|place| path.starts_with(place))
        };
        let mut found = problems(object, self.root).into_iter();
        found.find(|it| !is_replaced(it)).or_else(|| {
            let rules = self.rules.as_ref()?;
            let mut found = rules.judge(self.root, object, None).problems.into_iter();
            found.find(|it| !is_replaced(it))
        })
    }

    /// A path such as `.spec.ports[0].labels.app` without indices and keys: `.spec.ports[].labels[*]`.
    pub fn shown(&self, path: &str) -> String {
        let mut schema = self.root;
        let mut shown = String::new();
        for step in path.split(['.', '[']).skip(1) {
            if step.ends_with(']') {
                shown += "[]";
                schema = &schema["items"];
            } else if schema["additionalProperties"].is_object()
                && schema["properties"][step].is_null()
            {
                shown += "[*]";
                schema = &schema["additionalProperties"];
            } else {
                shown = shown + "." + step;
                schema = &schema["properties"][step];
            }
        }
        shown
    }

    /// The schema of the value at a place.
    pub fn at(&self, place: &Path) -> &Value {
        place.0.iter().fold(self.root, |schema, step| match step {
            Step::Field(name) if schema["properties"][name].is_object() => {
                &schema["properties"][name]
            }
            Step::Field(_) | Step::Entry(_) => &schema["additionalProperties"],
            Step::Item(_) => &schema["items"],
        })
    }

    /// Other values at a place in an object that the API server accepts there.
    pub fn others(&self, object: &Value, place: &Path) -> Vec<Value> {
        let schema = self.at(place);
        let mut values = values(schema);
        // A type that rejects a text by itself is known only by what is around it.
        for (name, now) in place
            .get(object)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let of_field = self::values(&schema["properties"][name]);
            values.extend(
                of_field
                    .into_iter()
                    .filter(|value| value != now)
                    .map(|value| {
                        let mut whole = place.get(object).cloned().unwrap_or_default();
                        whole[name] = value;
                        whole
                    }),
            );
        }
        values.retain(|value| {
            let mut object = object.clone();
            place.set(&mut object, value.clone()) && self.stored(&object).is_some()
        });
        values.truncate(MOST);
        values
    }

    /// The objects to try. Inside of a field that is not the project's own, nothing is changed.
    pub fn objects(&self, base: &Value, is_own: &dyn Fn(&Path) -> bool) -> Vec<Tried> {
        let mut all = vec![Tried {
            place: Path::default(),
            object: base.clone(),
            is_again: false,
        }];
        let mut left = VecDeque::new();
        for part in ["spec", "status"] {
            self.descend(&Path::default(), base, part, &mut left);
        }
        for _ in 0..FIELDS {
            let Some((place, around)) = left.pop_front() else {
                break;
            };
            let schema = self.at(&place);
            let values = values(schema);
            let objects = values.into_iter().filter_map(|value| {
                // A kind of kube always has its spec.
                if value.is_null() && place.0.len() == 1 {
                    return None;
                }
                let mut object = around.clone();
                let is_list = value.as_array().is_some_and(|items| items.len() > 2);
                place.set(&mut object, value);
                Some((is_list, self.stored(&object)?))
            });
            for (is_list, object) in objects.take(MOST) {
                let tried = |is_again| Tried {
                    place: place.clone(),
                    object: object.clone(),
                    is_again,
                };
                all.push(tried(false));
                all.extend(is_list.then(|| tried(true)));
            }
            if !is_own(&place) {
                continue;
            }
            for name in schema["properties"]
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
            {
                self.descend(&place, &around, name, &mut left);
            }
            let inner = [
                ("items", Step::Item(0)),
                ("additionalProperties", Step::Entry("example".to_owned())),
            ];
            for (key, step) in inner {
                if schema[key].is_object() {
                    let inside = place.join(step.clone());
                    let mut object = around.clone();
                    let value = fill(&schema[key], None);
                    let whole = match step {
                        Step::Item(_) => json!([value]),
                        _ => json!({ "example": value }),
                    };
                    place.set(&mut object, whole);
                    left.extend(self.stored(&object).map(|object| (inside, object)));
                }
            }
        }
        all
    }

    /// Adds the field `name` at `place`, in an object that has it.
    fn descend(
        &self,
        place: &Path,
        around: &Value,
        name: &str,
        left: &mut VecDeque<(Path, Value)>,
    ) {
        let schema = self.at(place);
        let field = place.join(Step::Field(name.to_owned()));
        if !schema["properties"][name].is_object() {
            return;
        }
        if field.get(around).is_some() {
            left.push_back((field, around.clone()));
            return;
        }
        let value = fill(&schema["properties"][name], None);
        let beside = || {
            let mut object = around.clone();
            field.set(&mut object, value.clone());
            self.stored(&object)
        };
        // Another variant of an enum: without the fields of the first one.
        let alone = || {
            let mut object = around.clone();
            place.set(&mut object, fill(schema, Some(&json!({ name: value }))));
            let stored = self.stored(&object)?;
            field.get(&stored).is_some().then_some(stored)
        };
        let is_union = ["oneOf", "anyOf"].iter().any(|key| schema[*key].is_array());
        let stored = if is_union {
            alone().or_else(beside)
        } else {
            beside()
        };
        left.extend(stored.map(|object| (field, object)));
    }
}

/// Values for a field, of which the API server may reject some.
fn values(schema: &Value) -> Vec<Value> {
    let mut all = vec![fill(schema, None)];
    for key in ["oneOf", "anyOf"] {
        for form in schema[key].as_array().into_iter().flatten() {
            let mut one = schema.clone();
            one[key] = json!([form]);
            all.push(fill(&one, None));
        }
    }
    if let Some(choices) = schema["enum"].as_array() {
        all.extend(choices.iter().cloned());
    } else {
        all.extend(of_type(schema));
    }
    all.push(Value::Null);
    let mut distinct: Vec<Value> = Vec::new();
    for value in all {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

fn of_type(schema: &Value) -> Vec<Value> {
    let numbers = || {
        let bounds = ["minimum", "maximum"].map(|key| schema[key].clone());
        let bounds = bounds.into_iter().filter(Value::is_number);
        let whole = [0, 1, -1, 7].map(Value::from);
        bounds.chain(whole).collect::<Vec<Value>>()
    };
    if schema["x-kubernetes-int-or-string"] == true {
        let limits = [i64::from(i32::MAX), i64::from(i32::MAX) + 1].map(Value::from);
        let texts = ["1", "25%"].map(Value::from);
        return limits.into_iter().chain(texts).collect();
    }
    match schema["type"].as_str() {
        Some("boolean") => vec![json!(true), json!(false)],
        Some("integer") => {
            let mut all = numbers();
            let (least, most) = match schema["format"].as_str() {
                Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
                _ => (i64::MIN, i64::MAX),
            };
            all.extend([json!(least), json!(most)]);
            all
        }
        Some("number") => {
            let mut all = numbers();
            all.extend([json!(0.5), json!(0.1), json!(-2.25)]);
            all
        }
        Some("string") => {
            let format = schema["format"].as_str().and_then(formats::example);
            format.into_iter().chain(TEXTS).map(Value::from).collect()
        }
        Some("array") => vec![
            json!([]),
            json!([fill(&schema["items"], None)]),
            list(&schema["items"]),
        ],
        Some("object") if schema["additionalProperties"].is_object() => {
            vec![
                json!({}),
                json!({ "example": fill(&schema["additionalProperties"], None) }),
            ]
        }
        Some("object") => vec![json!({})],
        _ => Vec::new(),
    }
}

/// A list of different items, if there are enough for their order to tell something.
fn list(items: &Value) -> Value {
    let texts = ["e", "b", "d", "a", "f", "c"].map(Value::from);
    let own = match items["type"].as_str() {
        Some("string") if items["enum"].is_null() => texts.to_vec(),
        Some("integer") => [5, 2, 4, 1, 6, 3].map(Value::from).to_vec(),
        _ => values(items),
    };
    let own = own
        .into_iter()
        .filter(|value| problems(value, items).is_empty());
    Value::Array(own.take(ITEMS).collect())
}
