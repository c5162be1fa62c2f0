//! Converts `Home` from `v1` to the hub version, `v2`, and back.
//!
//! What `v2` has and `v1` does not is kept in an annotation while an object is `v1`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1 as meta};

use super::super::v2 as hub;
use super::{Home, HomeSpec};
use crate::conversion::{Spoke, carry};

/// The annotation of objects of `v1`.
const ANNOTATION: &str = "ajd.my.domain/v2";

impl Spoke for Home {
    type Hub = hub::Home;
}

impl TryFrom<Home> for hub::Home {
    type Error = serde_json::Error;

    fn try_from(mut home: Home) -> Result<Self, Self::Error> {
        let kept = Kept::take(&mut home.metadata);
        Ok(Self {
            metadata: home.metadata,
            spec: hub::HomeSpec {
                address: split(&home.spec.address),
                rooms: kept.rooms(home.spec.rooms),
                owners: kept.owners(home.spec.owner),
                temperature: home.spec.temperature,
                away_until: home.spec.away_until,
            },
            status: carry(&home.status)?,
        })
    }
}

impl TryFrom<hub::Home> for Home {
    type Error = serde_json::Error;

    fn try_from(mut home: hub::Home) -> Result<Self, Self::Error> {
        let mut owners = home.spec.owners.into_iter();
        let owner = owners.next();
        let own = |room: &hub::Room| Some((room.name.clone(), room.temperature.clone()?));
        let kept = Kept {
            owners: owners.collect(),
            temperatures: home.spec.rooms.iter().filter_map(own).collect(),
        };
        kept.put(&mut home.metadata)?;
        Ok(Self {
            metadata: home.metadata,
            spec: HomeSpec {
                owner,
                address: join(&home.spec.address),
                rooms: home.spec.rooms.into_iter().map(|room| room.name).collect(),
                temperature: home.spec.temperature,
                away_until: home.spec.away_until,
            },
            status: carry(&home.status)?,
        })
    }
}

/// What `v1` has no fields for.
#[derive(Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct Kept {
    /// All but the first one.
    owners: Vec<String>,
    /// By the names of the rooms.
    temperatures: BTreeMap<String, Quantity>,
}

impl Kept {
    /// Removes the annotation and reads it. If a user has changed it so that it cannot be read, it counts as missing: an error
    /// would fail every list that includes the object.
    fn take(metadata: &mut meta::ObjectMeta) -> Self {
        let Some(annotations) = &mut metadata.annotations else {
            return Self::default();
        };
        let text = annotations.remove(ANNOTATION);
        if annotations.is_empty() {
            metadata.annotations = None;
        }
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    fn put(&self, metadata: &mut meta::ObjectMeta) -> serde_json::Result<()> {
        if *self != Self::default() {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(ANNOTATION.to_owned(), serde_json::to_string(self)?);
        }
        Ok(())
    }

    /// The owner of `v1`, who may have changed, and the others.
    fn owners(mut self, first: Option<String>) -> Vec<String> {
        self.owners.retain(|other| Some(other) != first.as_ref());
        first.into_iter().chain(self.owners).collect()
    }

    /// The rooms of `v1`, some of which may be new.
    fn rooms(&self, names: Vec<String>) -> Vec<hub::Room> {
        let room = |name: String| hub::Room {
            temperature: self.temperatures.get(&name).cloned(),
            name,
        };
        names.into_iter().map(room).collect()
    }
}

/// The city is what follows the last comma. Without a comma, as in objects older than the pattern in the schema, there is none.
fn split(address: &str) -> hub::Address {
    let parts = address.rsplit_once(", ");
    let (street, city) = parts
        .filter(|(_, city)| !city.is_empty())
        .unwrap_or((address, ""));
    hub::Address {
        street: street.to_owned(),
        city: city.to_owned(),
    }
}

fn join(address: &hub::Address) -> String {
    let hub::Address { street, city } = address;
    if city.is_empty() {
        return street.clone();
    }
    format!("{street}, {city}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, street: &str, city: &str) {
        let parts = split(address);
        assert_eq!((&*parts.street, &*parts.city), (street, city));
        assert_eq!(join(&parts), address);
    }

    #[test]
    fn every_address_is_split_and_joined_again() {
        check("12 Quay Street, Galway", "12 Quay Street", "Galway");
        check("Flat 3, 1 Mill Lane, Cork", "Flat 3, 1 Mill Lane", "Cork");
        check("Lighthouse", "Lighthouse", "");
        check("Lighthouse, ", "Lighthouse, ", "");
        check("", "", "");
    }
}
