//! Prints every `CustomResourceDefinition` of this project as one JSON array, for `kbr manifests`. With the argument `again`, it answers
//! each object on standard input: what serde reads and writes of it, so that kbr can compare the types with their schemas.

use std::io;

use kube::core::TypeMeta;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, to_value};

use captains_api as api;

fn main() -> io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("again") {
        return io::stdin().lines().try_for_each(|object| answer(&object?));
    }
    serde_json::to_writer(io::stdout().lock(), &api::crds())?;
    Ok(())
}

fn answer(object: &str) -> io::Result<()> {
    let kinds: &[fn(&TypeMeta, &str) -> Answer] = &[
        again::<api::crew::v1::Captain>,
        again::<api::crew::v2::Captain>,
        // +kbr:scaffold:kinds
    ];
    let types = serde_json::from_str(object)?;
    let answer = kinds.iter().find_map(|kind| kind(&types, object));
    println!("{}", serde_json::to_string(&answer)?);
    Ok(())
}

/// What serde writes of the object that it reads, or why it cannot; `None` for other kinds.
type Answer = Option<Result<Value, String>>;

#[allow(dead_code)] // until there is a kind
fn again<K>(types: &TypeMeta, object: &str) -> Answer
where
    K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    if types.api_version != K::api_version(&()) || types.kind != K::kind(&()) {
        return None;
    }
    let written = serde_json::from_str::<K>(object).and_then(to_value);
    Some(written.map_err(|error| error.to_string()))
}
