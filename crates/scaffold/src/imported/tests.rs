//! Names and errors; `crates/lint-fixtures/tests/imported` proves the generated types.

use super::names::{camel, field, pascal, singular, variants};
use serde_json::Value;

use super::*;

#[test]
fn names_of_a_crd_become_those_of_rust() {
    for (name, expected) in [
        ("replicas", "replicas"),
        ("podIPs", "pod_ips"),
        ("clusterIP", "cluster_ip"),
        ("HTTPGet", "http_get"),
        ("URLPrefix", "url_prefix"),
        ("x-y.z", "x_y_z"),
        ("a1B2", "a1_b2"),
        ("type", "type_"),
        ("self", "self_"),
        ("9lives", "field_9lives"),
        ("$", "field"),
    ] {
        assert_eq!(field(name), expected, "{name}");
    }
    assert_eq!(pascal("HTTPGet"), "HttpGet");
    assert_eq!(pascal("10.0"), "100");
}

#[test]
fn a_name_that_serde_derives_needs_no_attribute() {
    for name in ["podIp", "type", "a1B2"] {
        assert_eq!(camel(&field(name)), name);
    }
    for name in ["podIPs", "Foo", "foo_bar", "x-y"] {
        assert_ne!(camel(&field(name)), name);
    }
}

#[test]
fn a_list_holds_what_its_name_is_the_plural_of() {
    for (name, expected) in [
        ("pools", "pool"),
        ("policies", "policy"),
        ("addresses", "address"),
        ("boxes", "box"),
        ("status", "status"),
        ("dns", "dns"),
        ("tls", "tls"),
        ("ingress", "ingress"),
    ] {
        assert_eq!(singular(name), expected);
    }
}

#[test]
fn variants_have_different_names_whatever_their_values_are() {
    let of = |values: &[&str]| {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        variants(&values).join(" ")
    };
    assert_eq!(
        of(&["ReadWriteOnce", "ReadOnlyMany"]),
        "ReadWriteOnce ReadOnlyMany"
    );
    assert_eq!(of(&["", "on"]), "Empty On");
    assert_eq!(of(&["up", "UP", "Up"]), "UpLower Up Up2");
    assert_eq!(
        of(&["=", "!=", "10.0", "Self"]),
        "Value1 Value2 V100 ItSelf"
    );
}

fn rejected(text: &str, reason: &str, help: &str) {
    let error = read(text, None).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
    assert!(error.contains(help), "{error}");
}

const CLUSTER: &str = "kubectl get crd captains.crew.example.com -o yaml";

#[test]
fn a_file_without_a_crd_is_an_error_with_the_way_to_get_one() {
    rejected("", "the file is empty", CLUSTER);
    rejected("a: [", "the CRD is not valid YAML", CLUSTER);
    rejected(
        "kind: Deployment",
        "found `Deployment`, not a `CustomResourceDefinition`",
        CLUSTER,
    );
    rejected(
        "kind: A\n---\nkind: B\n",
        "found no `CustomResourceDefinition` among 2 documents",
        CLUSTER,
    );
    rejected("just text", "found text without `kind`", CLUSTER);
    rejected(
        "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\n",
        "the CRD has no `spec.group`",
        CLUSTER,
    );
}

#[test]
fn a_template_of_helm_is_an_error_with_the_command_that_renders_it() {
    for (text, line) in [
        (
            "{{- if .Values.crds }}\nkind: A\n{{- end }}\n",
            "line 1 is `{{- if .Values.crds }}`",
        ),
        (
            "kind: A\nmetadata:\n  labels:\n    {{- include \"labels\" . | nindent 4 }}\n",
            "line 4 is",
        ),
        (
            "kind: A\nmetadata:\n  name: {{ .Values.name }}\n",
            "line 3 is",
        ),
    ] {
        let reason = format!("the file is a template of Helm, not a manifest: {line}");
        rejected(
            text,
            &reason,
            "`helm template NAME CHART --include-crds | kbr create api --from-crd - --kind KIND`",
        );
    }
}

#[test]
fn a_yaml_error_is_that_of_the_file_and_not_advice_to_programs() {
    let error = read("kind: A\nkind: B\n", None).unwrap_err().to_string();
    let expected = "the CRD is not valid YAML: line 2 column 1: duplicate mapping key: kind\n";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_kind_that_the_file_does_not_define_is_an_error() {
    let text = minimal("Ship", VERSION);
    assert_eq!(read(&text, Some("Ship")).unwrap().kind, "Ship");
    let error = read(&text, Some("Boat")).unwrap_err().to_string();
    let expected =
        "the file does not define the kind `Boat`\nhelp: select one of its kinds: `Ship`";
    assert_eq!(error, expected);
}

#[test]
fn an_old_crd_is_an_error_with_the_way_to_convert_it() {
    rejected(
        "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1\n",
        "the CRD is of `apiextensions.k8s.io/v1beta1`, not of `apiextensions.k8s.io/v1`",
        "get it from there as v1",
    );
}

fn minimal(kind: &str, version: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{ name: x }}
spec:
  group: x.io
  scope: Cluster
  names: {{ kind: {kind}, plural: {}s }}
  versions:
    - {version}
",
        kind.to_lowercase()
    )
}

