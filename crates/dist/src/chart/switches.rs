//! The components of a project -> the values of its chart that turn them on and off.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::condition::Cases;
use kbr_host::diagnostic::Diagnostic;
use kbr_manifests::files;

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

/// Every set of components is rendered if so few values choose them: those that kbr scaffolds, and two more.
const ALL: usize = 8;

/// The most components of a chart: kustomize renders each pair.
const MOST: usize = 32;

/// The switches of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switches {
    /// The values, as paths below `.Values`.
    pub values: Vec<String>,
    /// How many of them choose components: the first ones.
    choosing: usize,
    /// The case that `config/default` is, one bit for each value.
    pub default: usize,
    /// The folders in `config/`, in the order in which they apply, each with the values that choose it.
    components: Vec<(String, Vec<(usize, bool)>)>,
}

impl Switches {
    /// The components in the `config` folder of the project at `root`: those that `config/default` lists come first, in its order.
    ///
    /// # Errors
    /// A kustomization cannot be read, or there are too many components.
    pub fn read(root: &Path, listed: &[String]) -> anyhow::Result<Self> {
        let mut folders = listed.to_vec();
        for folder in files::folders(&root.join("config"))? {
            if folder != PART && !folders.contains(&folder) && is_component(root, &folder)? {
                folders.push(folder);
            }
            if folders.len() > MOST {
                return Err(too_many());
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
            choosing: values.len(),
            values,
            default,
            components,
        }
    }

    /// Whether each set of components is rendered, and not only each pair and all of them.
    pub fn has_all_sets(&self) -> bool {
        self.choosing <= ALL
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

    /// The cases to render: all; with many components, those in which any two differ from what is alone.
    pub fn cases(&self) -> Cases {
        if self.has_all_sets() {
            return (0..1 << self.values.len()).collect();
        }
        let bit = |value: usize| 1_usize << value;
        let (choosing, all) = (bit(self.choosing) - 1, bit(self.values.len()) - 1);
        // No component, and every part.
        let plain = all & !choosing;
        let on = |needs: &[(usize, bool)], wanted| -> usize {
            let needs = needs.iter().filter(|(_, on)| *on == wanted);
            needs.fold(0, |bits, (value, _)| bits | bit(*value))
        };
        let components = || self.components.iter().map(|(_, needs)| needs.as_slice());
        let mut steps: BTreeSet<usize> = (0..self.values.len()).map(bit).collect();
        steps.extend(components().map(|needs| on(needs, true)));
        let mut cases = Cases::from([self.default, plain]);
        for one in &steps {
            cases.extend(steps.iter().map(|other| plain ^ (one | other)));
        }
        // All components that can be together.
        cases.extend(components().map(|needs| all & !on(needs, false)));
        // The components of kbr change the same objects.
        let known = self
            .values
            .iter()
            .enumerate()
            .filter(|(_, value)| is_known(value));
        let known = known.fold(plain, |bits, (value, _)| bits | bit(value));
        cases.extend(subsets(known));
        cases
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

fn too_many() -> anyhow::Error {
    let text = format!(
        "`config` has more than {MOST} components, and a chart can have a value for each of {MOST} at most: kustomize renders each pair"
    );
    let help = "join components that belong together; what every installation needs, list under `resources` of `config/default/kustomization.yaml`, with `kind: Kustomization` instead of `kind: Component`";
    Diagnostic::new(text).help(help).into()
}

fn is_known(value: &str) -> bool {
    let mut known = KNOWN.iter().flat_map(|(_, needs)| *needs);
    known.any(|(known, _)| *known == value)
}

/// All sets of these bits.
fn subsets(bits: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(bits), move |set| (*set > 0).then(|| (set - 1) & bits))
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
    let parsed = kbr_host::yaml::document(&String::from_utf8_lossy(&text));
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

    /// kbr's components and so many of the user's.
    fn with_own(count: usize) -> Switches {
        let known = KNOWN.map(|(name, _)| name.to_owned());
        let own = (0..count).map(|number| format!("own-{number}"));
        let folders = known.into_iter().chain(own).collect();
        let mut switches = Switches::new(folders, &["prometheus".to_owned(), "own-1".to_owned()]);
        switches.add(["metrics.enabled", "crd.enabled"].into_iter());
        switches
    }

    #[test]
    fn kustomize_renders_every_set_of_a_few_components_and_each_pair_of_many() {
        let rendered = |count| {
            let switches = with_own(count);
            let cases = switches.cases();
            assert!(cases.contains(&switches.default));
            let sets = cases.iter().map(|case| switches.components(*case));
            sets.collect::<BTreeSet<_>>()
        };
        assert_eq!(rendered(0).len(), 48);
        assert_eq!(rendered(2).len(), 48 * 4);
        let ten = rendered(10);
        let name = |number: usize| format!("own-{number}");
        for (one, other) in (0..10).flat_map(|one| (0..one).map(move |other| (one, other))) {
            assert!(ten.contains(&vec![name(other), name(one)]));
            assert!(ten.contains(&vec!["prometheus".to_owned(), name(one)]));
            assert!(ten.contains(&vec!["webhook-certmanager".to_owned(), name(one)]));
        }
        assert!(
            ten.iter().any(|set| set.len() == 15),
            "all but one way to serve webhooks"
        );
        // Twice as many have four times as many pairs.
        assert!(ten.len() < 200 && rendered(20).len() < 4 * ten.len());
    }

    #[test]
    fn more_components_than_pairs_can_be_rendered_of_are_an_error_that_says_what_to_do() {
        let project = tempfile::tempdir().unwrap();
        let read = |count: usize| {
            let folder = project.path().join(format!("config/own-{count}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("kustomization.yaml"), "kind: Component\n").unwrap();
            Switches::read(project.path(), &[])
        };
        for count in 1..=MOST {
            assert_eq!(read(count).unwrap().values.len(), count);
        }
        let error = format!("{:#}", read(MOST + 1).unwrap_err());
        assert!(
            error.contains("more than 32 components") && error.contains("help: join"),
            "{error}"
        );
    }
}
