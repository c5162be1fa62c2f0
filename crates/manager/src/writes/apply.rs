//! Applies an object, in general a child; sends nothing if it is up to date.

use std::{collections::BTreeSet, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, api::DynamicObject};
use serde_json::Value;

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    guard::{
        self,
        fields::{changed as changed_fields, within},
    },
    key::Key,
    writes::{
        child::{place, prepare_at, prepare_unowned},
        core::Core,
        gone::found,
        kind::KindData,
        known::{Known, caches_whole, ensure_selected},
        serialized::Serialized,
        target::{Target, there},
    },
};

/// Applies `child` as a child of `owner`, unless it is known to be up to date; see `Context::apply`.
pub(crate) async fn apply<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    child: &C,
) -> anyhow::Result<Arc<C>> {
    let kind = KindData::of::<C>();
    ensure_named(&kind, child.meta())?;
    let (key, meta) = place(owner, &kind, child.meta())?;
    let known = Known::<C>::of(core, &key);
    let mut serialized = prepare_at(owner, &kind, child, (&key, &meta), known.meta())?;
    ensure_selected(core, child, &key)?;
    let target = if known.is_certain() {
        Target::child(owner, kind.name(), &key, known.meta())?
    } else {
        let there = there(&api::<C>(core.client.clone(), &key), kind.name(), &key).await?;
        serialized = prepare_at(owner, &kind, child, (&key, &meta), there.as_ref())?;
        Target::child(owner, kind.name(), &key, there.as_ref())?
    };
    send(core, target, &key, &serialized, known).await
}

/// Applies `object` for `near`, which does not become its owner; see `Context::apply_unowned`.
pub(crate) async fn apply_unowned<K: Object, C: Object>(
    core: &Core<K>,
    near: &K,
    object: &C,
) -> anyhow::Result<Arc<C>> {
    let kind = KindData::of::<C>();
    ensure_named(&kind, object.meta())?;
    let (key, serialized) = prepare_unowned(near, &kind, object)?;
    let known = Known::<C>::of(core, &key);
    send(core, Target::Any(near), &key, &serialized, known).await
}

/// Applies `child` as a child of `owner`; see `Context::apply_object`.
pub(crate) async fn apply_object<K: Object>(
    core: &Core<K>,
    owner: &K,
    kind: &KindData,
    child: &DynamicObject,
) -> anyhow::Result<DynamicObject> {
    ensure_named(kind, &child.metadata)?;
    let (key, meta) = place(owner, kind, &child.metadata)?;
    // Before anything is read, it is known whether it can be a child.
    prepare_at(owner, kind, child, (&key, &meta), None)?;
    let api = kind.api(core.client.clone(), &key);
    let there = there(&api, kind.name(), &key).await?;
    let target = Target::child(owner, kind.name(), &key, there.as_ref())?;
    let mut body = prepare_at(owner, kind, child, (&key, &meta), there.as_ref())?.body()?;
    let written = target
        .apply(core, &api, kind.name(), &key, &mut body)
        .await?;
    watch(core, &Key::of(owner), kind.name(), &key, &body, &written);
    Ok(written)
}

/// Tells the storm guard that an object was applied of which nothing is known but that.
fn watch<K: Object>(
    core: &Core<K>,
    reconciled: &Key,
    kind: &str,
    key: &Key,
    body: &Value,
    written: &DynamicObject,
) {
    let write = guard::Write {
        kind: kind.to_owned().into(),
        key,
        is_status: false,
        from: None,
        to: version(written),
        sent: guard::hash((&written.metadata.uid, body)),
        body: Some(body),
    };
    let fields =
        |before: Option<&Value>| before.map_or_else(BTreeSet::new, |it| changed_fields(it, body));
    if let Some(found) = core.guard.wrote(reconciled, &write, fields) {
        core.looped(reconciled, &found);
    }
}

/// Applies `object` for `near`, which does not become its owner; see `Context::apply_object_unowned`.
pub(crate) async fn apply_object_unowned<K: Object>(
    core: &Core<K>,
    near: &K,
    kind: &KindData,
    object: &DynamicObject,
) -> anyhow::Result<DynamicObject> {
    ensure_named(kind, &object.metadata)?;
    let (key, serialized) = prepare_unowned(near, kind, object)?;
    let api = kind.api(core.client.clone(), &key);
    let (target, mut body) = (Target::Any(near), serialized.body()?);
    let written = target
        .apply(core, &api, kind.name(), &key, &mut body)
        .await?;
    watch(core, &Key::of(near), kind.name(), &key, &body, &written);
    Ok(written)
}

