//! Rules in CEL. The messages of their answers must be the same, too.

use super::*;

/// The definition of barges, from one of a single version: `v1` has no rules. Objects are stored in it.
pub fn barge(mut definition: Value) -> Value {
    let versions = &mut definition["spec"]["versions"];
    let (mut old, mut new) = (versions[0].clone(), versions[0].clone());
    let schema = schema();
    old["schema"] = json!({ "openAPIV3Schema": without_rules(schema.clone()) });
    new["name"] = json!("v2");
    new["storage"] = json!(false);
    new["schema"] = json!({ "openAPIV3Schema": schema });
    *versions = json!([old, new]);
    definition
}

fn without_rules(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let kept = fields.filter(|(name, _)| name != "x-kubernetes-validations");
            kept.map(|(name, schema)| (name, without_rules(schema)))
                .collect()
        }
        other => other,
    }
}

/// A schema with the rules that are the key of each field, and messages.
fn schema() -> Value {
    let ruled = |mut schema: Value, rules: Value| {
        schema["x-kubernetes-validations"] = rules;
        schema
    };
    let number = || json!({"type": "integer"});
    let string = || json!({"type": "string", "maxLength": 20});
    let object = |fields: Value| json!({"type": "object", "properties": fields});
    let least = |message: &str| json!([{"rule": "self > 0", "message": message}]);
    let hold = ruled(
        object(
            json!({"name": string(), "weight": ruled(number(), least("too light")), "note": string()}),
        ),
        json!([{"rule": "self.weight < 100 || self.name == 'big'"}]),
    );
    let list = |kind: &str, items: &Value| {
        let mut list =
            json!({"type": "array", "maxItems": 5, "items": items, "x-kubernetes-list-type": kind});
        if kind == "map" {
            list["items"]["required"] = json!(["name"]);
            list["x-kubernetes-list-map-keys"] = json!(["name"]);
        }
        list
    };
    let growing = ruled(
        object(
            json!({"name": string(), "size": ruled(number(), json!([{"rule": "self >= oldSelf", "message": "may only grow"}]))}),
        ),
        json!([{"rule": "!has(self.size) || self.size != 13", "message": "unlucky"}]),
    );
    let reasons = ["Invalid", "Forbidden", "Required", "Duplicate"].map(|reason| {
        json!({"rule": "!self.endsWith(' ')", "message": "ends with a space", "reason": format!("FieldValue{reason}")})
    });
    let spec = object(json!({
        "number": ruled(number(), least("must be positive")),
        "plain": ruled(number(), json!([{"rule": "self > 0"}])),
        "text": ruled(string(), json!(reasons)),
        "fixed": ruled(string(), json!([{"rule": "self == oldSelf", "message": "cannot be changed"}])),
        "pair": ruled(
            object(json!({"from": number(), "to": number(), "name": string(), "labels": {"type": "object", "maxProperties": 5, "additionalProperties": string()}})),
            json!([
                {"rule": "self.from <= self.to", "fieldPath": ".to", "reason": "FieldValueForbidden",
                    "messageExpression": "'to is below from in ' + self.name"},
                {"rule": "!has(self.labels) || self.labels.all(key, key != self.labels[key])", "fieldPath": ".labels['a']",
                    "message": "a label is its own value"},
                {"rule": "self.from != 7", "messageExpression": "self.labels['none']", "message": "from is 7"},
                {"rule": "self.from != 8", "messageExpression": "' '"},
                {"rule": "self.from != 9 || self.labels['b'] == 'x'"},
                {"rule": "100 / self.to > 1", "message": "too far"},
            ]),
        ),
        "holds": list("map", &hold),
        "crates": list("atomic", &hold),
        "growing": list("map", &growing),
        "berths": {"type": "object", "maxProperties": 5, "additionalProperties": growing},
        "names": ruled(list("set", &ruled(string(), json!([{"rule": "self != 'x'", "message": "not x"}]))),
            json!([{"rule": "self.all(name, name.size() > 1)", "message": "too short"}])),
        "once": ruled(string(), json!([
            {"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": true, "message": "begins as new"},
            {"rule": "!oldSelf.hasValue() || oldSelf.value() != 'old'", "optionalOldSelf": true, "message": "old for ever"},
        ])),
        "open": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": "type(self) == string ? self.endsWith('%') : self < 5"}]},
        "choice": {"type": "string", "enum": ["a", "b"]},
    }));
    let spec = ruled(
        spec,
        json!([{"rule": "!has(self.number) || !has(self.plain) || self.number < self.plain", "message": "number before plain"}]),
    );
    let status = ruled(
        object(
            json!({"count": ruled(number(), json!([{"rule": "self >= oldSelf", "message": "counts up"}])), "phase": string()}),
        ),
        json!([{"rule": "self.phase != 'Bad' || self.count > 5", "message": "bad phase"}]),
    );
    ruled(
        object(json!({"spec": spec, "status": status})),
        json!([
            {"rule": "self.metadata.name != 'forbidden'", "message": "not this name"},
            {"rule": "!has(self.status) || self.spec.number < 50", "message": "too many", "fieldPath": ".spec.number"},
        ]),
    )
}

