//! The object that an apply is for. A child is applied on condition that it is still the same, or still missing.

use std::fmt::Debug;

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Resource, api::Patch};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    cache::{object::Object, stripped::Stripped},
    key::Key,
    writes::core::Core,
    writes::{child::ensure_child, gone::found},
};

/// A resource version that no object has: with it, an apply creates an object and changes none. The API server compares
/// the versions of existing objects as numbers of 64 bits, which count up from 1.
const NONE: &str = "9223372036854775807";

/// The end of an error about an object that is not a child of the one being reconciled.
const NOT_CHANGED: &str = "it was not changed\nhelp: delete it, or give the child another name";

/// What an object is applied to.
pub(crate) enum Target<'a, K> {
    /// Whatever has its name, near the object being reconciled.
    Any(&'a K),
    /// The child of an owner with this uid; without a uid, none exists as far as is known.
    Child(&'a K, Option<String>),
}

impl<'a, K: Object> Target<'a, K> {
    /// The child of this kind under `key` with this metadata, if there is any.
    ///
    /// # Errors
    /// If it is not a child of `owner`.
    pub(crate) fn child(
        owner: &'a K,
        kind: &str,
        key: &Key,
        there: Option<&ObjectMeta>,
    ) -> anyhow::Result<Self> {
        if let Some(there) = there {
            ensure_child(owner, kind, there, key, NOT_CHANGED)?;
        }
        Ok(Self::Child(
            owner,
            there.and_then(|there| there.uid.clone()),
        ))
    }

    /// The child under `key`, as the API server has it.
    ///
    /// # Errors
    /// If it is not a child of `owner`, or cannot be read.
    pub(crate) async fn read<C>(
        owner: &'a K,
        kind: &str,
        key: &Key,
        api: &Api<Stripped<C>>,
    ) -> anyhow::Result<Self>
    where
        C: Resource + Clone + Debug + DeserializeOwned,
    {
        let there = there(api, kind, key).await?;
        Self::child(owner, kind, key, there.as_ref())
    }

    /// The key of the object that is reconciled.
    pub(crate) fn reconciled(&self) -> Key {
        let (Self::Any(near) | Self::Child(near, _)) = self;
        Key::of(*near)
    }

    /// Notices that the child does not exist any more.
    pub(crate) fn forget(&mut self) {
        if let Self::Child(_, uid) = self {
            *uid = None;
        }
    }

    /// Whether the object may exist, as far as that is known, and the uid that it then has, if that is known.
    fn existing(&self) -> (bool, Option<&str>) {
        match self {
            Self::Any(_) => (true, None),
            Self::Child(_, uid) => (uid.is_some(), uid.as_deref()),
        }
    }

    /// Applies `body`. If a child turns out to be another one or missing, it is looked at, and applied if it may be.
    pub(crate) async fn apply<C>(
        self,
        core: &Core<K>,
        api: &Api<Stripped<C>>,
        kind: &str,
        key: &Key,
        body: &mut Value,
    ) -> anyhow::Result<C>
    where
        C: Resource + Clone + Debug + DeserializeOwned,
    {
        let cannot = || format!("cannot apply {kind} `{key}`");
        let (owner, uid, error) = match (self.send(core, api, key, body).await, self) {
            (Err(error), Self::Child(owner, uid)) if is_another(&error) => (owner, uid, error),
            (result, _) => return result.with_context(cannot),
        };
        let now = Self::read(owner, kind, key, api).await?;
        if matches!(&now, Self::Child(_, now) if *now == uid) {
            return Err(error).with_context(cannot);
        }
        now.send(core, api, key, body).await.with_context(cannot)
    }

    /// Sends a server-side apply, as the field manager of the controller and by force. `body` has the condition meanwhile.
    async fn send<C>(
        &self,
        core: &Core<K>,
        api: &Api<Stripped<C>>,
        key: &Key,
        body: &mut Value,
    ) -> kube::Result<C>
    where
        C: Resource + Clone + Debug + DeserializeOwned,
    {
        let params = core.patch_params();
        let (may_exist, uid) = self.existing();
        if may_exist {
            let earlier = &core.predecessors;
            earlier.take_over(api, key, uid, body, &params).await?;
        }
        let condition = match self {
            Self::Any(_) => None,
            Self::Child(_, Some(uid)) => Some(("uid", uid.as_str())),
            Self::Child(_, None) => Some(("resourceVersion", NONE)),
        };
        if let Some((field, value)) = condition {
            body["metadata"][field] = value.into();
        }
        let params = params.force();
        let applied = api.patch(key.name(), &params, &Patch::Apply(&*body)).await;
        if let (Some((field, _)), Some(meta)) = (condition, body["metadata"].as_object_mut()) {
            meta.remove(field);
        }
        applied.map(|Stripped(object)| object)
    }
}

/// Whether an apply may have failed because the object has another uid, or exists.
fn is_another(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 409 || causes.any(|cause| cause.field == "metadata.uid")
}

/// Asks the API server for the metadata of an object of this kind that no cache knows.
pub(crate) async fn there<C: Resource + Clone + Debug + DeserializeOwned>(
    api: &Api<Stripped<C>>,
    kind: &str,
    key: &Key,
) -> anyhow::Result<Option<ObjectMeta>> {
    let there = found(api.get_metadata(key.name()).await, key.name());
    let there = there.with_context(|| format!("cannot look whether {kind} `{key}` is there"))?;
    Ok(there.map(|there| there.metadata))
}