fn ensure_named(kind: &KindData, meta: &ObjectMeta) -> anyhow::Result<()> {
    let name = meta.name.as_deref().unwrap_or_default();
    anyhow::ensure!(
        !name.is_empty(),
        "a {} without a name cannot be applied\n\
         help: derive `metadata.name` from what it is for; `cx.create` generates a name",
        kind.name(),
    );
    Ok(())
}

/// Applies `object` to its target, unless the same was applied before and nothing has changed since.
async fn send<K: Object, C: Object>(
    core: &Core<K>,
    mut target: Target<'_, K>,
    key: &Key,
    object: &Serialized,
    known: Known<C>,
) -> anyhow::Result<Arc<C>> {
    let api = api::<C>(core.client.clone(), key);
    let reconciled = target.reconciled();
    let mut body = if let Some(body) = changed(core, key, object, &known)? {
        body
    } else {
        if let Some(object) = unchanged(core, &api, &reconciled, key, &known).await? {
            return Ok(object);
        }
        // It was deleted this instant: apply it again.
        core.applied.forget::<C>(key);
        target.forget();
        object.body()?
    };

    let kind = C::kind(&());
    core.look_for_writer(&reconciled, &KindData::of::<C>(), key)
        .await;
    let written = Arc::new(target.apply(core, &api, &kind, key, &mut body).await?);
    core.wrote(key, &written);
    let write = guard::Write {
        kind,
        key,
        is_status: false,
        from: known.version(),
        to: version(&*written),
        sent: guard::hash((&written.meta().uid, &body)),
        body: (!matches!(known, Known::Whole(_))).then_some(&body),
    };
    let fields = |before: Option<&Value>| applied_fields(&known, before, &body, &written);
    if let Some(found) = core.guard.wrote(&reconciled, &write, fields) {
        core.looped(&reconciled, &found);
    }
    if known.is_watched() {
        let version = version(&*written);
        core.applied.set::<C>(key, object.text(), &body, version);
        let triggers = known.version() != Some(version);
        if triggers && !caches_whole::<K, C>(core) {
            core.applied.keep(&reconciled, key, written.clone());
        }
    }
    Ok(written)
}

/// The fields of `body` that applying it has changed.
fn applied_fields<C: Object>(
    known: &Known<C>,
    before: Option<&Value>,
    body: &Value,
    written: &C,
) -> BTreeSet<String> {
    let json = |object: &C| within(&serde_json::to_value(object).unwrap_or_default(), body);
    match (known, before) {
        (Known::Whole(known), _) => changed_fields(&json(known), &json(written)),
        (_, Some(before)) => changed_fields(before, body),
        _ => BTreeSet::new(),
    }
}

/// What to send of `object`; `None` if the same was applied before and nothing has changed since.
fn changed<K: Object, C: Object>(
    core: &Core<K>,
    key: &Key,
    object: &Serialized,
    known: &Known<C>,
) -> serde_json::Result<Option<Value>> {
    let Some(version) = known.version() else {
        return object.body().map(Some);
    };
    if core.applied.has::<C>(key, object.text(), version) {
        return Ok(None);
    }
    let body = object.body()?;
    Ok((!core.applied.has::<C>(key, &body, version)).then_some(body))
}

/// The child that is up to date, as far as it is `known`; `None` if it does not exist any more.
async fn unchanged<K: Object, C: Object>(
    core: &Core<K>,
    api: &Api<Stripped<C>>,
    reconciled: &Key,
    key: &Key,
    known: &Known<C>,
) -> anyhow::Result<Option<Arc<C>>> {
    if let Known::Whole(object) = known {
        return Ok(Some(object.clone()));
    }
    let kept = known
        .version()
        .and_then(|version| core.applied.take(reconciled, key, version));
    if kept.is_some() {
        return Ok(kept);
    }
    let there = found(api.get(key.name()).await, key.name())?;
    Ok(there.map(|Stripped(object)| Arc::new(object)))
}
