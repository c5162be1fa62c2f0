//! Test that parsing within a limit has the results of `serde_json`, counts what types take, and finds what they ignore.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::{
    ByteString,
    api::core::v1::Pod,
    apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

use super::*;

/// More than any of these texts take.
const ALL: usize = 60 << 20;

/// A struct of 480 bytes, of which the text may be `{}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
struct Large {
    texts: [String; 20],
}

#[derive(Debug, PartialEq, Deserialize)]
enum Chosen {
    Nothing,
    One(Box<Large>),
    Two(i32, String),
    Named { a: char, b: Option<f64> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    A { items: Vec<Large> },
    B,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(u64),
    Items(Vec<Large>),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flat {
    #[serde(flatten)]
    tagged: Tagged,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped(u8, Vec<u8>);

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct All {
    chosen: Vec<Chosen>,
    tagged: Vec<Tagged>,
    untagged: Vec<Untagged>,
    flat: Option<Flat>,
    unit: Option<Unit>,
    wrapped: Option<Wrapped>,
    numbers: BTreeMap<i64, (bool, i128, f32)>,
    set: BTreeSet<String>,
    bytes: Option<ByteString>,
    quantity: Option<Quantity>,
    port: Option<IntOrString>,
    value: Value,
    pod: Option<Box<Pod>>,
    nothing: (),
}

#[track_caller]
fn check<T: DeserializeOwned + std::fmt::Debug>(text: &str) {
    let own = from_str::<T>(text, ALL).map_err(|error| error.to_string());
    let plain = serde_json::from_str::<T>(text).map_err(|error| error.to_string());
    assert_eq!(format!("{own:?}"), format!("{plain:?}"), "{text}");
}

#[test]
fn values_and_errors_are_those_of_serde_json() {
    for (name, values) in [
        (
            "chosen",
            r#"["Nothing", {"One": {}}, {"Two": [1, "a"]}, {"Named": {"a": "b", "b": 1.5}}]"#,
        ),
        ("chosen", r#"["Other"]"#),
        ("chosen", r#"[{"Two": [1]}]"#),
        ("tagged", r#"[{"type": "A", "items": [{}]}, {"type": "B"}]"#),
        ("tagged", r#"[{"type": "C"}]"#),
        ("untagged", "[1, [{}]]"),
        ("untagged", "[true]"),
        ("flat", r#"{"type": "B", "a": [1, null, {"b": "c\n"}]}"#),
        ("unit", "null"),
        ("wrapped", "[1, [2, 3]]"),
        ("wrapped", "[1, [2, 300]]"),
        (
            "numbers",
            r#"{"-1": [true, 170141183460469231731687303715884105727, 0.1], "2": [false, 1, 1e9]}"#,
        ),
        ("numbers", r#"{"a": [true, 1, 1]}"#),
        ("set", r#"["b", "a", "a\u00e4"]"#),
        ("set", "[1]"),
        ("bytes", r#""AAEC""#),
        ("bytes", r#""?""#),
        ("quantity", r#""1Gi""#),
        ("port", "80"),
        ("port", r#""http""#),
        ("value", r#"{"a": [1, -2, 3.5, "x", null, true, {}]}"#),
        ("pod", r#"{"spec": {"containers": [{"name": "a"}]}}"#),
        ("pod", r#"{"spec": {"containers": [{"name": 1}]}}"#),
        ("nothing", "null"),
        ("nothing", "1"),
        ("unknown", "[[1]]"),
    ] {
        check::<All>(&format!(r#"{{"{name}": {values}}}"#));
    }
    for text in ["", "{", "{} x", "[]", "null", "{\"chosen\": [\"Nothing\""] {
        check::<All>(text);
    }
    check::<Box<RawValue>>(r#" {"a" : [1] } "#);
    let raw: &RawValue = from_str("[1 ]", ALL).unwrap();
    assert_eq!(raw.get(), "[1 ]");
}

/// What parsing this text as a `T` counts.
#[track_caller]
fn charged<T: DeserializeOwned>(text: &str) -> usize {
    let watch = Watch::new(ALL);
    parse::<T>(text, &watch).unwrap();
    watch.used()
}

#[test]
fn what_a_type_takes_is_charged() {
    let (count, large) = (100, size_of::<Large>());
    let items = format!("[{}]", vec!["{}"; count].join(","));
    let all = count * large;
    assert_eq!(
        charged::<Vec<Large>>(&items),
        size_of::<Vec<Large>>() + 128 * large
    );
    assert!(charged::<Vec<Box<Large>>>(&items) >= all);
    assert!(charged::<Vec<Option<Box<Large>>>>(&items) >= all);
    let lists = format!("[{}]", vec!["[{}]"; count].join(","));
    assert!(charged::<Vec<Vec<Large>>>(&lists) >= 4 * all);
    let chosen = format!("[{}]", vec![r#"{"One":{}}"#; count].join(","));
    assert!(charged::<Vec<Chosen>>(&chosen) >= all);
    let map: BTreeMap<_, _> = (0..count).map(|at| (at.to_string(), json!({}))).collect();
    let map = serde_json::to_string(&map).unwrap();
    assert!(charged::<BTreeMap<String, Large>>(&map) >= all);
    // They are collected first, and then parsed by code of serde.
    let tagged = format!(r#"{{"type":"A","items":{items}}}"#);
    assert!(charged::<Tagged>(&tagged) >= 2 * all);
    assert!(charged::<Untagged>(&items) >= 2 * all);
    assert!(charged::<Flat>(&tagged) >= 2 * all);
    assert_eq!(charged::<Value>(&items), 129 * size_of::<Value>());
    let small = format!("[{}]", vec![r#"{"":0}"#; count].join(","));
    assert!(charged::<Value>(&small) >= count * 640);
    let text = format!("\"{}\"", "x".repeat(1000));
    assert!((1000..1100).contains(&charged::<String>(&text)));
    assert!((1000..1100).contains(&charged::<Box<RawValue>>(&text)));
    // What is skipped takes nothing.
    assert_eq!(
        charged::<Large>(&format!(r#"{{"unknown":{items}}}"#)),
        large
    );
}

#[test]
fn an_ordinary_object_takes_a_few_dozen_times_its_text() {
    let room = r#"{"name":"some-name","image":"registry.example.com/a/b:1.2.3","args":["--some-flag","--another=1"],
        "env":[{"name":"A","value":"a value"},{"name":"B","value":"b"}],"ports":[{"containerPort":8080,"name":"http"}]}"#;
    let text = format!(
        r#"{{"spec":{{"containers":[{}]}}}}"#,
        vec![room; 1000].join(",")
    );
    let charged = charged::<Pod>(&text);
    // A container is a struct of almost a kilobyte, and a list may double.
    let expected = 12 * text.len()..25 * text.len();
    assert!(expected.contains(&charged), "{charged}, not {expected:?}");
}

/// Ignores what it cannot read.
#[expect(
    clippy::unnecessary_wraps,
    reason = "`deserialize_with` wants a result"
)]
fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Large>, D::Error> {
    Ok(Vec::deserialize(deserializer).unwrap_or_default())
}

#[test]
fn nothing_is_parsed_beyond_the_budget() {
    #[derive(Debug, Deserialize)]
    struct Lenient {
        #[serde(deserialize_with = "lenient")]
        _items: Vec<Large>,
    }
    let items = format!("[{}]", vec!["{}"; 1000].join(","));
    let error = from_str::<Vec<Large>>(&items, 100_000).unwrap_err();
    let problem = "]: the limit of 0 MiB of memory for a review is exceeded";
    assert!(
        error.is_too_large() && error.to_string().ends_with(problem),
        "{error}"
    );
    let text = format!(r#"{{"_items":{items}}}"#);
    from_str::<Lenient>(&text, ALL).unwrap();
    assert!(
        from_str::<Lenient>(&text, 100_000)
            .unwrap_err()
            .is_too_large()
    );
}

#[test]
fn nothing_is_written_beyond_the_limit() {
    let items = vec![Large::default(); 100];
    let expected = serde_json::to_string(&items).unwrap();
    for length in [0, 100, 1 << 40] {
        assert_eq!(to_string(&items, length).unwrap(), expected);
    }
    to_string(&"x".repeat(WRITTEN - 2), 0).unwrap();
    let error = to_string(&"x".repeat(WRITTEN), 0).unwrap_err();
    assert!(error.is_too_large());
    assert_eq!(
        error.to_string(),
        "it takes more than 8 MiB of memory as text"
    );
}

#[test]
fn the_fields_that_a_type_does_not_know_are_parts_of_the_text() {
    for (text, expected) in [
        (r#"{"value":{"new":1},"unit":null}"#, vec![]),
        (
            r#"{"new":0, "more" : [ 1 ,{}] ,"n\u0065w":1.50}"#,
            vec!["0", "[ 1 ,{}]", "1.50"],
        ),
        (
            r#"{"chosen":[{"One":{"new":""}}],"wrapped":[1,[]]}"#,
            vec![r#""""#],
        ),
        (
            r#"{"pod":{"spec":{"containers":[{"name":"a","new":false},{"name":"b","new":null}]}}}"#,
            vec!["false", "null"],
        ),
        (
            r#"{"pod":{"metadata":{"labels":{"new":"1"},"new":{}}}}"#,
            vec!["{}"],
        ),
    ] {
        let (all, unknown) = with_unknown::<All>(text, ALL).unwrap();
        let values: Vec<_> = unknown.values.iter().map(|it| it.value).collect();
        assert_eq!(values, expected, "{text}");
        assert!(!unknown.may_hide, "{text}");
        let plain: All = serde_json::from_str(text).unwrap();
        assert_eq!(all, plain, "{text}");
    }
    // What these collect is read where no one sees it.
    for text in [
        r#"{"flat":{"type":"B","new":1}}"#,
        r#"{"tagged":[{"type":"B","new":1}]}"#,
    ] {
        let (_, unknown) = with_unknown::<All>(text, ALL).unwrap();
        assert!(unknown.values.is_empty() && unknown.may_hide, "{text}");
    }
    // They count, too.
    let many = format!(r#"{{"pod":{{{}}}}}"#, vec![r#""":0"#; 10_000].join(","));
    assert!(
        with_unknown::<All>(&many, 100_000)
            .unwrap_err()
            .is_too_large()
    );
}
