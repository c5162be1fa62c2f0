//! Whether an object is gone, which only a read of it can tell.
//!
//! A write may be answered with 404 or 409 although the object is there: by an API server behind a load balancer that does not serve
//! the kind yet (`404 page not found`), or by an admission webhook, which may deny a request with any status. The API server
//! passes that on with its code, its reason and its details. No webhook is called for a read.

use anyhow::Context as _;
use kube::{
    Client,
    api::{DynamicObject, GetParams, Request},
    core::{Status, response::reason},
};
use serde_json::Value;

use crate::{
    key::Key,
    writes::{kind::KindData, tries::Tries},
};

/// What a read of the object with this name has found; `None` if the API server says that there is none.
///
/// # Errors
/// If the read failed. Any other 404 is an error as well.
pub(crate) fn found<T>(read: kube::Result<T>, name: &str) -> kube::Result<Option<T>> {
    match read {
        Err(kube::Error::Api(status)) if is_not_found(&status, name) => Ok(None),
        read => read.map(Some),
    }
}

/// Whether the API server says that there is no object of this name.
pub(crate) fn is_not_found(status: &Status, name: &str) -> bool {
    let names = status.details.as_ref().is_some_and(|it| it.name == name);
    status.code == 404 && status.reason == reason::NOT_FOUND && names
}

/// Whether a write that failed so leaves open what there is now. [`read_again`] tells.
pub(crate) fn is_doubtful(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if [404, 409].contains(&status.code))
}

/// The object with this uid as it is stored now, to which a write has failed; `None` if it is gone, or another object has
/// its name.
///
/// # Errors
/// If it cannot be read.
pub(crate) async fn read_again(
    client: &Client,
    kind: &KindData,
    key: &Key,
    uid: Option<&str>,
) -> anyhow::Result<Option<Value>> {
    let fresh = found(stored(client, kind, key).await, key.name());
    let fresh = fresh.with_context(|| format!("cannot read {} `{key}` again", kind.name()))?;
    Ok(fresh.filter(|fresh| uid.is_none_or(|uid| meta(fresh, "uid") == uid)))
}

/// The object with this uid as it has changed since its version `at`, to which a write has failed with `error`, to try that
/// again; `None` if it is gone, or another object has its name. Waits before it looks.
///
/// # Errors
/// `error` if that was no conflict, because the object has not changed, or the last of the `tries`; or if it cannot be read.
pub(crate) async fn changed_since(
    client: &Client,
    kind: &KindData,
    key: &Key,
    (uid, at): (Option<&str>, &str),
    error: kube::Error,
    tries: &mut Tries,
) -> anyhow::Result<Option<Value>> {
    if !is_doubtful(&error) {
        return Err(error.into());
    }
    let is_last = !tries.again().await;
    let fresh = read_again(client, kind, key, uid).await?;
    if fresh
        .as_ref()
        .is_some_and(|fresh| is_last || meta(fresh, "resourceVersion") == at)
    {
        return Err(error.into());
    }
    Ok(fresh)
}

/// The object as it is stored, with the fields that its type does not know.
pub(crate) async fn stored(client: &Client, kind: &KindData, key: &Key) -> kube::Result<Value> {
    use kube::Resource as _;
    let url = DynamicObject::url_path(&kind.resource, key.namespace());
    let get = Request::new(url).get(key.name(), &GetParams::default());
    client
        .request(get.map_err(kube::Error::BuildRequest)?)
        .await
}

/// A text in the metadata of a stored object; empty if there is none.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(status: Value, absent: bool) {
        let status: Status = serde_json::from_value(status).unwrap();
        let read: kube::Result<()> = Err(kube::Error::Api(status.boxed()));
        assert_eq!(found(read, "hook").is_ok(), absent);
    }

    #[test]
    fn an_object_is_absent_only_if_the_status_names_it() {
        let details = json!({"name": "hook", "group": "crew.example.com", "kind": "captains"});
        let full = json!({"code": 404, "reason": "NotFound", "details": details});
        check(full.clone(), true);
        let without = |field: &str, value: Value| {
            let mut status = full.clone();
            status[field] = value;
            status
        };
        check(without("details", json!({"name": "smee"})), false);
        check(without("details", Value::Null), false);
        check(
            without("reason", json!("Failed to parse error data")),
            false,
        );
        check(without("code", json!(403)), false);
    }
}
