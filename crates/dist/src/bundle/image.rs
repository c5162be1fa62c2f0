//! The images of the Deployment.

use anyhow::{Context, bail};
use serde_json::{Value, json};

fn containers(deployment: &Value) -> impl Iterator<Item = &Value> {
    let pod = &deployment["spec"]["template"]["spec"];
    ["initContainers", "containers"]
        .into_iter()
        .filter_map(move |key| pod[key].as_array())
        .flatten()
}

/// Sets the image of the first container.
///
/// # Errors
/// There is none.
pub fn set(deployment: &mut Value, image: &str) -> anyhow::Result<()> {
    let container = deployment.pointer_mut("/spec/template/spec/containers/0");
    container.context("the operator's Deployment has no container")?["image"] = json!(image);
    Ok(())
}

/// All images.
pub fn all(deployment: &Value) -> Vec<&str> {
    containers(deployment)
        .filter_map(|container| container["image"].as_str())
        .collect()
}

/// # Errors
/// An image is named by a tag.
pub fn require_digests(deployment: &Value) -> anyhow::Result<()> {
    for image in all(deployment) {
        if !image.contains("@sha256:") {
            bail!(
                "the image `{image}` has no digest, which `--use-image-digests` needs; pass `--image NAME@sha256:…`"
            );
        }
    }
    Ok(())
}

/// `spec.relatedImages`, by which mirrors of a catalogue copy images.
pub fn related(deployment: &Value) -> Vec<Value> {
    let related = containers(deployment).filter_map(|container| {
        let (name, image) = (container["name"].as_str()?, container["image"].as_str()?);
        Some(json!({ "name": name, "image": image }))
    });
    related.collect()
}
