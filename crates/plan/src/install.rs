//! Applies what a release installs, as its installer would.

use std::collections::BTreeSet;

use apiserver_rules::problems;
use kbr_envtest::client::Client;
use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::crds;
use serde_json::Value;

use super::discovery::{Served, list, path, percent_encoded, text};
use super::state::{self, Id, State, Versions};
use super::webhooks::Webhooks;

/// The objects of an installer that were applied, and what the API server refused.
#[derive(Debug, Default)]
pub struct Installed {
    /// What was applied.
    pub ids: BTreeSet<Id>,
    /// What was refused, in the API server's own words.
    pub refused: Vec<String>,
    /// What was left out, because its kind is not served here.
    pub unknown: BTreeSet<String>,
}

/// Kinds without which others cannot be applied come first.
fn rank(object: &Value) -> usize {
    let first = ["CustomResourceDefinition", "Namespace", "ServiceAccount"];
    let kind = text(&object["kind"]);
    let place = first.iter().position(|it| *it == kind);
    match kind {
        // The API server calls them from then on.
        kind if kind.ends_with("WebhookConfiguration") => first.len() + 1,
        _ => place.unwrap_or(first.len()),
    }
}

/// Applies the objects.
///
/// # Errors
/// The API server does not answer, or does not serve a CRD in time.
pub fn install(
    plane: &ControlPlane,
    client: &Client,
    objects: &[Value],
    webhooks: &Webhooks,
) -> anyhow::Result<Installed> {
    let mut objects: Vec<Value> = objects.to_vec();
    objects.sort_by_key(rank);
    let mut installed = Installed::default();
    let (definitions, others): (Vec<Value>, Vec<Value>) = objects
        .into_iter()
        .partition(|it| it["kind"] == "CustomResourceDefinition");
    let mut accepted = Vec::new();
    let kinds = state::kinds(client, &Versions::new(), &mut Vec::new())?;
    for mut definition in definitions {
        webhooks.trust(&mut definition);
        if installed.apply(client, &kinds, &definition) {
            accepted.push(definition);
        }
    }
    crds::wait(plane, &accepted)?;
    let kinds = state::kinds(client, &Versions::new(), &mut Vec::new())?;
    for mut object in others {
        webhooks.trust(&mut object);
        installed.apply(client, &kinds, &object);
    }
    Ok(installed)
}

impl Installed {
    /// Whether the object was applied.
    fn apply(&mut self, client: &Client, kinds: &[Served], object: &Value) -> bool {
        let (group, version) = group_and_version(text(&object["apiVersion"]));
        let kind = kinds
            .iter()
            .find(|it| it.group == group && it.kind == text(&object["kind"]));
        let Some(kind) = kind else {
            self.unknown.insert(text(&object["kind"]).to_owned());
            return false;
        };
        let meta = &object["metadata"];
        let namespace = if kind.namespaced {
            // As kubectl has it.
            meta["namespace"].as_str().unwrap_or("default")
        } else {
            ""
        };
        let name = text(&meta["name"]);
        let id = Id {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let collection = path(group, version, &kind.plural, namespace);
        let path = format!("{collection}/{name}");
        let applied = installer(client, &path)
            .and_then(|it| client.apply_as(&percent_encoded(&it), &path, object));
        if let Err(error) = &applied {
            self.refused.push(format!("{id}: {error:#}"));
        }
        self.ids.insert(id);
        applied.is_ok()
    }
}

/// The field manager to apply an object as.
fn installer(client: &Client, path: &str) -> anyhow::Result<String> {
    let object = client.find(path, "application/json")?;
    Ok(manager(&object.unwrap_or_default()).to_owned())
}

/// The field manager that has applied the object: what it no longer applies is removed, as by its next apply in the cluster. It owns most
/// of the object; another one, such as an operator that writes CA bundles, would lose what it owns.
fn manager(object: &Value) -> &str {
    let managers = list(&object["metadata"]["managedFields"]);
    let most = managers
        .filter(|it| it["subresource"].is_null())
        .max_by_key(|it| it["fieldsV1"].to_string().len());
    let applied = most.filter(|it| it["operation"] == "Apply");
    applied.map_or("kbr", |it| text(&it["manager"]))
}

fn group_and_version(text: &str) -> (&str, &str) {
    text.split_once('/').unwrap_or(("", text))
}

/// The stored objects that the CRDs of a release no longer accept, a sentence each.
pub fn invalid(objects: &[Value], state: &State) -> Vec<String> {
    let mut found = Vec::new();
    for definition in objects
        .iter()
        .filter(|it| it["kind"] == "CustomResourceDefinition")
    {
        let spec = &definition["spec"];
        let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
        for (id, object) in state
            .iter()
            .filter(|(id, _)| id.group == group && id.kind == kind)
        {
            let object: Value = serde_json::from_str(&object.object).unwrap_or_default();
            let (_, version) = group_and_version(text(&object["apiVersion"]));
            let Some(version) = list(&spec["versions"]).find(|it| it["name"] == version) else {
                continue;
            };
            let problems = problems(&object, &version["schema"]["openAPIV3Schema"]);
            found.extend(problems.first().map(|it| format!("{id}: {it}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_applied_as_by_its_installer_and_never_as_by_an_operator_that_owns_a_part() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({ "manager": manager, "operation": operation, "fieldsV1": fields });
        let all = json!({ "f:spec": { "f:ports": {}, "f:selector": {} } });
        let bundle = entry("crew/webhooks", "Apply", json!({ "f:caBundle": {} }));
        let of = |entries: &[&Value]| {
            manager(&json!({ "metadata": { "managedFields": entries } })).to_owned()
        };
        let mut status = entry("crew", "Apply", json!([all, all]));
        status["subresource"] = json!("status");
        let applied = entry("flux", "Apply", all.clone());
        assert_eq!(of(&[&bundle, &applied, &status]), "flux");
        let updated = entry("kubectl-client-side-apply", "Update", all);
        assert_eq!(of(&[&bundle, &updated]), "kbr");
        assert_eq!(of(&[]), "kbr");
    }
}
