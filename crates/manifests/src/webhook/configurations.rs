//! Markers -> configurations, like controller-gen's.

use serde_json::{Value, json};

use super::entry::{Entry, Names};
use super::read;
use crate::markers::Marker;
use crate::problem::Problem;

/// Reads the markers called `webhook`, sorted by webhook name. `own` holds the project's kinds, as group and plural.
pub fn read(
    names: &Names,
    markers: &[Marker],
    own: &[(String, String)],
    problems: &mut Vec<Problem>,
) -> Vec<Entry> {
    let mut webhooks = Vec::new();
    for marker in markers {
        match read::webhook(names, marker, own) {
            Ok(webhook) => webhooks.push(webhook),
            Err(found) => problems.extend(found),
        }
    }
    webhooks.sort_by(|a, b| a.name().cmp(b.name()));
    for pair in webhooks.chunk_by(|a, b| a.name() == b.name()) {
        let kinds =
            [true, false].map(|mutating| pair.iter().filter(move |w| w.mutating == mutating));
        for (first, other) in kinds
            .into_iter()
            .filter_map(|mut kind| kind.next().zip(kind.next()))
        {
            let text = format!(
                "`{}` is already the name of the webhook at `{}`",
                first.name(),
                first.at
            );
            problems.push(
                Problem::new(text)
                    .at(&other.at)
                    .help("give each webhook a unique name"),
            );
        }
    }
    webhooks
}

/// The configurations that have an entry, the mutating one first.
/// `markers` holds those called `webhookconfiguration`, which rename them.
pub fn configurations(
    names: &Names,
    markers: &[Marker],
    webhooks: &[Entry],
    problems: &mut Vec<Problem>,
) -> Vec<Value> {
    let mut own: [Option<(String, &str)>; 2] = [None, None];
    for marker in markers {
        match read::configuration(marker) {
            Ok((mutating, name)) => match &own[usize::from(mutating)] {
                Some((_, first)) => {
                    let kind = if mutating { "mutating" } else { "validating" };
                    let text = format!("the {kind} configuration already has a name at `{first}`");
                    problems.push(Problem::new(text).at(&marker.at));
                }
                None => own[usize::from(mutating)] = name.map(|name| (name, marker.at.as_str())),
            },
            Err(found) => problems.extend(found),
        }
    }
    let [validating, mutating] = own.map(|name| name.map(|(name, _)| name));
    let configurations = [
        (
            true,
            mutating,
            &names.mutating,
            "MutatingWebhookConfiguration",
        ),
        (
            false,
            validating,
            &names.validating,
            "ValidatingWebhookConfiguration",
        ),
    ];
    let configuration = |(wanted, own, default, kind): (bool, Option<String>, &String, &str)| {
        let entries = webhooks.iter().filter(|webhook| webhook.mutating == wanted);
        let entries: Vec<&Value> = entries.map(|webhook| &webhook.object).collect();
        (!entries.is_empty()).then(|| {
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": { "name": own.unwrap_or_else(|| default.clone()) },
                "webhooks": entries,
            })
        })
    };
    configurations
        .into_iter()
        .filter_map(configuration)
        .collect()
}

/// Configurations renamed by `markers`: the operator does not know these names, so it would not set the CA bundle.
pub fn unmanaged(names: &Names, markers: &[Marker]) -> Vec<Problem> {
    let unmanaged = |marker: &Marker| {
        let (mutating, name) = read::configuration(marker).ok()?;
        let known = if mutating {
            &names.mutating
        } else {
            &names.validating
        };
        let name = name.filter(|name| name != known)?;
        let text = format!(
            "the operator manages the CA bundle of `{known}` only: calls to `{name}` would fail TLS verification"
        );
        let help = "leave `name=` out, or let cert-manager manage the certificate: `../webhook-certmanager` in `config/default/kustomization.yaml`";
        Some(Problem::new(text).at(&marker.at).help(help))
    };
    markers.iter().filter_map(unmanaged).collect()
}

/// Adds each removed configuration to `now`, without webhooks. Applying a file deletes nothing from the cluster: a configuration that
/// is left out would continue to call webhooks that no longer exist.
pub fn emptied(before: &[Value], now: &mut Vec<Value>) {
    for old in before.iter().filter(|old| old["kind"].is_string()) {
        let name = &old["metadata"]["name"];
        let same = |new: &Value| new["kind"] == old["kind"] && new["metadata"]["name"] == *name;
        if !now.iter().any(same) {
            now.push(json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": old["kind"],
                "metadata": { "name": name },
                "webhooks": [],
            }));
        }
    }
    now.sort_by(|a, b| a["kind"].as_str().cmp(&b["kind"].as_str()));
}
