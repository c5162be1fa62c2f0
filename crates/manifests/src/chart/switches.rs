//! The components of a project -> the values of its chart that turn them on and off.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::condition::Cases;
use crate::files;

/// The components that kbr scaffolds, and the values that choose each. The value of a component that is not here is
/// `components.<name>.enabled`. The names are those of kubebuilder's charts, so that the values of one can be used on.
const KNOWN: [(&str, &[(&str, bool)]); 6] = [
    ("prometheus", &[("prometheus.enabled", true)]),
    ("network-policy", &[("networkPolicy.enabled", true)]),
    ("namespaced", &[("rbac.namespaced", true)]),
    ("high-availability", &[("highAvailability.enabled", true)]),
    (
        "webhook-self-signed",
        &[("webhook.enabled", true), ("certManager.enabled", false)],
    ),
    (
        "webhook-certmanager",
        &[("webhook.enabled", true), ("certManager.enabled", true)],
    ),
];

/// The common part of two other components.
const PART: &str = "webhook";

/// The switches of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    /// The values, as paths below `.Values`.
    pub values: Vec<String>,
    /// The case that `config/default` is, one bit for each value.
    pub default: usize,
    /// The folders in `config/`, in the order in which they apply, each with the values that choose it.
    components: Vec<(String, Vec<(usize, bool)>)>,
}

impl Switches {
    /// The components in the `config` folder of the project at `root`: those that `config/default` lists come first, in its order.
    ///
    /// # Errors
    /// A kustomization cannot be read.
    pub fn read(root: &Path, listed: &[String]) -> anyhow::Result<Self> {
        let mut folders = listed.to_vec();
        for folder in files::folders(&root.join("config"))? {
            if folder != PART && !folders.contains(&folder) && is_component(root, &folder)? {
                folders.push(folder);
            }
        }
        Ok(Self::new(folders, listed))
    }

    fn new(folders: Vec<String>, listed: &[String]) -> Self {
        let mut values = Vec::new();
        let mut on = BTreeMap::new();
        let mut components = Vec::new();
        for folder in folders {
            let own = format!("components.{}.enabled", camel_case(&folder));
            let known = KNOWN.iter().find(|(name, _)| *name == folder);
            let needs =
                known.map_or_else(|| vec![(own.as_str(), true)], |(_, needs)| needs.to_vec());
            let mut numbers = Vec::new();
            for (value, wanted) in needs {
                let number = values.iter().position(|it| it == value).unwrap_or_else(|| {
                    values.push(value.to_owned());
                    values.len() - 1
                });
                numbers.push((number, wanted));
                if listed.contains(&folder) {
                    on.insert(number, wanted);
                }
            }
            components.push((folder, numbers));
        }
        let default = on
            .iter()
            .filter(|(_, on)| **on)
            .map(|(number, _)| 1 << number)
            .sum();
        Self {
            values,
            default,
            components,
        }
    }

    /// Adds values that are on by default and choose no component.
    pub fn add(&mut self, values: impl Iterator<Item = &'static str>) {
        for value in values {
            self.default |= 1 << self.values.len();
            self.values.push(value.to_owned());
        }
    }

    /// Whether a value is on in a case; a value that does not exist is.
    pub fn is_on(&self, value: &str, case: usize) -> bool {
        let number = self.values.iter().position(|it| it == value);
        number.is_none_or(|number| case & (1 << number) != 0)
    }

    /// All cases.
    pub fn cases(&self) -> Cases {
        (0..1 << self.values.len()).collect()
    }

    /// The folders of the components in one case.
    pub fn components(&self, case: usize) -> Vec<String> {
        let chosen = self.components.iter().filter(|(_, needs)| {
            needs
                .iter()
                .all(|(number, on)| (case & (1 << number) != 0) == *on)
        });
        chosen.map(|(folder, _)| folder.clone()).collect()
    }
}

/// What a value turns on, as a sentence without its full stop.
pub fn about(value: &str) -> String {
    match value {
        "prometheus.enabled" => "A ServiceMonitor and alerts, for clusters with the Prometheus operator".to_owned(),
        "networkPolicy.enabled" => "A NetworkPolicy: only namespaces with the label `metrics: enabled` reach the metrics".to_owned(),
        "rbac.namespaced" => "Roles in selected namespaces instead of permissions in the whole cluster".to_owned(),
        "highAvailability.enabled" => "Two replicas on different nodes, and a PodDisruptionBudget".to_owned(),
        "webhook.enabled" => "Webhooks".to_owned(),
        "metrics.enabled" => "Metrics, and the roles of those who read them".to_owned(),
        "rbac.helpers.enabled" => "Three roles for the users of each kind: admin, editor and viewer".to_owned(),
        "certManager.enabled" => "Whether cert-manager issues the certificate of the webhooks, instead of the operator itself".to_owned(),
        other => {
            let name = other.split('.').nth(1).unwrap_or(other);
            format!("The component `{name}`")
        }
    }
}

fn is_component(root: &Path, folder: &str) -> anyhow::Result<bool> {
    let path = format!("config/{folder}/kustomization.yaml");
    let Some(text) = files::read(&root.join(&path))? else {
        return Ok(false);
    };
    let parsed = serde_saphyr::from_str(&String::from_utf8_lossy(&text));
    let parsed: Value = parsed.with_context(|| format!("cannot read `{path}`"))?;
    Ok(parsed["kind"] == "Component")
}

/// `my-component` -> `myComponent`: a name without a hyphen needs no `index` in templates.
fn camel_case(folder: &str) -> String {
    let mut words = folder
        .split(|it: char| !it.is_ascii_alphanumeric())
        .filter(|it| !it.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        name + &word[..1].to_ascii_uppercase() + &word[1..]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(folders: &[&str], listed: &[&str]) -> Switches {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        Switches::new(owned(folders), &owned(listed))
    }

    #[test]
    fn each_component_has_a_value_and_two_ways_to_serve_webhooks_have_two() {
        let all = switches(
            &[
                "webhook-self-signed",
                "prometheus",
                "team-labels",
                "webhook-certmanager",
            ],
            &["webhook-self-signed"],
        );
        let values = [
            "webhook.enabled",
            "certManager.enabled",
            "prometheus.enabled",
            "components.teamLabels.enabled",
        ];
        assert_eq!(all.values, values);
        assert_eq!(all.default, 0b0001);
        assert_eq!(all.components(0b0001), ["webhook-self-signed"]);
        assert_eq!(all.components(0b0011), ["webhook-certmanager"]);
        assert_eq!(all.components(0b0010), [] as [&str; 0]);
        assert_eq!(
            all.components(0b1101),
            ["webhook-self-signed", "prometheus", "team-labels"]
        );
        assert_eq!(all.cases().len(), 16);
    }
}
