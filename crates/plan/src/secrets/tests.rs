//! Properties of a clone after its Secrets were replaced.

mod planted;

use std::collections::HashMap;

use serde_json::json;

use super::*;
use crate::fuzz::{Corpus, Random, made, run};
use planted::Planted;

fn kind(name: &str, objects: Vec<Value>) -> Kind {
    Kind {
        group: String::new(),
        version: "v1".to_owned(),
        plural: format!("{}s", name.to_lowercase()),
        kind: name.to_owned(),
        namespaced: true,
        objects,
    }
}

/// A clone in which the values occur in all ways in other objects.
fn clone(all: &[Planted]) -> Cloned {
    let last = |secret: &Value| secret.to_string() + "\n";
    let metadata = |name: String| json!({"name": name, "namespace": "default"});
    let (mut secrets, mut others) = (Vec::new(), Vec::new());
    for (at, planted) in all.iter().enumerate() {
        let encoded = STANDARD.encode(&planted.value);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(format!("s{at}")), "data": {"k": encoded, "empty": ""}});
        let mut applied = secret.clone();
        applied["metadata"]["annotations"] =
            json!({"kubectl.kubernetes.io/last-applied-configuration": last(&secret)});
        secrets.push(applied);
        let mut strings = vec![
            encoded.clone(),
            format!("x/{encoded}"),
            STANDARD.encode(encoded::gzip(encoded.as_bytes())),
        ];
        let parts = planted.parts.iter().map(String::as_bytes);
        for part in parts.chain([&planted.value[..]]) {
            for before in ["", "a", "ab"] {
                strings.push(STANDARD.encode([before.as_bytes(), part, b" z"].concat()));
            }
            if let Ok(part) = str::from_utf8(part) {
                strings.extend([
                    part.to_owned(),
                    format!("b {part}. e"),
                    json!([part, 1]).to_string(),
                ]);
                strings.push(encoded::percent_encode(part));
            }
        }
        let keys = strings.into_iter().enumerate();
        let values: Map<_, _> = keys.map(|(at, it)| (at.to_string(), it.into())).collect();
        let env: Vec<_> = values
            .values()
            .map(|value| json!({"name": "A", "value": value}))
            .collect();
        others.push(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(format!("c{at}")), "data": values,
            "spec": {"template": {"spec": {"containers": [{"env": env}]}}},
        }));
        let annotations =
            json!({"kubectl.kubernetes.io/last-applied-configuration": last(&others[at])});
        others[at]["metadata"]["annotations"] = annotations;
    }
    Cloned {
        kinds: vec![kind("ConfigMap", others), kind("Secret", secrets)],
        ..Cloned::default()
    }
}

/// What of base64 does not depend on what is before and after, for each position.
fn in_base64(value: &[u8]) -> Vec<String> {
    let at = |before: usize| {
        let text = STANDARD.encode([&[0; 2][..before], value].concat());
        let whole = (before + value.len()) * 8 / 6;
        text[(before * 8).div_ceil(6)..whole].to_owned()
    };
    (0..3).map(at).collect()
}

fn fakes(cloned: &Cloned) -> Vec<Vec<u8>> {
    let objects = cloned.kinds[1].objects.iter();
    let values = objects.map(|it| STANDARD.decode(it["data"]["k"].as_str().unwrap()).unwrap());
    values.collect()
}

fn holds(random: &mut Random) -> Result<(), String> {
    let mut all: Vec<_> = (0..=random.below(6))
        .map(|_| planted::any(random))
        .collect();
    // One of them twice.
    let again = &all[random.below(all.len())];
    let (value, parses) = (again.value.clone(), again.parses);
    all.push(Planted {
        value,
        parts: vec![],
        parses,
    });
    let mut cloned = clone(&all);
    for _ in 0..2 {
        replace(&mut cloned).map_err(|it| it.to_string())?;
        check(&all, &cloned)?;
    }
    Ok(())
}

fn check(all: &[Planted], cloned: &Cloned) -> Result<(), String> {
    let text = serde_json::to_string(cloned).unwrap();
    let fakes = fakes(cloned);
    let mut seen = HashMap::new();
    for (planted, fake) in all.iter().zip(&fakes) {
        let shown = String::from_utf8_lossy(&planted.value);
        let parts = planted.parts.iter().map(String::as_bytes);
        for part in parts.chain([planted.value.trim_ascii()]) {
            if part.len() < SHORTEST {
                continue;
            }
            let raw = str::from_utf8(part).map(|it| Value::from(it).to_string());
            let raw = raw.map(|it| it[1..it.len() - 1].to_owned());
            for form in in_base64(part).into_iter().chain(raw) {
                if text.contains(&form) {
                    return Err(format!("{form} of {shown} is left in {text}"));
                }
            }
        }
        if !(planted.parses)(fake) {
            return Err(format!("{shown} became {}", String::from_utf8_lossy(fake)));
        }
        if seen
            .insert(&planted.value, fake)
            .is_some_and(|other| other != fake)
        {
            return Err(format!("{shown} has two fakes"));
        }
    }
    let different: HashSet<_> = seen.values().collect();
    if different.len() < seen.len() {
        return Err("two values have the same fake".to_owned());
    }
    consistent(cloned, &fakes)
}

