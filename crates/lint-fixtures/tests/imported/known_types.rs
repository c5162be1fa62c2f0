//! The table of k8s-openapi's types that imported CRDs use. `UPDATE=1` writes it.

use std::path::Path;
use std::{env, fs};

use k8s_openapi::api::{core::v1 as core, rbac::v1 as rbac};
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

/// What CRDs often contain. The types of their fields follow.
fn generate(generator: &mut SchemaGenerator) {
    fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
        generator.subschema_for::<T>();
    }
    add::<meta::Condition>(generator);
    add::<meta::LabelSelector>(generator);
    add::<core::LocalObjectReference>(generator);
    add::<core::ObjectReference>(generator);
    add::<core::TypedLocalObjectReference>(generator);
    add::<core::SecretReference>(generator);
    add::<core::NodeSelector>(generator);
    add::<core::ScopedResourceSelectorRequirement>(generator);
    add::<core::PersistentVolumeClaimSpec>(generator);
    add::<core::PersistentVolumeClaimStatus>(generator);
    add::<core::PodTemplateSpec>(generator);
    add::<core::ServiceSpec>(generator);
    add::<core::LoadBalancerStatus>(generator);
    add::<core::ContainerStatus>(generator);
    add::<rbac::PolicyRule>(generator);
    add::<rbac::RoleRef>(generator);
    add::<rbac::Subject>(generator);
}

#[test]
fn the_table_of_known_types_is_that_of_k8s_openapi() {
    let mut generator = SchemaSettings::openapi3().into_generator();
    generate(&mut generator);
    let definitions = generator.take_definitions(false);
    let lines = definitions.iter().filter_map(|(name, schema)| {
        let fields = schema["properties"].as_object()?;
        let required = schema["required"].as_array();
        let fields = fields.iter().map(|(field, value)| {
            let is_required = required.is_some_and(|names| names.contains(&Value::from(&**field)));
            let mark = if is_required { "!" } else { "" };
            let about = value["description"].as_str().unwrap_or_default();
            format!(
                " {field}{mark}={}={}",
                ty(value, &definitions),
                start(about)
            )
        });
        let name = name.strip_prefix("io.k8s.").unwrap();
        Some(format!("{name}{}\n", fields.collect::<String>()))
    });
    let table = format!(
        "# Types of k8s-openapi with their fields: name, `!` if it is always written, type, and how its description begins.\n\
         # `UPDATE=1 cargo test -p lint-fixtures --test imported` writes this file.\n{}",
        lines.collect::<String>()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scaffold/src/imported/known.txt");
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &table).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap();
    assert!(recorded == table, "run this test with UPDATE=1");
}

fn ty(schema: &Value, definitions: &Map<String, Value>) -> String {
    let reference = schema["$ref"]
        .as_str()
        .or(schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let own = &definitions[name];
        return match name.rsplit('.').next().unwrap_or_default() {
            "Quantity" => "quantity".to_owned(),
            "IntOrString" => "int-or-string".to_owned(),
            _ if own["properties"].is_object() => name.trim_start_matches("io.k8s.").to_owned(),
            _ => ty(own, definitions),
        };
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("array"), _) => format!("[]{}", ty(&schema["items"], definitions)),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            format!("{{}}{}", ty(&schema["additionalProperties"], definitions))
        }
        (Some("integer"), format) => format.unwrap_or("int64").to_owned(),
        (Some(ty), format) => format.unwrap_or(ty).to_owned(),
        (None, _) => "any".to_owned(),
    }
}

/// The first letters of a description, which rarely change.
fn start(description: &str) -> String {
    let letters = description.chars().filter(char::is_ascii_alphanumeric);
    letters.take(24).collect::<String>().to_lowercase()
}
