//! Each row of the markers page compiles, and produces the CRD on the page.

use std::{fmt::Write as _, fs};

use serde_json::{Value, json};

use super::{
    place::place,
    support::{repository, write},
};

/// A row of a table: the Rust, and the resulting CRD.
struct Row {
    rust: String,
    crd: Value,
}

/// The rows below a heading.
fn rows(page: &str, heading: &str) -> Vec<Row> {
    let (_, part) = page
        .split_once(&format!("\n## {heading}\n"))
        .expect("a heading");
    let part = part.split("\n## ").next().unwrap_or_default();
    let lines = part
        .lines()
        .filter(|line| line.starts_with("| `") || line.starts_with("| …"));
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, rust, crd] = cells[..] else {
            panic!("three cells in {line}");
        };
        let code = |cell: &str| {
            let code = cell.split('`').nth(1).expect("code in a cell");
            code.replace("\\|", "|")
        };
        let crd =
            serde_json::from_str(&code(crd)).unwrap_or_else(|error| panic!("{error} in {line}"));
        Row {
            rust: code(rust),
            crd,
        }
    });
    rows.collect()
}

/// Splits attributes from the item that they are on.
fn attributes(rust: &str) -> (&str, &str) {
    let mut at = 0;
    while rust[at..].trim_start().starts_with("#[") {
        let start = at + rust[at..].find('[').expect("a bracket");
        let mut depth = 0;
        let end = rust[start..].find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            depth == 0
        });
        at = start + end.expect("a closing bracket") + 1;
    }
    (rust[..at].trim(), rust[at..].trim())
}

/// A struct for a row; returns the name of its only field, if the row is about a field.
fn item(source: &mut String, name: &str, row: &str) -> Option<String> {
    const DERIVE: &str =
        "#[derive(kube::KubeSchema, Clone, Debug, serde::Serialize, serde::Deserialize)]";
    let (before, rest) = attributes(row);
    if let Some(body) = rest.strip_prefix("struct") {
        writeln!(
            source,
            "/// A row.\n{DERIVE}\n{before}\npub struct {name} {body}\n"
        )
        .expect("text");
        return None;
    }
    let (field, _) = rest.split_once(':').expect("a field and its type");
    writeln!(
        source,
        "/// A row.\n{DERIVE}\npub struct {name} {{ {before} {rest} }}\n"
    )
    .expect("text");
    Some(field.to_owned())
}

/// Whether `found` has all of `wanted`; `null` in `wanted` means absent.
fn has(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(_), Value::Object(fields)) => {
            fields.iter().all(|(name, field)| has(&found[name], field))
        }
        (Value::Array(items), Value::Array(parts)) => {
            items.len() == parts.len()
                && items.iter().zip(parts).all(|(item, part)| has(item, part))
        }
        _ => found == wanted,
    }
}

fn kind(version: &str, arguments: &str, spec: &str) -> String {
    format!(
        "#[derive(kube::CustomResource, kube::KubeSchema, Clone, Debug, serde::Serialize, serde::Deserialize)]
#[kube(group = \"demo.example.com\", version = \"{version}\", kind = \"Row\", {arguments})]
/// The expected value.
pub struct RowSpec {{ tier: String, replicas: i32, {spec} }}

/// The actual value.
#[derive(kube::KubeSchema, Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct RowStatus {{ replicas: i32, selector: String }}
"
    )
}

/// The rows of the page.
struct Page {
    /// The code that the rows use.
    prelude: String,
    /// The rows about fields and types, each with its field, if it is about one.
    on_fields: Vec<Row>,
    on_kinds: Vec<Row>,
}

impl Page {
    fn read() -> Self {
        let page = fs::read_to_string(repository().join("docs/markers.md")).expect("the page");
        let code = page.split("```rust\n").nth(1).expect("code on the page");
        let prelude = code.split("```").next().unwrap_or_default().to_owned();
        let mut on_fields = rows(&page, "Fields");
        on_fields.extend(rows(&page, "Types"));
        let on_kinds = rows(&page, "Kinds");
        Self {
            prelude,
            on_fields,
            on_kinds,
        }
    }