fn of(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("crew.example.com/{version}"), "kind": "Barge",
        "metadata": {"name": "ark"}, "spec": spec,
    })
}

fn barge_of(spec: Value) -> Value {
    of("v2", spec)
}

/// The same step in version 2, whose message is compared.
fn v2(mut step: Step) -> Step {
    step.path = step.path.replace("/v1/", "/v2/");
    step.with_message()
}

fn created(spec: Value) -> Step {
    v2(post("barges", barge_of(spec)))
}

fn changed(spec: Value) -> Step {
    v2(merge("barges/ark", json!({ "spec": spec })))
}

pub fn cases() -> Vec<Case> {
    let mut all = on_creation();
    all.extend(on_changes());
    all.extend(ratcheted());
    all
}

fn on_creation() -> Vec<Case> {
    let wrong = [
        json!({"number": 0}),
        json!({"plain": 0}),
        json!({"number": 2, "plain": 1}),
        json!({"text": "a "}),
        json!({"pair": {"from": 2, "to": 1, "name": "a"}}),
        json!({"pair": {"from": 2, "to": 1}}),
        json!({"pair": {"from": 1, "to": 2, "labels": {"a": "a"}}}),
        json!({"pair": {"from": 7, "to": 8, "labels": {"a": "b"}}}),
        json!({"pair": {"from": 8, "to": 8}}),
        json!({"pair": {"from": 9, "to": 9, "labels": {"a": "b"}}}),
        json!({"pair": {"from": 9, "to": 9}}),
        json!({"pair": {"from": 0, "to": 0}}),
        json!({"pair": {}}),
        json!({"holds": [{"name": "a", "weight": 1}, {"name": "b", "weight": 0}]}),
        json!({"holds": [{"name": "a", "weight": 100}, {"name": "b"}]}),
        json!({"crates": [{"name": "a", "weight": 100}]}),
        json!({"growing": [{"name": "a", "size": 13}]}),
        json!({"berths": {"a": {"size": 13}}}),
        json!({"names": ["x", "yy"]}),
        json!({"once": "old"}),
        json!({"open": 5}),
        json!({"open": "5"}),
        // What else is wrong comes first.
        json!({"number": 0, "choice": "c"}),
        json!({"number": 0, "choice": 3}),
        json!({"number": 0, "names": ["yy", "yy"]}),
    ];
    let named = |name: &str| with(barge_of(json!({})), "name", json!(name));
    let right = json!({
        "number": 1, "plain": 2, "text": "a", "fixed": "a", "pair": {"from": 1, "to": 2}, "holds": [{"name": "a", "weight": 1}],
        "growing": [{"name": "a", "size": 1}], "berths": {"a": {"size": 1}}, "names": ["yy"], "once": "new", "open": "5%",
    });
    vec![
        case("rules reject what is created", wrong.map(created).to_vec()),
        case(
            "rules see the name",
            [
                v2(post("barges", named("forbidden"))),
                v2(post("barges", named("ark"))),
            ],
        ),
        case(
            "rules accept what is created",
            [created(right), v2(get("barges/ark"))],
        ),
        case(
            "rules reject what is applied",
            [
                v2(apply("barges/ark", "a", barge_of(json!({"number": 0})))),
                v2(apply("barges/ark", "a", barge_of(json!({"number": 1})))),
                v2(apply("barges/ark", "a", barge_of(json!({"number": -1})))),
            ],
        ),
    ]
}

