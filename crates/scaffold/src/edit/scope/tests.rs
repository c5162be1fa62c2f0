use super::*;

/// Whether `line` counts as being in the scope of the one line `# HERE` or `// HERE` of `text`.
fn found(path: &str, text: &str, line: &str) -> bool {
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.contains("HERE")).unwrap();
    has(path, &lines, at, line)
}

#[test]
fn in_toml_the_scope_is_the_table() {
    let text = "[dependencies]\na = \"1\"\n# HERE\n\n[dev-dependencies]\nb = \"1\"\nc_d = \"1\"\n";
    assert!(found("Cargo.toml", text, "a = \"1\""));
    assert!(found("Cargo.toml", text, "a = { version = \"2\" }"));
    assert!(!found("Cargo.toml", text, "b = \"1\""));
    let text = text.replace("# HERE\n", "") + "# HERE\n";
    assert!(found("Cargo.toml", &text, "c-d = \"2\""));
    assert!(!found("Cargo.toml", &text, "a = \"1\""));
}

#[test]
fn in_toml_strings_and_quotes_are_read_as_cargo_reads_them() {
    let text = "[dependencies]\na = \"1\"\nt = \"\"\"\n[b]\nc = 1\n\"\"\"\n'd' = \"1\"\n[ dependencies . \"e\" ]\nversion = \"1\"\n";
    let text = text.replace("'d'", "# HERE\n'd'");
    for (line, expected) in [
        ("a = \"2\"", true),
        ("d = \"2\"", true),
        ("e = \"2\"", true),
    ] {
        assert_eq!(found("Cargo.toml", &text, line), expected, "{line}");
    }
    assert!(!found("Cargo.toml", &text, "c = \"2\""));
}

#[test]
fn in_yaml_the_scope_is_the_list() {
    let text = "resources:\n  - ../rbac\n  # HERE\n# - ../crd\ncomponents:\n  - ../other\n";
    assert!(found("k.yaml", text, "- ../rbac"));
    assert!(!found("k.yaml", text, "- ../other"));
    assert!(!found("k.yaml", text, "- ../crd"), "a comment");
    let flat = "resources:\n- ../rbac\n# HERE\n- ../crd\n\ncomponents:\n- ../other\n";
    for (line, expected) in [
        ("- ../rbac", true),
        ("- ../crd", true),
        ("- ../other", false),
    ] {
        assert_eq!(found("k.yaml", flat, line), expected, "{line}");
    }
}

#[test]
fn in_rust_the_scope_is_the_outermost_block() {
    let text = "mod a;\n\nfn main() {\n    if x {\n        b();\n    }\n    // HERE\n}\n\nmod tests {\n    c();\n}\n";
    assert!(
        found("main.rs", text, "b();"),
        "in a block of the same function"
    );
    assert!(!found("main.rs", text, "c();"), "in another block");
    assert!(!found("main.rs", text, "mod a;"), "outside");
    let text = "// HERE\nmod a;\nmod tests {\n    use b;\n}\nconst C: &str = \"\nuse d;\n\";\n";
    assert!(found("main.rs", text, "mod a;"));
    assert!(!found("main.rs", text, "use b;"), "in a block");
    assert!(!found("main.rs", text, "use d;"), "in a string");
}

#[test]
fn in_other_files_the_scope_is_the_whole_file() {
    assert!(found("Makefile", "a\n# HERE\n\nb:\n\tc\n", "c"));
}

#[test]
fn an_edited_line_is_recognized_as_the_inserted_line() {
    let rust = |text: &str, line: &str| found("main.rs", &format!("// HERE\n{text}\n"), line);
    for (text, line) in [
        ("pub mod webhooks;", "mod webhooks;"),
        ("pub(crate) mod webhooks; // mine", "mod webhooks;"),
        (
            "use ::kube::{CustomResourceExt, Resource};",
            "use ::kube::CustomResourceExt;",
        ),
        ("pub use a::*;", "use a::*;"),
        (
            "use kube::CustomResourceExt;",
            "use ::kube::CustomResourceExt;",
        ),
        ("use a::{b::{self, C}, d};", "use a::b;"),
        (
            "use a::{\n    b,\n    c::{D, e}, // mine\n};",
            "use a::c::e;",
        ),
        ("use a::{b, c, d};", "use a::{b, c};"),
        ("use a::b;\nuse a::{c, d};", "use a::{b, c};"),
        ("struct CaptainWebhook {", "struct CaptainWebhook;"),
        ("register(&mut manager); // mine", "register(&mut manager);"),
        ("// +kbr:rbac:a", "// +kbr:rbac:a"),
    ] {
        assert!(rust(text, line), "{text}");
    }
    for (text, line) in [
        ("mod webhooks_v2;", "mod webhooks;"),
        ("use ::kube::{Resource};", "use ::kube::CustomResourceExt;"),
        ("use a::{b as c};", "use a::b;"),
        ("use a::b::c;", "use a::b;"),
        ("use a::{b, d};", "use a::{b, c};"),
        ("use a::*;", "use a::b;"),
        ("// mod webhooks;", "mod webhooks;"),
        ("register(&mut manager, 1);", "register(&mut manager);"),
    ] {
        assert!(!rust(text, line), "{text}");
    }
    for text in ["- ../crd # mine", "- \"../crd\"", "- ../crd/", "-   ../crd"] {
        assert!(
            found("k.yaml", &format!("a:\n  # HERE\n  {text}\n"), "- ../crd"),
            "{text}"
        );
    }
    for text in [
        "a.version = \"1\"\n# HERE",
        "# HERE\n\n[dependencies.a]\nversion = \"1\"",
    ] {
        let text = format!("[dependencies]\n{text}\n");
        assert!(found("Cargo.toml", &text, "a = \"1\""), "{text}");
    }
}
