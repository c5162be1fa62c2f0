//! The bundle of a project for the Operator Lifecycle Manager (OLM), in the format registry+v1, from what kustomize renders of `config`.
//!
//! The format: <https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/>. OLM supplies the certificate of webhooks, so the
//! bundle has neither of the components that do.

mod csv;
mod image;
mod metadata;
mod objects;
mod permissions;
mod webhooks;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::render::Scratch;
use crate::{self as dist, Dist};
pub use image::set as set_image;
use kbr_manifests::files::{self, Body};
use kbr_manifests::{overlay, packages};
use kbr_scaffold::workdir;
use kbr_scaffold::{quote, yaml};
use metadata::Metadata;

/// What a bundle is made with, besides the project.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// A semantic version; by default, that of the package.
    pub version: Option<String>,
    /// The name of the package; by default, that of the project.
    pub package: Option<String>,
    /// By default, `alpha`.
    pub channels: Vec<String>,
    /// The channel of users who choose none.
    pub default_channel: Option<String>,
    /// The image of the operator; by default, that of `config`.
    pub image: Option<String>,
    /// When the release was made, as in RFC 3339. Nothing is read from a clock, so that two runs write the same bytes.
    pub created_at: Option<String>,
    /// Whether each image must be a digest.
    pub digests: bool,
    /// Where it goes, relative to the project.
    pub folder: String,
}

/// Builds the image of the bundle, which has nothing but its files.
pub const DOCKERFILE: &str = "bundle.Dockerfile";

/// The components that supply a certificate for webhooks, and the part of them that does not.
const CERTIFICATES: [&str; 2] = ["webhook-self-signed", "webhook-certmanager"];
const WEBHOOKS: &str = "webhook";

/// The files of the bundle of the project at `root`. `kubectl` makes a command without arguments.
///
/// # Errors
/// `config` cannot be rendered, or it has what OLM does not install; all of that at once.
pub fn generate(
    root: &Path,
    inputs: &Inputs,
    kubectl: &dyn Fn() -> Command,
) -> anyhow::Result<Dist> {
    let project = workdir::load(root)?;
    let metadata = Metadata::read(root)?;
    let packages = packages::packages(root)?;
    let own = packages.iter().find(|package| package.folder == root);
    let own_version = own.map_or("0.1.0", |package| &package.version);
    let package = inputs
        .package
        .clone()
        .unwrap_or_else(|| project.head.name.clone());
    let version = inputs.version.as_deref().unwrap_or(own_version);
    let mut rendered = without_certificates(root, kubectl)?;
    let note = without_other_namespaces(root, &mut rendered)?;
    let samples = if overlay::exists(root, "config/samples") {
        overlay::render(kubectl(), root, "config/samples")?
    } else {
        Vec::new()
    };
    let mut parts = objects::sort(rendered)?;
    if let Some(image) = &inputs.image {
        image::set(&mut parts.deployment, image)?;
    }
    if inputs.digests {
        image::require_digests(&parts.deployment)?;
    }
    let csv = csv::Csv {
        package: &package,
        version,
        inputs,
        metadata: &metadata,
        samples: &samples,
        provider: if project.head.owner.is_empty() {
            &project.head.domain
        } else {
            &project.head.owner
        },
    };
    let header = dist::header("bundle");
    let text = header.clone() + &yaml::render(&[csv.object(&mut parts)?])?;
    let manifests = format!("{}/manifests", inputs.folder);
    let first = format!("{manifests}/{package}.clusterserviceversion.yaml");
    let mut files = vec![Body {
        path: first.clone(),
        text,
    }];
    for object in parts.crds.iter().chain(&parts.others) {
        let path = format!("{manifests}/{}", objects::file(object));
        files.push(Body {
            path,
            text: header.clone() + &yaml::render(std::slice::from_ref(object))?,
        });
    }
    files.extend(annotations(&package, &header, inputs)?);
    Ok(Dist {
        name: "bundle",
        files,
        first,
        folders: vec![manifests],
        note,
    })
}