fn on_changes() -> Vec<Case> {
    vec![
        case(
            "transition rules reject changes",
            [
                created(json!({"fixed": "a", "once": "new"})),
                changed(json!({"fixed": "b"})),
                v2(put(
                    "barges/ark",
                    with(
                        barge_of(json!({"fixed": "b"})),
                        "resourceVersion",
                        json!("{rv}"),
                    ),
                )),
                changed(json!({"fixed": null})),
                changed(json!({"fixed": "b", "once": "old"})),
                changed(json!({"once": "older"})),
                changed(json!({"number": 3})),
            ],
        ),
        case(
            "transition rules find items by their keys",
            [
                created(
                    json!({"growing": [{"name": "a", "size": 5}, {"name": "b", "size": 3}], "berths": {"a": {"size": 5}}}),
                ),
                changed(json!({"growing": [{"name": "b", "size": 3}, {"name": "a", "size": 4}]})),
                changed(json!({"growing": [{"name": "b", "size": 3}, {"name": "c", "size": 1}]})),
                changed(json!({"growing": [{"name": "a", "size": 1}]})),
                changed(json!({"berths": {"a": {"size": 4}}})),
                changed(json!({"berths": {"b": {"size": 1}}})),
                changed(json!({"berths": {"a": null}})),
                changed(json!({"berths": {"a": {"size": 1}}})),
            ],
        ),
        case(
            "rules hold for a status",
            [
                created(json!({"number": 1})),
                v2(merge(
                    "barges/ark/status",
                    json!({"status": {"count": 3, "phase": "New"}}),
                )),
                v2(merge("barges/ark/status", json!({"status": {"count": 2}}))),
                v2(merge(
                    "barges/ark/status",
                    json!({"status": {"phase": "Bad"}}),
                )),
                v2(merge(
                    "barges/ark/status",
                    json!({"status": {"phase": "Bad", "count": 6}}),
                )),
                changed(json!({"number": 60})),
                v2(force(
                    "barges/ark/status",
                    "a",
                    json!({
                        "apiVersion": "crew.example.com/v2", "kind": "Barge", "metadata": {"name": "ark"},
                        "status": {"count": 1},
                    }),
                )),
            ],
        ),
    ]
}

/// What is created in the version without rules violates them.
fn ratcheted() -> Vec<Case> {
    let old = |spec: Value| post("barges", of("v1", spec));
    vec![
        case(
            "what an update leaves as it was may violate rules",
            [
                old(json!({"number": 0, "text": "a ", "choice": "a"})),
                changed(json!({"choice": "b"})),
                changed(json!({"number": -1})),
                changed(json!({"text": "b "})),
                changed(json!({"number": 1})),
                changed(json!({"number": 0})),
                v2(merge(
                    "barges/ark",
                    json!({"metadata": {"labels": {"a": "b"}}}),
                )),
                v2(merge(
                    "barges/ark/status",
                    json!({"status": {"phase": "New"}}),
                )),
            ],
        ),
        case(
            "a changed object violates its rule, and what is in it may",
            [
                old(
                    json!({"pair": {"from": 2, "to": 1}, "holds": [{"name": "a", "weight": 100}, {"name": "b", "weight": 0}]}),
                ),
                changed(json!({"number": 2})),
                changed(json!({"pair": {"to": 0}})),
                changed(
                    json!({"holds": [{"name": "b", "weight": 0}, {"name": "a", "weight": 100}]}),
                ),
                changed(
                    json!({"holds": [{"name": "b", "weight": 0, "note": "x"}, {"name": "a", "weight": 100}]}),
                ),
                changed(
                    json!({"holds": [{"name": "b", "weight": 0}, {"name": "a", "weight": 101}]}),
                ),
                changed(json!({"holds": [{"name": "c", "weight": 0}]})),
            ],
        ),
        case(
            "a list without keys is the same only as a whole",
            [
                old(
                    json!({"crates": [{"name": "a", "weight": 100}], "names": ["x"], "berths": {"a": {"size": 13}}}),
                ),
                changed(json!({"number": 2})),
                changed(
                    json!({"crates": [{"name": "a", "weight": 100}, {"name": "b", "weight": 1}]}),
                ),
                changed(json!({"names": ["x", "yy"]})),
                changed(json!({"berths": {"b": {"size": 1}}})),
                changed(json!({"berths": {"a": {"name": "b"}}})),
            ],
        ),
        case(
            "a runtime error of a rule is never tolerated",
            [
                old(json!({"pair": {"from": 0, "to": 0}})),
                changed(json!({"number": 2})),
                changed(json!({"pair": {"to": 1}})),
            ],
        ),
    ]
}
