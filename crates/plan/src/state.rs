//! All objects that an API server shows, at one moment.

use std::collections::BTreeMap;
use std::fmt;

use kbr_envtest::client::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cloned::Cloned;
use super::discovery::{self, Served, objects, text};
use super::load::{full_name, is_of_server};
use super::read::is_left_out;

/// An object, whatever its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id {
    /// The API group; empty for the core group.
    pub group: String,
    /// The name of the kind in objects.
    pub kind: String,
    /// Empty without one.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.kind,
            full_name(&self.namespace, &self.name)
        )
    }
}

/// An object, as text: a value takes five times as much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Without what every write changes: managed fields and version.
    pub object: Box<str>,
    /// Its managed fields.
    pub managed: Box<str>,
}

/// The objects.
pub type State = BTreeMap<Id, Seen>;

/// By group and plural: the version in which a kind was cloned.
pub type Versions = BTreeMap<(String, String), String>;

/// The versions in which the cluster stores the objects of a clone. They are read in no other, so that all states are comparable, and as
/// few webhooks as possible convert.
#[must_use]
pub fn versions(cloned: &Cloned) -> Versions {
    let kinds = cloned.kinds.iter();
    kinds
        .map(|it| ((it.group.clone(), it.plural.clone()), it.version.clone()))
        .collect()
}

/// What the API server shows now. A kind that cannot be read, such as one whose conversion webhook does not answer, is named in `unread`, and
/// is as it was `before`.
///
/// # Errors
/// The API server does not answer.
pub fn read(
    client: &Client,
    versions: &Versions,
    before: &State,
    unread: &mut Vec<String>,
) -> anyhow::Result<State> {
    let get = |path: &str| Ok(serde_json::from_reader(client.get(path)?)?);
    let mut state = State::new();
    for kind in kinds(client, versions, unread)? {
        let found = match objects(&get, &kind.path(""), "") {
            Ok(found) => found,
            Err(error) => {
                unread.push(format!("`{}`: {error:#}", kind.path("")));
                let same = before
                    .iter()
                    .filter(|(id, _)| id.group == kind.group && id.kind == kind.kind);
                state.extend(same.map(|(id, object)| (id.clone(), object.clone())));
                continue;
            }
        };
        let found = found.into_iter();
        for mut object in found.filter(|it| !is_of_server(&kind.plural, it)) {
            let managed = strip(&mut object);
            let seen = Seen {
                object: object.to_string().into(),
                managed: managed.unwrap_or_default().to_string().into(),
            };
            state.insert(id(&kind, &object), seen);
        }
    }
    Ok(state)
}

/// Removes what every write changes. Returns the managed fields.
pub fn strip(object: &mut Value) -> Option<Value> {
    let meta = object["metadata"].as_object_mut()?;
    meta.remove("resourceVersion");
    meta.remove("managedFields")
}

/// The kinds that are part of a plan, each in one version: that of the clone, else the preferred one of its group, unless that lacks it.
pub fn kinds(
    client: &Client,
    versions: &Versions,
    unread: &mut Vec<String>,
) -> anyhow::Result<Vec<Served>> {
    let get = |path: &str| Ok(serde_json::from_reader(client.get(path)?)?);
    let mut served = discovery::served(&get, &|_| true, unread)?;
    served.retain(|it| !is_left_out(&it.group, &it.plural));
    Ok(in_one_version(served, versions))
}

fn in_one_version(mut served: Vec<Served>, versions: &Versions) -> Vec<Served> {
    let key = |kind: &Served| (kind.group.clone(), kind.plural.clone());
    let is_cloned = |kind: &Served| versions.get(&key(kind)) == Some(&kind.version);
    // The first of each kind stays, in the order of discovery if nothing else decides.
    served.sort_by_key(|it| (key(it), !is_cloned(it), !it.preferred));
    served.dedup_by_key(|it| key(it));
    served
}

fn id(kind: &Served, object: &Value) -> Id {
    let meta = &object["metadata"];
    Id {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: text(&meta["namespace"]).to_owned(),
        name: text(&meta["name"]).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_in_the_version_of_the_clone_or_else_in_the_preferred_one_that_has_it() {
        let served = |plural: &str, version: &str| Served {
            group: "crew.example.com".to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: plural.to_owned(),
            namespaced: true,
            preferred: version == "v2",
        };
        let all = [
            served("captains", "v2"),
            served("ships", "v1"),
            served("captains", "v1"),
        ];
        let chosen = |versions: &Versions| -> Vec<(String, String)> {
            let chosen = in_one_version(all.to_vec(), versions).into_iter();
            chosen.map(|it| (it.plural, it.version)).collect()
        };
        let expected = |captains: &str| {
            [("captains", captains), ("ships", "v1")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        };
        assert_eq!(chosen(&Versions::new()), expected("v2"));
        let key = ("crew.example.com".to_owned(), "captains".to_owned());
        let cloned = |version: &str| Versions::from([(key.clone(), version.to_owned())]);
        assert_eq!(chosen(&cloned("v1")), expected("v1"));
        // The release no longer serves it.
        assert_eq!(chosen(&cloned("v1beta1")), expected("v2"));
    }
}
