//! Makes an object a child: sets its namespace and owner reference, and checks that no other object owns it.

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde::Serialize;

use crate::{
    cache::object::{Object, namespaced},
    key::Key,
    writes::{error::WriteError, kind::KindData, serialized::Serialized},
};

/// The key of a child of `owner`, whose name may yet have to be generated, and the child to send.
pub(crate) fn prepare<K: Object, C: Resource + Serialize>(
    owner: &K,
    kind: &KindData,
    child: &C,
) -> anyhow::Result<(Key, Serialized)> {
    let (key, meta) = place(owner, kind, child.meta())?;
    let serialized = prepare_at(owner, kind, child, (&key, &meta), None)?;
    Ok((key, serialized))
}

/// The child to send that has this key and this metadata with its namespace. `there` is the metadata of the existing child, as
/// far as that is known.
pub(crate) fn prepare_at<K: Object, C: Resource + Serialize>(
    owner: &K,
    kind: &KindData,
    child: &C,
    (key, meta): (&Key, &ObjectMeta),
    there: Option<&ObjectMeta>,
) -> anyhow::Result<Serialized> {
    let mut meta = meta.clone();
    own(owner, &mut meta, there, &format!("{} `{key}`", kind.name()))?;
    Ok(Serialized::new(kind, child, meta)?)
}

/// The key of an object that gets no owner, and the object to send. Without a namespace, it gets that of `near`.
pub(crate) fn prepare_unowned<K: Object, C: Resource + Serialize>(
    near: &K,
    kind: &KindData,
    object: &C,
) -> anyhow::Result<(Key, Serialized)> {
    let (key, meta) = place(near, kind, object.meta())?;
    Ok((key, Serialized::new(kind, object, meta)?))
}

/// The key of an object, and its metadata with a namespace, by default that of `near`.
pub(crate) fn place<K: Object>(
    near: &K,
    kind: &KindData,
    meta: &ObjectMeta,
) -> anyhow::Result<(Key, ObjectMeta)> {
    let mut meta = meta.clone();
    let names = [&meta.name, &meta.generate_name];
    let name = names.into_iter().flatten().find(|name| !name.is_empty());
    let name = name.cloned().unwrap_or_default();
    if kind.namespaced && meta.namespace.is_none() {
        meta.namespace.clone_from(&near.meta().namespace);
        anyhow::ensure!(
            meta.namespace.is_some(),
            "{} `{name}` needs a namespace: `{}` has none to give\n\
             help: set `metadata.namespace`",
            kind.name(),
            Key::of(near),
        );
    }
    Ok((Key::new(meta.namespace.as_deref(), &name), meta))
}

/// Makes `owner` the controller owner of the child with this metadata.
///
/// An apply replaces a reference as a whole. So that the child goes on to delay the foreground deletion of its owner, as
/// references that controller-runtime has set do, the reference keeps `blockOwnerDeletion` as it is `there`.
fn own<K: Object>(
    owner: &K,
    child: &mut ObjectMeta,
    there: Option<&ObjectMeta>,
    what: &str,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        !namespaced::<K>() || child.namespace == owner.meta().namespace,
        "{} `{}` cannot own {what}: an owner with a namespace owns only what is in it\n\
         help: write it with `cx.apply_unowned`, and delete it in a finalizer",
        K::kind(&()),
        Key::of(owner),
    );
    let reference = owner.controller_owner_ref(&());
    let mut reference =
        reference.with_context(|| format!("an owner without name or uid cannot own {what}"))?;
    let mut theirs = there
        .iter()
        .flat_map(|there| there.owner_references.iter().flatten());
    let same = theirs.find(|it| it.uid == reference.uid);
    reference.block_owner_deletion = same.and_then(|it| it.block_owner_deletion);
    let owners = child.owner_references.get_or_insert_default();
    if !owners.iter().any(|owner| owner.uid == reference.uid) {
        owners.push(reference);
    }
    Ok(())
}

/// Fails if the existing object of this kind under `key` is not a child of `owner`. `hint` is the end of the error: what
/// was not done, and what to do.
pub(crate) fn ensure_child<K: Object>(
    owner: &K,
    kind: &str,
    there: &ObjectMeta,
    key: &Key,
    hint: &'static str,
) -> anyhow::Result<()> {
    let owners = there.owner_references.as_deref().unwrap_or_default();
    let uid = owner.meta().uid.as_ref();
    if owners.iter().any(|reference| Some(&reference.uid) == uid) {
        return Ok(());
    }
    let controller = owners.iter().find(|other| other.controller == Some(true));
    let (kind, key) = (kind.to_owned(), key.clone());
    let error = match controller.or(owners.first()).cloned() {
        Some(other) if has_name_of(owner, &other) => WriteError::ChildOfEarlier {
            kind,
            key,
            owner: other,
            done: hint.lines().next().unwrap_or_default(),
        },
        owner => WriteError::NotChild {
            kind,
            key,
            owner,
            hint,
        },
    };
    Err(error.into())
}

/// Whether a reference has the kind, in any version, and the name of `owner`.
fn has_name_of<K: Object>(owner: &K, reference: &OwnerReference) -> bool {
    let group = reference.api_version.rsplit_once('/');
    let group = group.map_or("", |(group, _)| group);
    reference.kind == K::kind(&())
        && group == K::group(&())
        && Some(&reference.name) == owner.meta().name.as_ref()
}

/// An index on the uid of the controller owner.
pub(crate) fn controller_uid<C: kube::Resource>(child: &C) -> Vec<String> {
    let owners = child.meta().owner_references.iter().flatten();
    let controller = owners.filter(|owner| owner.controller == Some(true));
    controller.map(|owner| owner.uid.clone()).collect()
}
