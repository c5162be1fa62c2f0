//! What a catalogue shows of an operator: the base that operator-sdk keeps in `config/manifests` -> `[bundle]` of PROJECT.

use kbr_host::yaml::Budget;
use serde_json::Value;
use toml::Table;

use super::{Files, yaml};
use crate::quote;

/// What operator-sdk writes where its user has to say something.
const PLACEHOLDERS: [&str; 5] = [
    "Provider Name",
    "Maintainer Name",
    "your@email.com",
    "https://your.domain",
    " description. TODO.",
];

/// The text of `[bundle]`; `None` if the project has no base, or its user has said nothing in it.
pub fn bundle(files: &Files, budget: &mut Budget) -> Option<String> {
    let folder =
        files.range("config/manifests/bases/".to_owned().."config/manifests/bases0".to_owned());
    let mut documents = folder.flat_map(|(_, text)| yaml::documents(text, budget));
    let base = documents.find(|it| it["kind"] == "ClusterServiceVersion")?;
    let table = table(&base);
    if table.is_empty() {
        return None;
    }
    Some(quote::toml_table("bundle", &table))
}

fn table(base: &Value) -> Table {
    let (spec, annotations) = (&base["spec"], &base["metadata"]["annotations"]);
    let categories = text(&annotations["categories"]).map(|all| {
        let all = all.split(',').map(str::trim).filter(|it| !it.is_empty());
        all.map(toml::Value::from).collect::<Vec<_>>()
    });
    let fields: [(&str, Option<toml::Value>); 10] = [
        ("display_name", one(&spec["displayName"])),
        ("description", one(&spec["description"])),
        ("provider", one(&spec["provider"]["name"])),
        ("capabilities", one(&annotations["capabilities"])),
        ("maturity", one(&spec["maturity"])),
        ("min_kube_version", one(&spec["minKubeVersion"])),
        ("keywords", list(&spec["keywords"], one)),
        ("categories", categories.map(toml::Value::Array)),
        (
            "maintainers",
            list(&spec["maintainers"], |it| entry(it, ["name", "email"])),
        ),
        (
            "links",
            list(&spec["links"], |it| entry(it, ["name", "url"])),
        ),
    ];
    let said = fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    said.collect()
}

/// A text, unless it is a placeholder.
fn text(value: &Value) -> Option<&str> {
    let text = value.as_str().map(str::trim)?;
    let is_said = !text.is_empty() && !PLACEHOLDERS.iter().any(|it| text.ends_with(it));
    is_said.then_some(text)
}

fn one(value: &Value) -> Option<toml::Value> {
    text(value).map(toml::Value::from)
}

/// The entries that say something; `None` without any.
fn list(value: &Value, entry: impl Fn(&Value) -> Option<toml::Value>) -> Option<toml::Value> {
    let entries: Vec<_> = value.as_array()?.iter().filter_map(entry).collect();
    (!entries.is_empty()).then_some(toml::Value::Array(entries))
}

/// A table with these keys, if it says all of them.
fn entry(value: &Value, keys: [&str; 2]) -> Option<toml::Value> {
    let field = |key: &str| Some((key.to_owned(), one(&value[key])?));
    let table: Option<Table> = keys.into_iter().map(field).collect();
    table.map(toml::Value::Table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "config/manifests/bases/captains.clusterserviceversion.yaml";

    fn bundle_of(spec: &str) -> Option<String> {
        let base = format!(
            "kind: ClusterServiceVersion\nmetadata:\n  annotations: {{categories: 'Sea, Crew'}}\nspec:\n{spec}"
        );
        bundle(&[(PATH.to_owned(), base)].into(), &mut Budget::default())
    }

    #[test]
    fn what_a_catalogue_shows_is_taken_over() {
        let text = bundle_of(
            "  displayName: Captains\n  description: |\n    Runs \"captains\".\n    # Not a comment.\n  provider: {name: Example}\n  \
             maintainers: [{name: The crew, email: crew@example.com}, {name: Nobody}]\n  links: []\n  version: 1.0.0\n",
        );
        let table: Table = toml::from_str(&text.unwrap()).unwrap();
        let bundle = table["bundle"].as_table().unwrap();
        let keys: Vec<_> = bundle.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "categories",
                "description",
                "display_name",
                "maintainers",
                "provider"
            ]
        );
        assert_eq!(bundle["categories"].as_array().unwrap().len(), 2);
        assert_eq!(
            bundle["description"].as_str(),
            Some("Runs \"captains\".\n# Not a comment.")
        );
        assert_eq!(bundle["maintainers"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn placeholders_are_left_out() {
        let base = "kind: ClusterServiceVersion\nspec:\n  description: Captains description. TODO.\n  provider: {name: Provider Name}\n  \
                    maintainers: [{name: Maintainer Name, email: your@email.com}]\n  icon: [{base64data: '', mediatype: ''}]\n";
        let budget = &mut Budget::default();
        let files = [(PATH.to_owned(), base.to_owned())].into();
        assert_eq!(bundle(&files, budget), None);
        assert_eq!(bundle(&Files::new(), budget), None);
    }
}
