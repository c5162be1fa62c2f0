//! The Deployment of a `Guestbook`.

use api::webapp::v1::Guestbook;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::ResourceExt;

/// Two Pods with the image of the spec.
pub fn of(guestbook: &Guestbook) -> anyhow::Result<Deployment> {
    let name = guestbook.name_any();
    let labels = Some([("app".to_owned(), name.clone())].into());
    anyhow::ensure!(!guestbook.spec.image.is_empty(), "no image");
    Ok(Deployment {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: guestbook.namespace(),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(2),
            selector: LabelSelector {
                match_labels: labels.clone(),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels,
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "guestbook".to_owned(),
                        image: Some(guestbook.spec.image.clone()),
                        ..Container::default()
                    }],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    })
}
