//! Conversion between the versions of a kind.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use kube::CustomResourceExt;

/// A version that is converted to another one, the hub, and back.
pub trait Spoke: CustomResourceExt + TryFrom<Self::Hub> {
    /// The version through which all others of the kind are converted.
    type Hub: CustomResourceExt + TryFrom<Self>;

    /// Says in the definitions of both versions that the operator converts them.
    fn spoke(crds: &mut [apiextensions::CustomResourceDefinition]) {
        let spoke = Self::api_resource().version;
        let hub = Self::Hub::api_resource().version;
        for crd in crds {
            let is_kind = crd.metadata.name.as_deref() == Some(Self::crd_name());
            let mut versions = crd.spec.versions.iter();
            if is_kind && versions.any(|it| it.name == spoke || it.name == hub) {
                crd.spec.conversion = Some(by_the_operator());
            }
        }
    }
}

/// Carries over what both types have under the same name and in the same form. What only one of them has is lost.
pub(crate) fn carry<A, B>(from: &A) -> Result<B, serde_json::Error>
where
    A: serde::Serialize,
    B: serde::de::DeserializeOwned,
{
    serde_json::from_value(serde_json::to_value(from)?)
}

fn by_the_operator() -> apiextensions::CustomResourceConversion {
    let service = apiextensions::ServiceReference {
        name: "captains-webhook".to_owned(),
        namespace: "captains-system".to_owned(),
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
