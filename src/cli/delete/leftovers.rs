//! What a deletion leaves in a cluster where the operator is deployed, and the commands that delete it.

use super::deletion::Deletion;
use kbr_manifests::WEBHOOKS;
use kbr_scaffold::changes::Change;
use kbr_scaffold::project::{Names, Project};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::resource::controller::Controller;
use kbr_scaffold::resource::webhook::Webhook;

/// A paragraph for each, or empty. `changes` are those on disk.
pub fn stays(deletion: &Deletion, changes: &[Change]) -> String {
    let (before, after) = (&deletion.before, deletion.after());
    let last = deletion.last_versions();
    let mut text = String::new();
    for api in deletion.apis() {
        if last.contains(&api) {
            text += &kind(api, before);
        } else {
            text += &version(api);
        }
    }
    let is_gone = |it: &&Controller| !after.controllers().any(|other| other.name == it.name);
    for controller in before.controllers().filter(is_gone) {
        let target = &controller.target;
        let with_kind =
            |api: &&Resource| api.full_group == target.full_group && api.kind == target.kind;
        if !last.iter().any(with_kind) {
            text += &finalizer(controller, before);
        }
    }
    if before.webhooks().next().is_some() && after.webhooks().next().is_none() {
        if before.webhooks().any(Webhook::admits) || changes.iter().any(is_configuration) {
            text += &configurations(before);
        }
        text += &certificate(before);
    }
    if text.is_empty() {
        return text;
    }
    format!("if the operator is deployed, its cluster still has:\n{text}")
}

/// All objects of a kind.
fn everywhere(namespaced: bool) -> &'static str {
    if namespaced {
        "--all --all-namespaces"
    } else {
        "--all"
    }
}

fn kind(api: &Resource, project: &Project) -> String {
    let crd = format!("{}.{}", api.plural, api.full_group);
    let role = format!(
        "{}-{}-{}",
        project.head.names().prefix,
        api.group,
        api.kind_lower()
    );
    let all = everywhere(api.namespaced);
    format!(
        "  the CRD {crd} and all its objects. Delete the objects while the operator still runs, because only it removes its finalizers:
    kubectl delete {crd} {all}
    kubectl delete crd {crd}
  three roles for users of the kind:
    kubectl delete --ignore-not-found clusterrole {role}-admin-role {role}-editor-role {role}-viewer-role
"
    )
}

fn version(api: &Resource) -> String {
    let (version, crd) = (&api.version, format!("{}.{}", api.plural, api.full_group));
    format!(
        "  objects stored as {version}. The API server rejects the new CRD while this lists {version}:
    kubectl get crd {crd} --output jsonpath='{{.status.storedVersions}}'
"
    )
}

fn finalizer(controller: &Controller, project: &Project) -> String {
    let target = &controller.target;
    let resource = if target.full_group.is_empty() {
        target.plural.clone()
    } else {
        format!("{}.{}", target.plural, target.full_group)
    };
    let finalizer = controller.finalizer(&project.manager_id());
    let (all, of) = if target.namespaced {
        (" --all-namespaces", " --namespace NAMESPACE")
    } else {
        ("", "")
    };
    format!(
        "  objects with the finalizer {finalizer}, if the controller set it. Without the controller, they cannot be deleted. To list finalizers:
    kubectl get {resource}{all} --output custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers
  Delete them while the controller still runs, or remove the finalizer from each afterwards:
    kubectl edit {resource} NAME{of}
  objects that the controller created. Kubernetes deletes children with their owners, and keeps everything else
"
    )
}

/// Whether the file was generated for webhooks that PROJECT may no longer have: conversions need no configuration.
fn is_configuration(change: &Change) -> bool {
    let text = String::from_utf8_lossy(change.before.as_deref().unwrap_or_default());
    change.path == WEBHOOKS && text.contains("\nkind:")
}

fn configurations(project: &Project) -> String {
    let name = project.head.names().prefix;
    format!(
        "  the webhook configurations. The API server calls the webhooks, and rejects objects, until you delete them:
    kubectl delete --ignore-not-found mutatingwebhookconfiguration/{name}-mutating-webhook-configuration \\
      validatingwebhookconfiguration/{name}-validating-webhook-configuration
"
    )
}

fn certificate(project: &Project) -> String {
    let Names {
        prefix: name,
        namespace,
        ..
    } = project.head.names();
    format!(
        "  the Service, the certificate, and the permissions for it:
    kubectl delete --ignore-not-found clusterrole/{name}-webhook-certificate-role clusterrolebinding/{name}-webhook-certificate-rolebinding
    kubectl delete --ignore-not-found --namespace {namespace} service/{name}-webhook secret/{name}-webhook-certificate \\
      role/{name}-webhook-certificate-role rolebinding/{name}-webhook-certificate-rolebinding
    kubectl delete --ignore-not-found validatingadmissionpolicy/{name}-webhook-certificate-policy \\
      validatingadmissionpolicybinding/{name}-webhook-certificate-policybinding
"
    )
}