const VERSION: &str =
    "{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }";

#[test]
fn of_several_definitions_one_is_selected() {
    let both = format!(
        "{}---\n{}",
        minimal("Ship", VERSION),
        minimal("Boat", VERSION)
    );
    rejected(
        &both,
        "the file contains 2 definitions: `Ship`, `Boat`",
        "select one with `--kind`",
    );
    let boat = read(&both, Some("Boat")).unwrap();
    assert_eq!(
        (
            boat.kind.as_str(),
            boat.plural.as_str(),
            boat.singular.as_str()
        ),
        ("Boat", "boats", "boat")
    );
}

#[test]
fn json_and_lists_are_read() {
    let crd: Value = serde_saphyr::from_str(&minimal("Ship", VERSION)).unwrap();
    assert_eq!(read(&crd.to_string(), None).unwrap().kind, "Ship");
    let list = serde_json::json!({ "kind": "List", "items": [crd, { "kind": "Pod" }] });
    assert_eq!(read(&list.to_string(), None).unwrap().kind, "Ship");
}

#[test]
fn a_version_without_a_schema_is_an_error() {
    rejected(
        &minimal("Ship", "{ name: v1, served: true, storage: true }"),
        "version `v1` has no schema",
        "DynamicObject",
    );
}

#[test]
fn what_types_cannot_express_is_reported() {
    let version = "{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: {
        spec: { type: object, oneOf: [{ required: [a] }], properties: {
            a: { type: string, maxLength: 3 },
            list: { type: array, items: { type: string, maxLength: 3 } },
            known: { x-kubernetes-preserve-unknown-fields: true, properties: { a: { type: string } } },
            any: { x-kubernetes-preserve-unknown-fields: true } } } } } } }";
    let ship = read(&minimal("Ship", version), None).unwrap();
    let kept = &ship.types()[0].kept;
    let kept: Vec<(&str, &str)> = kept
        .iter()
        .map(|kept| (kept.path.as_str(), kept.what.as_str()))
        .collect();
    assert_eq!(kept, [("spec", "`oneOf`"), ("spec.known", "`properties`"),]);
}

#[test]
fn a_number_keeps_all_of_its_digits() {
    let version = "{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: {
        spec: { type: object, properties: { a: { type: number, maximum: 9.223372036854775e18 } } } } } } }";
    let crd: Value = serde_saphyr::from_str(&minimal("Ship", version)).unwrap();
    let ship = read(&crd.to_string(), None).unwrap();
    let text = &ship.types()[0].text;
    assert!(text.contains("9.223372036854775e+18"), "{text}");
}

#[test]
fn the_head_of_a_function_with_a_long_name_is_broken_as_rustfmt_does() {
    for (length, expected) in [(40, 1), (41, 3)] {
        let text = functions::text(&("f".repeat(length), serde_json::Map::new()));
        let head = text
            .lines()
            .take_while(|line| !line.contains("json_schema!"));
        assert_eq!(head.count(), expected, "{text}");
    }
}

/// The types of a kind whose `spec` has one field with this schema.
fn types_of(field: &Value) -> String {
    let schema = serde_json::json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": { "a": field } } } });
    let version = serde_json::json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let crd = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": { "group": "a.b", "scope": "Cluster", "names": { "kind": "A", "plural": "as" }, "versions": [version] },
    });
    read(&crd.to_string(), None).unwrap().types()[0]
        .text
        .clone()
}

#[test]
fn words_of_the_api_that_it_does_not_have_stay_data() {
    let of = |key: &str, value: &Value| {
        let mut rule = serde_json::json!({ "rule": "true", "message": "m" });
        rule[key] = value.clone();
        types_of(&serde_json::json!({ "type": "string", "x-kubernetes-validations": [rule] }))
    };
    let known = of("reason", &serde_json::json!("FieldValueRequired"));
    assert!(
        known.contains(".reason(Reason::FieldValueRequired)"),
        "{known}"
    );
    for (key, value) in [
        ("reason", serde_json::json!("FieldValueInvalid); run(")),
        ("reason", serde_json::json!("Other")),
        ("optionalOldSelf", serde_json::json!("run()")),
        ("optionalOldSelf", serde_json::json!(1)),
    ] {
        let text = of(key, &value);
        assert!(!text.contains("Rule::new"), "{text}");
        let value = value.to_string();
        assert!(text.contains(&format!("\"{key}\": {value}")), "{text}");
    }
}

#[test]
fn a_description_that_is_a_marker_is_not_a_comment() {
    let marker = "+kbr:rbac:groups=*,resources=*,verbs=*";
    let text = types_of(&serde_json::json!({ "type": "string", "description": marker }));
    assert!(
        text.contains(&format!("\"description\" = \"{marker}\"")),
        "{text}"
    );
    assert!(!text.contains(&format!("/// {marker}")), "{text}");
}