    /// Version `v1`, with a part of its spec for each row, and the fields of the rows.
    fn first(&self) -> (String, Vec<Option<String>>) {
        let head = "//! Rows.\n#![allow(dead_code)]\nuse std::collections::BTreeMap;\n";
        let mut source = format!("{head}\n{}\n", self.prelude);
        let mut spec = String::new();
        let mut fields = Vec::new();
        for (number, row) in self.on_fields.iter().enumerate() {
            fields.push(item(&mut source, &format!("Part{number}"), &row.rust));
            write!(spec, "part{number}: Part{number}, ").expect("text");
        }
        source += &kind("v1", &self.arguments(|row| !of_v2(row)), &spec);
        (source, fields)
    }

    /// Version `v2`, for properties that only one of several versions can have.
    fn second(&self) -> String {
        const SHARED: [&str; 7] = [
            "plural",
            "singular",
            "shortNames",
            "categories",
            "scope",
            "annotations",
            "labels",
        ];
        let shared = |row: &Row| SHARED.iter().any(|name| !row.crd[*name].is_null());
        let arguments = self.arguments(|row| of_v2(row) || shared(row));
        let status = "status = \"RowStatus\"";
        format!(
            "//! Rows.\n#![allow(dead_code)]\n\n{}",
            kind("v2", &format!("{arguments}, {status}"), "")
        )
    }

    fn arguments(&self, wanted: impl Fn(&Row) -> bool) -> String {
        let rows = self.on_kinds.iter().filter(|row| wanted(row));
        rows.map(|row| row.rust.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Each row whose result differs from the page.
    fn differences(&self, fields: &[Option<String>], crd: &Value) -> String {
        let versions = crd["spec"]["versions"].as_array().expect("versions");
        let version = |name: &str| {
            versions
                .iter()
                .find(|version| version["name"] == name)
                .expect("a version")
        };
        let schema = &version("v1")["schema"]["openAPIV3Schema"];
        let spec = &schema["properties"]["spec"]["properties"];
        let mut wrong = String::new();
        for (number, (row, field)) in self.on_fields.iter().zip(fields).enumerate() {
            let part = &spec[format!("part{number}")];
            let found = match field {
                Some(field) => &part["properties"][field],
                None => part,
            };
            if !has(found, &row.crd) {
                writeln!(wrong, "`{}` produces {found}, not {}", row.rust, row.crd).expect("text");
            }
        }
        let names = &crd["spec"]["names"];
        let places = [
            &crd["metadata"],
            &crd["spec"],
            names,
            version("v1"),
            version("v2"),
            schema,
        ];
        for row in self
            .on_kinds
            .iter()
            .filter(|row| !places.iter().any(|place| has(place, &row.crd)))
        {
            writeln!(
                wrong,
                "`{}` produces no {} in {}",
                row.rust,
                row.crd,
                json!(places)
            )
            .expect("text");
        }
        wrong
    }
}

/// Whether a row is about one of several versions.
fn of_v2(row: &Row) -> bool {
    row.crd["name"] == "v2"
}

#[test]
fn each_row_of_the_markers_page_compiles_and_produces_its_crd() {
    let place = place();
    let page = Page::read();
    let counts = (page.on_fields.len(), page.on_kinds.len());
    assert!(counts.0 > 35 && counts.1 > 14, "{counts:?}");

    let project = place.project("markers");
    project.kbr("init --domain example.com");
    let (first, fields) = page.first();
    for (version, source) in [("v1", first), ("v2", page.second())] {
        project.create_api(&format!(
            "--group demo --version {version} --kind Row --resource --controller=false"
        ));
        write(
            &project.0.join(format!("api/src/demo/{version}/row.rs")),
            source.as_bytes(),
        );
    }
    project.kbr("manifests");
    let written = fs::read_to_string(
        project
            .0
            .join("config/crd/bases/demo.example.com_rows.yaml"),
    );
    let crd: Value = serde_yaml_ng::from_str(&written.expect("a CRD")).expect("YAML");
    let wrong = page.differences(&fields, &crd);
    assert!(wrong.is_empty(), "{wrong}");

    // The sample was not edited, so kbr has added all required fields.
    project.cluster("kubectl apply -f config/samples/demo_v1_row.yaml");
}
