use super::*;

fn part(kind: &str, version: &str, change: impl Fn(&mut Value)) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.x.io") },
        "spec": {
            "group": "x.io",
            "names": { "categories": [], "kind": kind, "plural": plural, "shortNames": [], "singular": "s" },
            "scope": "Namespaced",
            "versions": [{ "name": version, "served": true, "storage": true, "additionalPrinterColumns": [],
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    change(&mut crd);
    crd
}

fn later(crd: &mut Value) {
    crd["spec"]["versions"][0]["storage"] = json!(false);
}

fn rejected(printed: &[Value], reason: &str) {
    let mut problems = Vec::new();
    merge(printed, &SourceMap::default(), &mut problems);
    let [problem] = &problems[..] else {
        panic!("one problem, not {problems:?}");
    };
    assert!(problem.to_string().contains(reason), "{problem}");
}

#[test]
fn versions_of_a_kind_are_merged_and_sorted() {
    let printed = [
        part("Ship", "v1", |_| {}),
        part("Captain", "v1beta1", later),
        part("Captain", "v1", |_| {}),
        part("Captain", "v2alpha1", later),
    ];
    let mut problems = Vec::new();
    let merged = merge(&printed, &SourceMap::default(), &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    let files: Vec<String> = merged.iter().map(Crd::file).collect();
    assert_eq!(files, ["x.io_captains.yaml", "x.io_ships.yaml"]);
    let versions: Vec<&str> = merged[0].versions().iter().map(name).collect();
    assert_eq!(versions, ["v1", "v1beta1", "v2alpha1"]);
}

#[test]
fn the_kbr_version_and_the_list_kind_are_added_and_empty_lists_dropped() {
    let merged = merge(
        &[part("Ship", "v1", |_| {})],
        &SourceMap::default(),
        &mut Vec::new(),
    );
    let object = &merged[0].object;
    assert_eq!(
        object["metadata"]["annotations"],
        json!({ ANNOTATION: env!("CARGO_PKG_VERSION") })
    );
    let names =
        json!({ "kind": "Ship", "listKind": "ShipList", "plural": "ships", "singular": "s" });
    assert_eq!(object["spec"]["names"], names);
    assert_eq!(
        merged[0].versions()[0].get("additionalPrinterColumns"),
        None
    );
}

#[test]
fn names_and_scope_must_agree() {
    let second = |change: fn(&mut Value)| {
        part("Ship", "v2", |crd| {
            later(crd);
            change(crd);
        })
    };
    let first = part("Ship", "v1", |crd| {
        crd["metadata"]["labels"]["a"] = json!("b");
    });
    let check = |change, reason| rejected(&[first.clone(), second(change)], reason);
    check(
        |crd| crd["spec"]["names"]["shortNames"] = json!(["sh"]),
        "shortNames is `[]` in `v1` and `[\"sh\"]` in `v2`",
    );
    check(
        |crd| crd["spec"]["names"]["plural"] = json!("shippen"),
        "plural is",
    );
    check(|crd| crd["spec"]["scope"] = json!("Cluster"), "scope is");
    check(
        |crd| crd["metadata"]["labels"]["a"] = json!("c"),
        "labels `a` is",
    );
}

#[test]
fn annotations_and_labels_of_all_versions_are_kept() {
    let first = part("Ship", "v1", |crd| {
        crd["metadata"]["labels"]["a"] = json!("b");
    });
    let second = part("Ship", "v2", |crd| {
        later(crd);
        crd["metadata"]["labels"]["c"] = json!("d");
    });
    let merged = merge(&[first, second], &SourceMap::default(), &mut Vec::new());
    assert_eq!(
        merged[0].object["metadata"]["labels"],
        json!({ "a": "b", "c": "d" })
    );
}

#[test]
fn two_kinds_with_one_plural_are_an_error() {
    let fleet = part("Fleet", "v1", |crd| {
        crd["spec"]["names"]["plural"] = json!("ships");
    });
    rejected(
        &[part("Ship", "v1", |_| {}), fleet],
        "have the same plural `ships`",
    );
}

#[test]
fn a_name_that_escapes_the_folder_is_an_error() {
    let evil = part("Ship", "v1", |crd| {
        crd["spec"]["names"]["plural"] = json!("../ships");
    });
    rejected(&[evil], "is not a valid name for a CRD");
}

#[test]
fn output_that_is_not_a_crd_is_an_error() {
    let no_crd = [
        json!("text"),
        json!({}),
        json!([]),
        json!({ "spec": { "group": "x.io", "names": { "kind": "A" } } }),
    ];
    for printed in no_crd {
        rejected(&[printed], "not a CustomResourceDefinition");
    }
    rejected(
        &[part("Ship", "v1", |crd| {
            crd["spec"]["versions"] = json!(["v1"]);
        })],
        "not a CustomResourceDefinition",
    );
    rejected(
        &[part("Ship", "v1", |crd| {
            crd["metadata"]["labels"] = json!("a");
        })],
        "not a CustomResourceDefinition",
    );
}

#[test]
fn whole_limits_become_integers_and_data_is_unchanged() {
    let crd = part("Ship", "v1", |crd| {
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
            "properties": { "minimum": { "type": "number", "minimum": 0.0, "maximum": 0.5, "default": 1.0 } },
            "default": { "minimum": 1.0 },
        });
    });
    let merged = merge(&[crd], &SourceMap::default(), &mut Vec::new());
    let schema = merged[0].versions()[0]["schema"]["openAPIV3Schema"].to_string();
    let expected = r#"{"default":{"minimum":1.0},"properties":{"minimum":{"default":1.0,"maximum":0.5,"minimum":0,"type":"number"}}}"#;
    assert_eq!(schema, expected);
}

fn converted(crd: &mut Value) {
    crd["spec"]["conversion"] =
        json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"] } });
}

#[test]
fn the_conversion_of_any_version_applies_to_the_kind() {
    let printed = [
        part("Ship", "v1", converted),
        part("Ship", "v1beta1", |crd| {
            later(crd);
            converted(crd);
        }),
    ];
    let mut problems = Vec::new();
    let merged = merge(&printed, &SourceMap::default(), &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(
        merged[0].object["spec"]["conversion"]["strategy"],
        "Webhook"
    );
}

#[test]
fn a_served_version_without_conversion_is_rejected() {
    let printed = |change: fn(&mut Value)| {
        [
            part("Ship", "v2", converted),
            part("Ship", "v1", |crd| {
                later(crd);
                change(crd);
            }),
        ]
    };
    rejected(
        &printed(|_| {}),
        "`v1` is served, but nothing converts it\n    help: `kbr create webhook --group x.io --version … --kind Ship --conversion --spoke v1`",
    );
    let mut problems = Vec::new();
    let unserved = |crd: &mut Value| crd["spec"]["versions"][0]["served"] = json!(false);
    merge(&printed(unserved), &SourceMap::default(), &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn integer_formats_unknown_to_the_api_server_are_dropped_and_their_bounds_kept() {
    let mut merged = merge(
        &[part("Ship", "v1", |crd| {
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({ "type": "object", "properties": {
                "small": { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 },
                "word": { "type": "integer", "format": "uint32", "minimum": 0 },
                "large": { "type": "integer", "format": "int64" },
            } });
        })],
        &SourceMap::default(),
        &mut Vec::new(),
    );
    merged[0].drop_formats();
    let fields = &merged[0].versions()[0]["schema"]["openAPIV3Schema"]["properties"];
    assert_eq!(
        fields,
        &json!({ "small": { "type": "integer", "minimum": 0, "maximum": 255 }, "word": { "type": "integer", "minimum": 0, "maximum": u32::MAX }, "large": { "type": "integer", "format": "int64" } })
    );
}
