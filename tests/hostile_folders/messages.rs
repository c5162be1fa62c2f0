//! Names and values of a stranger in messages: each stays in its line.

use std::fs;

use crate::sent::{Kind, PLANTED, Sent};

/// A text that would begin a line with advice, and show the rest of it backwards.
fn planted() -> String {
    format!("\n{PLANTED}\u{202e}")
}

#[test]
fn a_value_of_a_project_begins_no_line() {
    let head = "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";
    let planted = format!("{}\"", planted().escape_default()).replace("\\u{202e}", "\\u202e");
    for key in ["v1\"", "0.3.0\"", "captains\"", "example.com\""] {
        let sent = Sent::new(Kind::Current);
        let value = key.replace('"', &planted);
        sent.write("PROJECT", head.replace(key, &value));
        for command in ["kbr init --yes", "kbr upgrade --no-check", "kbr manifests"] {
            let ran = sent.run(command, key);
            assert!(!ran.success, "{}", ran.printed);
        }
    }
}

#[test]
fn a_text_of_a_definition_begins_no_line() {
    let names = [
        "captains",
        "captain",
        "Captain",
        "crew.example.com",
        "v1",
        "cap",
        "spec",
        "port",
        "Namespaced",
        "string",
        "integer",
        "self.port > 0",
        "crew",
    ];
    for name in names {
        let planted = serde_json::Value::String(format!("{name}{}", planted())).to_string();
        let text = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "captains.crew.example.com", "labels": {"crew": "crew"}},
            "spec": {"group": "crew.example.com", "scope": "Namespaced", "names": {"kind": "Captain", "plural": "captains", "singular": "captain", "shortNames": ["cap"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
            "not": {"required": ["port"]}, "x-kubernetes-validations": [{"rule": "self.port > 0"}], "properties": {"port": {"type": "integer", "enum": [1], "not": {"enum": [2]}}, "name": {"type": "string", "oneOf": [{"format": "string"}]}}}}}}}]}}"#;
        let sent = Sent::new(Kind::Current);
        sent.write("crd.yaml", text.replace(&format!("\"{name}\""), &planted));
        for command in [
            "kbr create api --from-crd crd.yaml --yes --dry-run",
            "kbr create api --from-crd crd.yaml --external --yes",
        ] {
            sent.run(command, &format!("{name}: {command}"));
        }
    }
}

#[test]
fn a_name_or_a_text_of_a_project_in_go_begins_no_line() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/import/captains");
    let texts = [
        ("PROJECT", "captains"),
        ("PROJECT", "example.com"),
        ("PROJECT", "Captain"),
        ("PROJECT", "go.kubebuilder.io/v4"),
        ("config/manager/manager.yaml", "--leader-elect"),
        ("config/manager/manager.yaml", "TIDE"),
        ("config/manager/manager.yaml", "manager"),
        (
            "internal/controller/captain_controller.go",
            "CaptainReconciler",
        ),
        ("internal/controller/captain_controller.go", "configmaps"),
    ];
    for (path, text) in texts {
        let sent = Sent::new(Kind::Empty);
        fs::remove_dir(&sent.root).unwrap();
        crate::sent::copy(fixture.as_ref(), &sent.root);
        let file = sent.root.join(path);
        let before = fs::read_to_string(&file).unwrap();
        fs::write(
            &file,
            before.replace(text, &format!("\"{text}{}\"", planted().escape_default())),
        )
        .unwrap();
        sent.run("kbr import . --directory ../new --dry-run", path);
        fs::write(&file, before.replace(text, &format!("{text}{}", planted()))).unwrap();
        sent.run("kbr import . --directory ../new --dry-run", path);
    }
    let sent = Sent::new(Kind::Empty);
    fs::remove_dir(&sent.root).unwrap();
    crate::sent::copy(fixture.as_ref(), &sent.root);
    let reconcile = "package a\n// +kubebuilder:webhook:path=/mate,mutating=true\nfunc (r *MateReconciler) Reconcile(\nconst mateFinalizer = Domain + \"/mate\"\n";
    for folder in [
        "",
        "config/",
        "config/crd/",
        "config/default/",
        "cmd/",
        "internal/controller/",
    ] {
        for (end, text) in [
            (".go", reconcile),
            (".yaml", "a: b\n"),
            ("/a.yaml", "a: b\n"),
            ("/b.go", reconcile),
        ] {
            sent.write(&format!("{folder}x{}{end}", planted()), text);
        }
    }
    sent.run("kbr import . --directory ../new --dry-run", "names");
    fs::remove_file(sent.root.join("PROJECT")).unwrap();
    sent.run("kbr import . --directory ../new --dry-run", "no PROJECT");
    let named = sent.root.join(format!("x{}", planted()));
    fs::create_dir_all(&named).unwrap();
    sent.run("cd x*planted*/ && kbr import . --directory ../../new --dry-run; kbr import \"$PWD\" --directory ../../new --dry-run", "root");
    sent.run("cd x*planted*/ && kbr init --yes --dry-run; kbr create api --from-crd \"$PWD\" --yes; kbr manifests", "root");
}