/// What `config/default` renders with webhooks, if it has any, but without a certificate for them.
fn without_certificates(root: &Path, kubectl: &dyn Fn() -> Command) -> anyhow::Result<Vec<Value>> {
    let scratch = Scratch::new(root)?;
    let mut components: Vec<String> = Vec::new();
    for component in scratch.listed() {
        let certificate = CERTIFICATES.contains(&component.as_str());
        let component = if certificate {
            WEBHOOKS.to_owned()
        } else {
            component
        };
        if !components.contains(&component) {
            components.push(component);
        }
    }
    let components: Vec<&str> = components.iter().map(String::as_str).collect();
    scratch.render(&components, kubectl)
}

/// Takes out the Roles that comments put into other namespaces than the operator's, and their bindings: OLM would make them in the
/// namespaces that its user chooses. Returns a note about them.
fn without_other_namespaces(
    root: &Path,
    objects: &mut Vec<Value>,
) -> anyhow::Result<Option<String>> {
    const GENERATED: &str = "config/rbac/role.yaml";
    let text = files::read(&root.join(GENERATED))?.unwrap_or_default();
    let generated: Vec<Value> = kbr_host::yaml::documents(&String::from_utf8_lossy(&text))
        .with_context(|| format!("cannot read `{GENERATED}`"))?;
    let own = objects.iter().find(|it| it["kind"] == "Deployment");
    let own = own.map_or(Value::Null, |it| it["metadata"]["namespace"].clone());
    let is_elsewhere = |name: &Value, namespace: &Value| {
        let is_same = |it: &&Value| {
            it["kind"] == "Role"
                && it["metadata"]["name"] == *name
                && it["metadata"]["namespace"] == *namespace
        };
        *namespace != own && generated.iter().any(|it| is_same(&it))
    };
    let mut left_out = Vec::new();
    objects.retain(|object| {
        let metadata = &object["metadata"];
        let name = match object["kind"].as_str() {
            Some("Role") => &metadata["name"],
            Some("RoleBinding") if object["roleRef"]["kind"] == "Role" => {
                &object["roleRef"]["name"]
            }
            _ => return true,
        };
        let is_elsewhere = is_elsewhere(name, &metadata["namespace"]);
        if is_elsewhere && object["kind"] == "Role" {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            left_out.push(format!(
                "`{}` in `{}`",
                text(name),
                text(&metadata["namespace"])
            ));
        }
        !is_elsewhere
    });
    Ok((!left_out.is_empty()).then(|| {
        format!(
            "note: the bundle leaves out these Roles and their bindings, because OLM makes Roles only in the namespaces that its user chooses: {}. Apply them apart from it, or remove `namespace=` from their `+kbr:rbac` comments",
            left_out.join(", ")
        )
    }))
}

/// `metadata/annotations.yaml`, and the Dockerfile with the same as labels.
fn annotations(package: &str, header: &str, inputs: &Inputs) -> anyhow::Result<[Body; 2]> {
    let channels = if inputs.channels.is_empty() {
        "alpha".to_owned()
    } else {
        inputs.channels.join(",")
    };
    if channels.split(',').any(|channel| channel.trim().is_empty()) {
        bail!("a channel has no name: `--channels {channels}`");
    }
    let mut pairs = vec![
        ("mediatype.v1", "registry+v1".to_owned()),
        ("manifests.v1", "manifests/".to_owned()),
        ("metadata.v1", "metadata/".to_owned()),
        ("package.v1", package.to_owned()),
        ("channels.v1", channels),
    ];
    if let Some(default) = &inputs.default_channel {
        pairs.push(("channel.default.v1", default.clone()));
    }
    let name = |key: &str| format!("operators.operatorframework.io.bundle.{key}");
    let annotations: Value = pairs
        .iter()
        .map(|(key, value)| (name(key), Value::from(value.as_str())))
        .collect();
    let labels: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("LABEL {}={}", name(key), quote::dockerfile(value)))
        .collect();
    let labels = labels.join(
        "
",
    );
    let folder = &inputs.folder;
    let docker = format!(
        "{header}FROM scratch\n\n{labels}\n\nCOPY {folder}/manifests /manifests/\nCOPY {folder}/metadata /metadata/\n"
    );
    let text = yaml::render(&[serde_json::json!({ "annotations": annotations })])?;
    let text = header.to_owned() + &text;
    Ok([
        Body {
            path: format!("{folder}/metadata/annotations.yaml"),
            text,
        },
        Body {
            path: DOCKERFILE.to_owned(),
            text: docker,
        },
    ])
}