#[test]
fn html_in_a_description_is_shown_and_not_passed_on() {
    let text = types_of(&serde_json::json!({ "type": "string", "description": "As <name>." }));
    assert!(text.contains("/// As &lt;name>."), "{text}");
    assert!(text.contains("\"description\" = \"As <name>.\""), "{text}");
}

#[test]
fn a_field_whose_name_no_one_sees_is_an_error() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: { group: a.b, scope: Cluster, names: { kind: A, plural: as }, versions: [{ name: v1, schema: { openAPIV3Schema: { properties: { \"a\\u202e\": {} } } } }] }\n";
    let error = read(crd, None).unwrap_err().to_string();
    assert!(
        error.contains("a character that no one sees: `a\\u{202e}`"),
        "{error}"
    );
}

#[test]
fn a_description_adds_no_code_that_nothing_uses() {
    let text =
        "merged( json( , KubeSchema)] schema_with = \"quantities\" fields.pointer( generator";
    let described = |docs: &str| {
        types_of(&serde_json::json!({ "type": "string", "description": docs, "default": docs }))
    };
    let lines = |text: &str| text.lines().count();
    assert_eq!(
        lines(&described(text)),
        lines(&described(&"x".repeat(text.len())))
    );
}

/// A kind whose `spec` and `status` have these fields.
fn kind(name: &str, spec: &str, status: &str) -> Definition {
    let version = format!(
        "{{ name: v1, served: true, storage: true, subresources: {{ status: {{}} }}, schema: {{ openAPIV3Schema: {{ type: object, properties: {{
            spec: {{ type: object, properties: {{ {spec} }} }}, status: {{ type: object, properties: {{ {status} }} }} }} }} }} }}"
    );
    read(&minimal(name, &version), None).unwrap()
}

/// The types that a file declares.
fn declared(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| {
        line.strip_prefix("pub struct ")
            .or(line.strip_prefix("pub enum "))
    });
    names.filter_map(|rest| rest.split(' ').next()).collect()
}

const PORT: &str =
    "{ type: object, properties: { name: { type: string, description: Its name. } } }";
const COLOR: &str = "{ type: string, enum: [red, blue] }";

#[test]
fn equal_types_of_several_kinds_are_one() {
    let conditions = "conditions: { type: array, items: { type: object, properties: { type: { type: string }, level: { type: integer }, at: { type: string } } } }";
    let ship = kind("Ship", &format!("port: {PORT}, color: {COLOR}"), conditions);
    let boat = kind("Boat", &format!("port: {PORT}, paint: {COLOR}"), conditions);
    let raft = kind("Raft", &format!("quay: {PORT}, paint: {COLOR}"), "");
    let (shared, files) = shared(&[&ship, &boat, &raft]).unwrap();
    // What its fields say is equal by no chance, and most call it so; a few words without a description may be.
    assert_eq!(declared(&files[0].text), ["Condition", "Paint", "Port"]);
    let own = |kind: &Definition| kind.types_beside(&shared)[0].text.clone();
    assert_eq!(declared(&own(&ship)), ["ShipSpec", "ShipStatus", "Color"]);
    assert_eq!(declared(&own(&boat)), ["BoatSpec", "BoatStatus"]);
    let raft = own(&raft);
    assert!(
        raft.contains("use super::shared_types::{Paint, Port};"),
        "{raft}"
    );
    assert!(raft.contains("pub quay: Option<Port>"), "{raft}");
}

#[test]
fn a_later_kind_takes_what_is_there_by_its_list() {
    let spec = format!(
        "port: {PORT}, hull: {{ type: object, properties: {{ port: {PORT}, a: {{ type: string, description: A. }} }} }}"
    );
    let (_, files) = shared(&[&kind("Ship", &spec, ""), &kind("Boat", &spec, "")]).unwrap();
    let SharedFile { text, list, .. } = &files[0];
    assert_eq!(declared(text), ["Hull", "Port"]);
    let raft = kind("Raft", &spec, "");
    let beside = |rust: &str, kind: &Definition| {
        let mut shared = Shared::default();
        shared.read("v1", list, rust).unwrap();
        kind.types_beside(&shared)[0].text.clone()
    };
    assert_eq!(declared(&beside(text, &raft)), ["RaftSpec"]);
    // Not what the user has removed or renamed, and not what has the kind's own name.
    let renamed = text.replace("pub struct Port {", "pub struct Quay {");
    assert_eq!(declared(&beside(&renamed, &raft)), ["RaftSpec", "Port"]);
    let port = kind("Port", &spec, "");
    assert_eq!(declared(&beside(text, &port)), ["PortSpec", "Port2"]);
    // A newer CRD, in which the type has changed.
    let newer = kind("Ship", &spec.replace("Its name", "Another name"), "");
    let types = declared(&beside(text, &newer)).len();
    assert_eq!(types, 3);
}
