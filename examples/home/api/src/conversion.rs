//! Conversion between the versions of a kind.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use kube::CustomResourceExt;

/// A version that converts to and from the hub version.
pub trait Spoke: CustomResourceExt + TryFrom<Self::Hub> {
    /// The version that all other versions of the kind convert to and from.
    type Hub: CustomResourceExt + TryFrom<Self>;

    /// Sets `spec.conversion` in the CRDs of both versions, so that the API server calls the operator.
    fn spoke(crds: &mut [apiextensions::CustomResourceDefinition]) {
        let spoke = Self::api_resource().version;
        let hub = Self::Hub::api_resource().version;
        for crd in crds {
            let is_kind = crd.metadata.name.as_deref() == Some(Self::crd_name());
            let mut versions = crd.spec.versions.iter();
            if is_kind && versions.any(|it| it.name == spoke || it.name == hub) {
                crd.spec.conversion = Some(webhook_conversion());
            }
        }
    }
}

/// Copies the fields that both types share: the same name and the same type. Fields that only `A` has are lost.
/// The error names the field that `B` cannot hold.
pub(crate) fn carry<A, B>(from: &A) -> Result<B, serde_json::Error>
where
    A: serde::Serialize,
    B: serde::de::DeserializeOwned,
{
    let value = serde_json::to_value(from)?;
    serde_json::from_value(value).map_err(|error| name_field::<A, B>(from, error))
}

/// The same error with the name of the field: without that field, it would be another one.
fn name_field<A, B>(from: &A, error: serde_json::Error) -> serde_json::Error
where
    A: serde::Serialize,
    B: serde::de::DeserializeOwned,
{
    let Ok(serde_json::Value::Object(all)) = serde_json::to_value(from) else {
        return error;
    };
    let problem = error.to_string();
    let is_cause = |name: &&String| {
        let mut others = all.clone();
        others.remove(*name);
        let read = serde_json::from_value::<B>(others.into());
        read.err().is_none_or(|it| it.to_string() != problem)
    };
    match all.keys().find(is_cause) {
        Some(name) => serde::de::Error::custom(format!("`{name}`: {problem}")),
        None => error,
    }
}

fn webhook_conversion() -> apiextensions::CustomResourceConversion {
    let service = apiextensions::ServiceReference {
        name: "home-webhook".to_owned(),
        namespace: "home-system".to_owned(),
        path: Some("/convert".to_owned()),
        port: None,
    };
    apiextensions::CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(apiextensions::WebhookConversion {
            client_config: Some(apiextensions::WebhookClientConfig {
                service: Some(service),
                ..apiextensions::WebhookClientConfig::default()
            }),
            conversion_review_versions: vec!["v1".to_owned()],
        }),
    }
}