/// A fake is also what stands for the value elsewhere.
fn consistent(cloned: &Cloned, fakes: &[Vec<u8>]) -> Result<(), String> {
    for (at, (other, fake)) in cloned.kinds[0].objects.iter().zip(fakes).enumerate() {
        let secret = &cloned.kinds[1].objects[at];
        let last =
            &secret["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
        let last: Value = serde_json::from_str(last.as_str().unwrap()).unwrap();
        let encoded = STANDARD.encode(fake);
        // Short ones are not searched.
        let is_short = fake.trim_ascii().len() < SHORTEST;
        if other["data"]["0"] != encoded && !is_short || last["data"] != secret["data"] {
            return Err(format!("{encoded} differs in {other} or {last}"));
        }
    }
    Ok(())
}

#[test]
fn no_value_is_left_equal_ones_stay_equal_and_each_still_parses() {
    made(60, holds);
}

/// The clone with one Secret and another object, after its Secrets were replaced.
fn replaced(secret: Value, other: Value) -> (Value, Value, Replaced) {
    let mut cloned = Cloned {
        kinds: vec![kind("Captain", vec![other]), kind("Secret", vec![secret])],
        ..Cloned::default()
    };
    let replaced = replace(&mut cloned).unwrap();
    let mut one = |at: usize| cloned.kinds[at].objects.remove(0);
    (one(1), one(0), replaced)
}

#[test]
fn names_labels_and_selectors_stay_and_values_that_are_names_are_reported() {
    let secret = json!({
        "metadata": {"name": "captain-one", "namespace": "default"},
        "stringData": {"name": "captain-one", "label": "some-label", "part": "captain-", "enum": "ClusterIP"},
    });
    let captain = json!({
        "apiVersion": "captain-/v1", "kind": "Captain",
        "metadata": {"name": "captain-two", "uid": "captain-9", "labels": {"a": "some-label"}, "ownerReferences": [{"name": "captain-two"}],
            "managedFields": [{"fieldsV1": {"f:spec": {"v:\"captain-x\"": {}, "k:{\"name\":\"captain-two\"}": {}}}}]},
        "spec": {"selector": {"app": "captain-"}, "secretName": "captain-one", "serviceName": "captain-two", "type": "ClusterIP",
            "host": "captain-one.default.svc", "other": "captain-three", "map": {"captain-": 1}},
    });
    let (secret, other, replaced) = replaced(secret, captain.clone());
    assert_eq!(replaced.values, 4);
    let names = ["enum", "label", "name"].map(|it| format!("Secret default/captain-one, key {it}"));
    assert_eq!(replaced.names[..2], names[..2]);
    let part = secret["stringData"]["part"].as_str().unwrap();
    assert_ne!(part, "captain-");
    assert_ne!(secret["stringData"]["name"], "captain-one");
    let mut expected = captain;
    expected["spec"]["host"] = format!("{part}one.default.svc").into();
    expected["spec"]["other"] = format!("{part}three").into();
    expected["metadata"]["managedFields"] = json!([{"fieldsV1": {"f:spec": {
        format!("v:\"{part}x\""): {}, "k:{\"name\":\"captain-two\"}": {}}}}]);
    assert_eq!(other, expected);
}

#[test]
fn a_crd_says_what_is_public() {
    let crd = json!({"metadata": {"name": "a"}, "spec": {"properties": {"some-field": {"enum": ["some-mode"]}}}});
    let mut cloned = Cloned {
        kinds: vec![
            kind(
                "Captain",
                vec![json!({"spec": {"a": "some-mode", "b": "some-field", "c": "some-value"}})],
            ),
            kind(
                "Secret",
                vec![
                    json!({"stringData": {"a": "some-mode", "b": "some-field", "c": "some-value"}}),
                ],
            ),
            Kind {
                group: "apiextensions.k8s.io".to_owned(),
                ..kind("CustomResourceDefinition", vec![crd.clone()])
            },
        ],
        ..Cloned::default()
    };
    assert_eq!(replace(&mut cloned).unwrap().elsewhere, 1);
    let spec = &cloned.kinds[0].objects[0]["spec"];
    assert_eq!([&spec["a"], &spec["b"]], ["some-mode", "some-field"]);
    assert_eq!(cloned.kinds[2].objects[0], crd);
}

#[test]
fn a_helm_release_stays_one_and_only_what_the_user_set_is_searched() {
    let release = json!({
        "name": "captain", "version": 3, "info": {"status": "deployed", "notes": "hunter2hunter2"},
        "config": {"password": "hunter2hunter2"}, "manifest": "kind: SomeKindOfObject\npassword: hunter2hunter2\n",
    });
    let content = STANDARD.encode(encoded::gzip(release.to_string().as_bytes()));
    let secret = json!({"type": helm::TYPE, "metadata": {"name": "a"}, "data": {"release": STANDARD.encode(content)}});
    let other = json!({"spec": {"a": "hunter2hunter2", "b": "SomeKindOfObject"}});
    let (secret, other, _) = replaced(secret, other);
    let content = STANDARD
        .decode(secret["data"]["release"].as_str().unwrap())
        .unwrap();
    let content = encoded::gunzip(&STANDARD.decode(content).unwrap()).unwrap();
    let fake: Value = serde_json::from_slice(&content).unwrap();
    let password = &fake["config"]["password"];
    assert_eq!(
        fake["info"],
        json!({"status": "deployed", "notes": password})
    );
    assert_eq!(
        (&fake["name"], &fake["version"]),
        (&json!("captain"), &json!(3))
    );
    assert_ne!(password, "hunter2hunter2");
    assert!(
        fake["manifest"]
            .as_str()
            .unwrap()
            .contains(&format!("password: {}\n", password.as_str().unwrap()))
    );
    assert_eq!(
        other["spec"],
        json!({"a": password, "b": "SomeKindOfObject"})
    );
}

#[test]
fn tokens_of_service_accounts_and_leases_are_left_out() {
    let secrets = vec![json!({"type": TOKEN}), json!({"type": "Opaque"}), json!({})];
    let leases = Kind {
        group: "coordination.k8s.io".to_owned(),
        ..kind("Lease", vec![json!({}), json!({})])
    };
    let mut cloned = Cloned {
        kinds: vec![
            kind("Secret", secrets),
            leases,
            kind("Lease", vec![json!({})]),
        ],
        ..Cloned::default()
    };
    let expected = LeftOut {
        tokens: 1,
        leases: 2,
    };
    assert_eq!(leave_out(&mut cloned), expected);
    let lengths: Vec<_> = cloned.kinds.iter().map(|it| it.objects.len()).collect();
    assert_eq!(lengths, [2, 0, 1]);
}

#[test]
fn a_value_that_a_helm_release_contains_too_is_searched_with_its_parts() {
    let value = json!({"password": "hunter2hunter2"}).to_string();
    let release = json!({"name": "a", "manifest": value}).to_string();
    let release = encoded::to_base64(encoded::to_base64(encoded::gzip(release.as_bytes())));
    let secrets = vec![
        json!({"type": helm::TYPE, "data": {"release": release}}),
        json!({"stringData": {"a": value}}),
    ];
    let captains = vec![json!({"spec": "hunter2hunter2"})];
    let mut cloned = Cloned {
        kinds: vec![kind("Secret", secrets), kind("Captain", captains)],
        ..Cloned::default()
    };
    replace(&mut cloned).unwrap();
    assert_ne!(cloned.kinds[1].objects[0]["spec"], "hunter2hunter2");
}

#[test]
fn no_value_makes_kbr_panic_and_its_fake_is_a_text_if_it_is_one() {
    let mut random = Random(1);
    let values: Vec<_> = (0..40).map(|_| planted::any(&mut random).value).collect();
    let mut inputs: Vec<_> = values.iter().map(Vec::as_slice).collect();
    inputs.extend([
        &b"http://[::1]:80,b:1/%41?a=%zz&b#c"[..],
        b"a: &b !c\n- 'd\n- \"\\x\"\n  - |",
    ]);
    let words = [
        "-----BEGIN CERTIFICATE-----\n",
        "-----END CERTIFICATE-----",
        "://",
        "eyJ",
        ".",
        "{\"",
        "\":",
        "= ",
        "MIIB",
        "\n",
        "%4",
        "[a]",
        "\u{1f}\u{8b}\u{8}",
    ];
    let corpus = Corpus {
        inputs: &inputs,
        words: &words,
    };
    run(corpus, |input| {
        let mut fakes = Fakes::new(shape::text).unwrap();
        let fake = shape::value(&mut fakes, input, Treatment::VALUE);
        assert_eq!(fake.is_empty(), input.is_empty());
        if str::from_utf8(input).is_ok() {
            assert!(str::from_utf8(&fake).is_ok());
        }
        let text = String::from_utf8_lossy(input).into_owned();
        let other = json!({"spec": {"a": text, "b": STANDARD.encode(input)}});
        let mut replacer = Replacer::new(fakes.into_searched(), HashSet::new()).unwrap();
        replacer.object(&mut other.clone());
    });
}
