//! All objects that an API server shows, at one moment.

use std::collections::BTreeMap;
use std::fmt;

use kbr_envtest::client::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::discovery::{self, Served, objects, text};
use super::load::full_name;
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

/// The objects, as text: a value takes five times as much. Without what every write changes: managed fields and version.
pub type State = BTreeMap<Id, Box<str>>;

/// What the API server shows now. A kind that cannot be read, such as one whose conversion nobody serves, is named in `unread`.
///
/// # Errors
/// The API server does not answer.
pub fn read(client: &Client, unread: &mut Vec<String>) -> anyhow::Result<State> {
    let get = |path: &str| Ok(serde_json::from_reader(client.get(path)?)?);
    let mut state = State::new();
    for kind in kinds(client, unread)? {
        let found = match objects(&get, &kind.path(""), "") {
            Ok(found) => found,
            Err(error) => {
                unread.push(format!("`{}`: {error:#}", kind.path("")));
                continue;
            }
        };
        for mut object in found {
            strip(&mut object);
            state.insert(id(&kind, &object), object.to_string().into());
        }
    }
    Ok(state)
}

/// Removes what every write changes.
pub fn strip(object: &mut Value) {
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.remove("managedFields");
        meta.remove("resourceVersion");
    }
}

/// The kinds that are part of a plan, each in the version that clients should use.
pub fn kinds(client: &Client, unread: &mut Vec<String>) -> anyhow::Result<Vec<Served>> {
    let get = |path: &str| Ok(serde_json::from_reader(client.get(path)?)?);
    let mut kinds = discovery::served(&get, &|_| true, unread)?;
    kinds.retain(|it| it.preferred && !is_left_out(&it.group, &it.plural));
    Ok(kinds)
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
