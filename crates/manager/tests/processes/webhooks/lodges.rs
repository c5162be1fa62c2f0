//! A kind with webhooks and conversion, its operator, and the parts of its project that an integration test uses.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use clap::Parser;
use kube::CustomResourceExt as _;
use manager::{
    Manager, Options,
    webhook::{Defaulter, FieldError, Rejection, Request, Validator, Warnings},
};
use serde_json::{Value, json};

macro_rules! version {
    ($version:ident, $text:literal, $field:ident) => {
        pub mod $version {
            use k8s_openapi::api::core::v1::PodTemplateSpec;
            use kube::CustomResource;
            use schemars::JsonSchema;
            use serde::{Deserialize, Serialize};

            /// It has a Pod template, whose schema takes the API server a while to process.
            #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
            #[kube(group = "hotel.example.com", version = $text, kind = "Lodge", namespaced)]
            pub struct LodgeSpec {
                pub $field: Option<i32>,
                pub template: Option<PodTemplateSpec>,
            }
        }
    };
}

version!(v1, "v1", beds);
version!(v2, "v2", rooms);

/// The name of the field in each version.
pub const FIELDS: [(&str, &str); 2] = [("v1", "beds"), ("v2", "rooms")];

impl From<v1::Lodge> for v2::Lodge {
    fn from(lodge: v1::Lodge) -> Self {
        let v1::LodgeSpec { beds, template } = lodge.spec;
        Self {
            metadata: lodge.metadata,
            spec: v2::LodgeSpec {
                rooms: beds,
                template,
            },
        }
    }
}

impl From<v2::Lodge> for v1::Lodge {
    fn from(lodge: v2::Lodge) -> Self {
        let v2::LodgeSpec { rooms, template } = lodge.spec;
        Self {
            metadata: lodge.metadata,
            spec: v1::LodgeSpec {
                beds: rooms,
                template,
            },
        }
    }
}

struct LodgeWebhook;

impl Defaulter<v2::Lodge> for LodgeWebhook {
    async fn default(
        &self,
        lodge: &mut v2::Lodge,
        _: &Request<v2::Lodge>,
    ) -> Result<(), Rejection> {
        lodge.spec.rooms.get_or_insert(1);
        Ok(())
    }
}

impl Validator<v2::Lodge> for LodgeWebhook {
    async fn validate_create(
        &self,
        lodge: &v2::Lodge,
        _: &Request<v2::Lodge>,
    ) -> Result<Warnings, Rejection> {
        if lodge.spec.rooms == Some(13) {
            return Err(FieldError::invalid("spec.rooms", 13, "brings bad luck").into());
        }
        Ok(Warnings::new())
    }
}

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
}

/// Runs the operator, with the arguments after `lodges`.
#[tokio::main]
pub async fn lodges_main() -> anyhow::Result<()> {
    let cli = Cli::parse_from(std::env::args().skip(1));
    let mut manager = Manager::new(cli.manager, "lodges.example.com").await?;
    manager.defaulter::<v2::Lodge>(LodgeWebhook);
    manager.validator::<v2::Lodge>(LodgeWebhook);
    manager.spoke::<v2::Lodge, v1::Lodge>();
    manager.run().await
}

/// The CRD as `kbr manifests` writes it: with conversion by a Service.
fn crd() -> anyhow::Result<Value> {
    let crds = vec![v1::Lodge::crd(), v2::Lodge::crd()];
    let mut crd = serde_json::to_value(kube::core::crd::merge_crds(crds, "v1")?)?;
    let service =
        json!({ "namespace": "lodges-system", "name": "lodges-webhook", "path": "/convert" });
    crd["spec"]["conversion"] = json!({ "strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": { "service": service },
    } });
    Ok(crd)
}

fn configuration(kind: &str, word: &str) -> String {
    let path = format!("/{word}-hotel-example-com-v2-lodge");
    let service = json!({ "namespace": "lodges-system", "name": "lodges-webhook", "path": path });
    let webhooks = json!([{
        "name": format!("{word}.hotel.example.com"), "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "clientConfig": { "service": service },
        "rules": [{
            "apiGroups": ["hotel.example.com"], "apiVersions": ["v2"],
            "resources": ["lodges"], "operations": ["CREATE"],
        }],
    }]);
    format!(
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\n\
         metadata:\n  name: lodges-{word}\nwebhooks: {webhooks}\n"
    )
}

/// Writes the parts of a project that an integration test uses.
pub fn write_project(project: &Path) -> anyhow::Result<()> {
    for folder in ["config/webhook", "config/crd/bases"] {
        fs::create_dir_all(project.join(folder))?;
    }
    let manifests = [
        configuration("MutatingWebhookConfiguration", "mutate"),
        configuration("ValidatingWebhookConfiguration", "validate"),
    ];
    fs::write(
        project.join("config/webhook/manifests.yaml"),
        manifests.concat(),
    )?;
    fs::write(
        project.join("config/crd/bases/lodges.yaml"),
        crd()?.to_string(),
    )?;
    let operator = project.join("operator");
    let program = std::env::current_exe()?;
    let script = format!("#!/bin/sh\nexec '{}' lodges \"$@\"\n", program.display());
    fs::write(&operator, script)?;
    fs::set_permissions(&operator, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
