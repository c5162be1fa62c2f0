//! kube's transformations of a schema from schemars.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use serde_json::Value;

/// Transforms a schema like `kube::CustomResource`.
pub fn derived(raw: Value) -> Option<Value> {
    let settings = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString);
    let mut schema = Schema::try_from(raw).ok()?;
    for mut transform in settings.transforms {
        transform.transform(&mut schema);
    }
    let props: JSONSchemaProps = serde_json::from_value(schema.to_value()).ok()?;
    serde_json::to_value(props).ok()
}
