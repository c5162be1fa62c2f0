use serde_json::json;

mod invariants;

use super::*;

fn planned(path: &str, text: &str) -> anyhow::Result<Vec<Part>> {
    let vars = json!({"kind": "Captain", "group": "crew", "on": true, "off": false});
    Set::parse("set", vec![(path, text)])?.render(&vars, Paths::All)
}

fn check(path: &str, text: &str, parts: &[Part]) {
    assert_eq!(planned(path, text).unwrap(), parts);
}

fn whole(path: &str, policy: Policy, text: &str) -> Part {
    Part::Whole {
        path: path.into(),
        policy,
        text: text.into(),
    }
}

fn create(path: &str, text: &str) -> Part {
    whole(path, Policy::Owned, text)
}

fn insert(marker: &str, lines: &str) -> Part {
    Part::Lines {
        path: "a.rs".into(),
        marker: marker.into(),
        once: false,
        lines: lines.into(),
    }
}

#[test]
fn the_suffix_determines_the_policy_of_a_file() {
    check("a.rs.tera", "{{kind}}\n", &[create("a.rs", "Captain\n")]);
    check(
        "a.rs",
        "{{kind}} {% raw\n",
        &[create("a.rs", "{{kind}} {% raw\n")],
    );
    check(
        "a.once.tera",
        "{{ kind }}",
        &[whole("a", Policy::Once, "Captain")],
    );
    check(
        "a.generated.tera",
        "{{ kind }}",
        &[whole("a", Policy::Generated, "Captain")],
    );
    check(
        "a.rs.insert.tera",
        "// +kbr:scaffold:m\n{{kind}};\n",
        &[insert("m", "Captain;\n")],
    );
}

#[test]
fn variables_work_in_folder_and_file_names() {
    check(
        "{{group}}/v1/{{ kind }}.rs.tera",
        "a",
        &[create("crew/v1/Captain.rs", "a")],
    );
    check("{{group}}/a.rs", "a", &[create("crew/a.rs", "a")]);
}

#[test]
fn text_is_not_escaped() {
    check(
        "a.html.tera",
        "{{kind}} & \"<b>\"",
        &[create("a.html", "Captain & \"<b>\"")],
    );
}

#[test]
fn a_section_begins_with_its_marker() {
    check(
        "a.rs.insert.tera",
        "\n// +kbr:scaffold:m\na {\n    b\n\n    // +kbr:scaffold:n\nc\n",
        &[insert("m", "a {\n    b\n"), insert("n", "c\n")],
    );
    assert!(
        format!(
            "{:#}",
            planned("a.insert.tera", "a\n# +kbr:scaffold:m\n").unwrap_err()
        )
        .contains("`a` is before")
    );
}

#[test]
fn a_section_may_contain_a_choice() {
    let planned = planned("a.rs.insert.tera", "// +kbr:scaffold:m once\na\n").unwrap();
    assert!(
        matches!(&planned[..], [Part::Lines { marker, once: true, .. }] if marker == "m"),
        "{planned:?}"
    );
}

#[test]
fn an_empty_template_writes_no_file() {
    check("a.tera", "{% if off %}a{% endif %}\n  \n", &[]);
    check("a.once.tera", "\n", &[]);
    check(
        "a.rs.insert.tera",
        "// +kbr:scaffold:m\n{% if off %}a{% endif %}\n// +kbr:scaffold:n\nb",
        &[insert("n", "b\n")],
    );
    check("a", "\n", &[create("a", "\n")]);
}

#[test]
fn an_unknown_variable_is_an_error() {
    assert!(planned("a.tera", "{{knid}}").is_err());
    assert!(planned("{{knid}}.tera", "a").is_err());
    assert!(planned("a.tera", "{{kind.x}}").is_err());
}

#[test]
fn an_unknown_set_is_an_error() {
    let scaffolds = crate::checkout::current().scaffolds;
    let error = scaffolds
        .sets()
        .render("no-such", &json!({}), Paths::All)
        .unwrap_err();
    assert_eq!(error.to_string(), "no scaffold `v1/no-such` found");
}
