//! The Rust of a program with the types of some CRDs: it prints their CRDs, or passes objects through the types.

use std::fmt::Write as _;

/// The types of a version.
#[derive(Clone, Debug)]
pub struct Module {
    pub version: String,
    pub kind: String,
    /// The name of its file.
    pub name: String,
    pub text: String,
}

const HEAD: &str = r#"//! Prints the CRDs of types, or reads objects into the types and writes them again.

use std::io;
use std::panic::catch_unwind;

use kube::CustomResourceExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn crd<K: CustomResourceExt>() -> Value {
    json!(K::crd())
}

fn pass<K: Serialize + DeserializeOwned>(object: &Value) -> Result<Value, String> {
    let read: K = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(read).map_err(|error| error.to_string())
}

struct Kind {
    module: &'static str,
    crd: fn() -> Value,
    pass: fn(&Value) -> Result<Value, String>,
}

/// Each line of the input is an array of a module and an object.
fn pass_all() {
    for line in io::stdin().lines() {
        let line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let kind = KINDS.iter().find(|kind| line[0] == json!(kind.module)).expect("a module");
        let passed = catch_unwind(|| (kind.pass)(&line[1])).unwrap_or_else(|_| Err("panics".to_owned()));
        println!("{}", json!(passed));
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("objects") {
        return pass_all();
    }
    for kind in KINDS {
        println!("{}", json!([kind.module, catch_unwind(kind.crd).ok()]));
    }
}
"#;

/// The main file of a program with `modules`.
pub fn main_file(modules: &[Module]) -> String {
    let mut text = HEAD.to_owned() + STUBS;
    for module in modules {
        // Such kinds exist, and the command refuses them.
        let is_lower_case = module
            .kind
            .starts_with(|first: char| first.is_ascii_lowercase());
        let allowed = if is_lower_case {
            "\n#[allow(non_camel_case_types)]"
        } else {
            ""
        };
        let _ = write!(text, "{allowed}\nmod {};", module.name);
    }
    text.push_str("\n\nconst KINDS: &[Kind] = &[\n");
    for module in modules {
        let (name, kind) = (&module.name, &module.kind);
        let _ = writeln!(
            text,
            "    Kind {{ module: \"{name}\", crd: crd::<{name}::{kind}>, pass: pass::<{name}::{kind}> }},"
        );
    }
    text + "];\n"
}

/// The types without reading, copying and comparing objects, which takes most of the time to compile: enough for their CRD.
pub fn without_serde(text: &str) -> String {
    let mut light = String::new();
    let mut stubs = String::new();
    let mut derives = "";
    for line in text.lines() {
        if let Some(list) = line.strip_prefix("#[derive(") {
            derives = list;
            light.push_str(&derive(list));
        } else if !line.contains("#[default]") && !ATTRIBUTES.contains(&line.trim()) {
            light.push_str(line);
        }
        light.push('\n');
        let name = line
            .strip_prefix("pub struct ")
            .or(line.strip_prefix("pub enum "));
        if let Some(name) = name.and_then(|name| name.split([' ', ';', '(']).next()) {
            let _ = writeln!(stubs, "crate::stubs!({name});");
            if !derives.contains(KUBE) {
                let _ = writeln!(stubs, "crate::write_stub!({name});");
            }
        }
    }
    light + &stubs
}

/// What kube adds to the kind.
const ATTRIBUTES: [&str; 3] = [
    "derive = \"Default\",",
    "derive = \"PartialEq\",",
    "attr = \"cfg_attr(true, serde(default))\",",
];

/// It needs serde's attributes, which a derive of serde's must declare.
const KUBE: &str = "KubeSchema";

fn derive(derives: &str) -> String {
    let mut kept = vec!["CustomResource", "JsonSchema", KUBE];
    kept.retain(|name| derives.contains(name));
    if derives.contains(KUBE) {
        kept.push("Serialize");
    }
    format!("#[derive({})]", kept.join(", "))
}

/// What stands for the derives that [`without_serde`] removes.
const STUBS: &str = "
#[macro_export]
macro_rules! stubs {
    ($name:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                unreachable!()
            }
        }
        impl Clone for $name {
            fn clone(&self) -> Self {
                unreachable!()
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, _: &mut std::fmt::Formatter) -> std::fmt::Result {
                unreachable!()
            }
        }
    };
}
#[macro_export]
macro_rules! write_stub {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                unreachable!()
            }
        }
    };
}
";
