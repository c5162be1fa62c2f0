//! Conversions of objects that are many, or of no version.

use super::*;

pub(crate) fn conversion(wanted: &str, objects: &Value) -> Vec<u8> {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "u", "desiredAPIVersion": wanted, "objects": objects },
    });
    review.to_string().into_bytes()
}

pub(crate) fn thing(name: usize, version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("a.example.com/{version}"), "kind": "Thing",
        "metadata": { "name": name.to_string(), "uid": "x", "fromTheFuture": 1 }, "spec": spec,
    })
}

#[tokio::test]
async fn a_thousand_objects_are_converted_in_order() {
    let server = Server::start(register);
    let objects: Vec<_> = (0..1000)
        .map(|name| match name % 2 {
            0 => thing(name, "v1", &json!({ "old": "x", "new2": 1 })),
            _ => thing(name, "v2", &json!({ "new": "x", "new2": 1 })),
        })
        .collect();
    let body = conversion("a.example.com/v2", &json!(objects));
    let (_, answer) = server.post("/convert", &body).await;
    let response = &answer["response"];
    assert_eq!(
        (&response["uid"], &response["result"]["status"]),
        (&json!("u"), &json!("Success"))
    );
    let converted = response["convertedObjects"].as_array().unwrap();
    assert_eq!(converted.len(), 1000);
    for (name, object) in converted.iter().enumerate() {
        assert_eq!(
            *object,
            thing(name, "v2", &json!({ "new": "x", "new2": 1 }))
        );
    }
}

#[tokio::test]
async fn a_conversion_can_be_tested_without_a_server() {
    let (api, old) = (FakeApi::new(), thing(1, "v1", &json!({ "old": "x" })));
    let new = api
        .convert(register, std::slice::from_ref(&old), "a.example.com/v2")
        .await;
    let new = new.unwrap();
    assert_eq!(new, [thing(1, "v2", &json!({ "new": "x" }))]);
    let back = api.convert(register, &new, "a.example.com/v1").await;
    assert_eq!(back.unwrap(), [old]);
    let error = api.convert(register, &new, "a.example.com/v3").await;
    let error = error.unwrap_err().to_string();
    let message = "cannot convert `Thing` from `a.example.com/v2` to `a.example.com/v3`: the operator has no such \
                   conversion";
    assert_eq!(error, message);
}

/// Objects that `v1` cannot read.
fn broken() -> Vec<Value> {
    let mut annotated = thing(3, "v1", &json!({ "old": 5, "new": "x" }));
    annotated["metadata"]["annotations"] = json!({ "a": "b" });
    annotated["metadata"]["generation"] = json!(7);
    annotated["status"] = json!({ "seen": [1.5, 105_600_006_869.142_85, 1e300, { "a": null }] });
    let of_no_shape = json!({
        "apiVersion": "a.example.com/v1", "kind": "Thing",
        "metadata": { "name": "4" }, "spec": "text", "more": [[]],
    });
    vec![
        thing(1, "v1", &json!({})),
        thing(2, "v1", &json!({ "old": 5 })),
        annotated,
        of_no_shape,
    ]
}

#[tokio::test]
async fn unreadable_objects_block_no_others_and_keep_their_content() {
    let (api, good) = (FakeApi::new(), thing(0, "v1", &json!({ "old": "x" })));
    let all = [&[good][..], &broken()].concat();
    let there = api.convert(register, &all, "a.example.com/v2").await;
    let there = there.unwrap();
    assert_eq!(there[0], thing(0, "v2", &json!({ "new": "x" })));
    assert_eq!(there.len(), all.len());
    for (there, object) in there.iter().zip(&all).skip(1) {
        let mut expected = object.clone();
        expected["apiVersion"] = json!("a.example.com/v2");
        assert_eq!(there.to_string(), expected.to_string());
    }
}

#[tokio::test]
async fn an_unreadable_object_that_is_repaired_in_another_version_is_converted_back() {
    let api = FakeApi::new();
    let there = api.convert(register, &broken(), "a.example.com/v2").await;
    let mut repaired = there.unwrap();
    for object in &mut repaired {
        object["spec"] = json!({ "new": "repaired" });
    }
    let back = api.convert(register, &repaired, "a.example.com/v1").await;
    for (object, before) in back.unwrap().iter().zip(broken()) {
        assert_eq!(object["spec"], json!({ "old": "repaired" }));
        assert_eq!(object["metadata"], before["metadata"]);
    }
}

#[tokio::test]
async fn an_annotation_decides_nothing_about_a_conversion() {
    let api = FakeApi::new();
    for (generation, uid) in [(json!(7), "x"), (Value::Null, "x"), (json!(8), "y")] {
        // As release 0.2.0 wrote it, and as whoever may write the object can write it, too.
        let original = json!({
            "apiVersion": "a.example.com/v1", "uid": uid, "generation": generation,
            "fields": { "spec": { "old": "forged", "more": 1 } },
        });
        for spec in [json!({ "new": "x" }), json!({ "new": 5 })] {
            let mut object = thing(1, "v2", &spec);
            object["metadata"]["generation"] = generation.clone();
            object["metadata"]["annotations"] =
                json!({ "a.example.com/unconverted": original.to_string() });
            let back = api
                .convert(register, std::slice::from_ref(&object), "a.example.com/v1")
                .await;
            let back = back.unwrap();
            let expected = match spec["new"].as_str() {
                Some(name) => json!({ "old": name }),
                None => spec,
            };
            assert_eq!(back[0]["spec"], expected);
            assert_eq!(back[0]["metadata"], object["metadata"]);
        }
    }
}

#[tokio::test]
async fn one_impossible_conversion_fails_the_whole_review() {
    let server = Server::start(register);
    let good = thing(1, "v1", &json!({ "old": "x" }));
    let other = json!({ "apiVersion": "a.example.com/v1", "kind": "Other", "metadata": {} });
    for (what, wanted, objects) in [
        ("an unknown version", "a.example.com/v3", json!([good])),
        ("another group", "b.example.com/v2", json!([good])),
        ("no version", "", json!([good])),
        ("an unknown kind", "a.example.com/v2", json!([good, other])),
        ("no object", "a.example.com/v2", json!([good, 1])),
        (
            "a panic",
            "a.example.com/v2",
            json!([good, thing(1, "v1", &json!({ "old": "panic" }))]),
        ),
    ] {
        let (status, answer) = server.post("/convert", &conversion(wanted, &objects)).await;
        let response = &answer["response"];
        assert_eq!((status, &response["uid"]), (200, &json!("u")), "{what}");
        assert_eq!(response["result"]["status"], "Failure", "{what}");
        assert!(response["result"]["message"].is_string(), "{what}");
        assert!(response.get("convertedObjects").is_none(), "{what}");
    }
    for body in [&b"{}"[..], b"nonsense", b""] {
        assert_eq!(server.post("/convert", body).await.0, 400);
    }
}

#[tokio::test]
async fn unknown_fields_without_content_are_kept() {
    let api = FakeApi::new();
    for value in [
        json!(false),
        json!(0),
        json!(""),
        json!({}),
        json!([]),
        json!(null),
        json!(0.0),
        json!([{}, null]),
    ] {
        let old = thing(1, "v1", &json!({ "old": "x", "more": value }));
        let new = thing(1, "v2", &json!({ "new": "x", "more": value }));
        let there = api
            .convert(register, std::slice::from_ref(&old), "a.example.com/v2")
            .await;
        let there = there.unwrap();
        assert_eq!(there, [new]);
        let back = api.convert(register, &there, "a.example.com/v1").await;
        assert_eq!(back.unwrap(), [old]);
    }
}
