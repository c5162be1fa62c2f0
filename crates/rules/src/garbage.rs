//! What the garbage collector of a cluster does with an object whose owners, or whose dependents, are going.
//!
//! Source: `attemptToDeleteItem`, `isDangling`, `processDeletingDependentsItem` and `attemptToOrphanWorker` in
//! `k8s.io/kubernetes/pkg/controller/garbagecollector`, without the search for circles of owners.

use serde_json::Value;

/// The finalizer of an object that waits until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer of an object whose dependents stay behind without it.
pub const ORPHAN: &str = "orphan";

/// What a reference to an owner is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It exists.
    Solid,
    /// It waits until its dependents are gone.
    Waiting,
    /// It leaves its dependents behind.
    Orphaning,
    /// It does not exist, or not in the namespace of its dependent.
    Absent,
    /// Whether it exists is not known, so its dependent stays.
    Unknown,
}

impl Owner {
    /// The owner of `dependent` with this metadata, if an object has the uid of the reference.
    #[must_use]
    pub fn of(owner: Option<&Value>, dependent: &Value) -> Self {
        let Some(owner) = owner else {
            return Self::Absent;
        };
        match (owner["namespace"].as_str(), dependent["namespace"].as_str()) {
            (Some(_), None) => Self::Unknown,
            (Some(owners), Some(own)) if owners != own => Self::Absent,
            _ if is_deleting(owner) && has_finalizer(owner, FOREGROUND) => Self::Waiting,
            _ if is_deleting(owner) && has_finalizer(owner, ORPHAN) => Self::Orphaning,
            _ => Self::Solid,
        }
    }
}

/// What becomes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays as it is.
    Keep,
    /// It is deleted with this propagation policy.
    Delete(&'static str),
    /// It loses its references to the owners with these uids.
    Disown(Vec<Value>),
    /// It loses this finalizer, because nothing is left to wait for.
    Release(&'static str),
}

/// The verdict about the object with this metadata. `owner` judges its references, and `dependents` is the metadata of the objects that
/// refer to it.
pub fn verdict(
    meta: &Value,
    mut owner: impl FnMut(&Value) -> Owner,
    dependents: &[&Value],
) -> Verdict {
    if is_deleting(meta) {
        let blocks = |reference: &Value| {
            reference["uid"] == meta["uid"] && reference["blockOwnerDeletion"] == true
        };
        let mut references = dependents.iter().flat_map(|meta| references(meta));
        return match () {
            () if has_finalizer(meta, ORPHAN) && dependents.is_empty() => Verdict::Release(ORPHAN),
            () if has_finalizer(meta, FOREGROUND) && !references.any(blocks) => {
                Verdict::Release(FOREGROUND)
            }
            () => Verdict::Keep,
        };
    }
    let owners: Vec<_> = references(meta).map(|it| (&it["uid"], owner(it))).collect();
    let is = |wanted: Owner| owners.iter().any(|(_, owner)| *owner == wanted);
    if owners.is_empty() || is(Owner::Unknown) {
        return Verdict::Keep;
    }
    if is(Owner::Solid) || is(Owner::Orphaning) {
        let lost = owners.iter().filter(|(_, owner)| *owner != Owner::Solid);
        let lost: Vec<_> = lost.map(|(uid, _)| (*uid).clone()).collect();
        return if lost.is_empty() {
            Verdict::Keep
        } else {
            Verdict::Disown(lost)
        };
    }
    let has_dependents = is(Owner::Waiting) && !dependents.is_empty();
    Verdict::Delete(match () {
        () if has_dependents => "Foreground",
        () if has_finalizer(meta, ORPHAN) => "Orphan",
        () if has_finalizer(meta, FOREGROUND) => "Foreground",
        () => "Background",
    })
}

/// The owner references in this metadata.
pub fn references(meta: &Value) -> impl Iterator<Item = &Value> {
    meta["ownerReferences"].as_array().into_iter().flatten()
}

fn is_deleting(meta: &Value) -> bool {
    meta["deletionTimestamp"].is_string()
}

fn has_finalizer(meta: &Value, name: &str) -> bool {
    let finalizers = meta["finalizers"].as_array();
    finalizers.is_some_and(|all| all.iter().any(|one| one == name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The verdict about an object with these owners, each named after its state, and this number of dependents.
    fn of(owners: &[Owner], dependents: usize) -> Verdict {
        let references: Vec<_> = (0..owners.len()).map(|at| json!({ "uid": at })).collect();
        let meta = json!({ "uid": "own", "ownerReferences": references });
        let owner = |it: &Value| owners[usize::try_from(it["uid"].as_u64().unwrap()).unwrap()];
        let dependent = json!({});
        verdict(&meta, owner, &vec![&dependent; dependents])
    }

    fn lost(uids: &[u64]) -> Verdict {
        Verdict::Disown(uids.iter().map(|uid| json!(uid)).collect())
    }

    #[test]
    fn an_object_is_deleted_once_its_last_owner_is_gone() {
        use Owner::{Absent, Orphaning, Solid, Unknown, Waiting};
        let background = Verdict::Delete("Background");
        for (owners, dependents, expected) in [
            (&[][..], 0, Verdict::Keep),
            (&[Solid], 0, Verdict::Keep),
            (&[Absent], 0, background.clone()),
            (&[Absent, Absent], 1, background.clone()),
            (&[Solid, Absent, Waiting], 0, lost(&[1, 2])),
            (&[Absent, Unknown], 0, Verdict::Keep),
            (&[Waiting], 0, background.clone()),
            (&[Waiting, Absent], 1, Verdict::Delete("Foreground")),
            (&[Orphaning], 0, lost(&[0])),
            (&[Orphaning, Absent], 0, lost(&[0, 1])),
        ] {
            assert_eq!(of(owners, dependents), expected, "{owners:?}");
        }
        // A policy that it was given before is honoured.
        for (finalizer, policy) in [(FOREGROUND, "Foreground"), (ORPHAN, "Orphan")] {
            let meta = json!({ "finalizers": [finalizer], "ownerReferences": [{ "uid": "a" }] });
            assert_eq!(verdict(&meta, |_| Absent, &[]), Verdict::Delete(policy));
        }
    }

    #[test]
    fn an_object_that_is_deleted_waits_for_its_dependents() {
        let deleting = |finalizers: &[&str]| json!({ "uid": "own", "deletionTimestamp": "now", "finalizers": finalizers, "ownerReferences": [{ "uid": "gone" }] });
        let of = |meta: &Value, dependents: &[&Value]| verdict(meta, |_| Owner::Absent, dependents);
        let foreground = deleting(&[FOREGROUND, "crew.example.com/f"]);
        let child = |blocks: bool| json!({ "ownerReferences": [{ "uid": "own", "blockOwnerDeletion": blocks }] });
        assert_eq!(of(&foreground, &[&child(true)]), Verdict::Keep);
        assert_eq!(
            of(&foreground, &[&child(false)]),
            Verdict::Release(FOREGROUND)
        );
        assert_eq!(of(&deleting(&[ORPHAN]), &[&child(false)]), Verdict::Keep);
        assert_eq!(of(&deleting(&[ORPHAN]), &[]), Verdict::Release(ORPHAN));
        assert_eq!(of(&deleting(&["crew.example.com/f"]), &[]), Verdict::Keep);
    }

    #[test]
    fn an_owner_in_another_namespace_does_not_exist() {
        let of = |owner: Value, dependent: Value| Owner::of(Some(&owner), &dependent);
        let inside = |namespace: &str| json!({ "namespace": namespace });
        assert_eq!(of(inside("a"), inside("a")), Owner::Solid);
        assert_eq!(of(inside("a"), inside("b")), Owner::Absent);
        assert_eq!(of(json!({}), inside("b")), Owner::Solid);
        // The garbage collector leaves such an object alone.
        assert_eq!(of(inside("a"), json!({})), Owner::Unknown);
        assert_eq!(Owner::of(None, &json!({})), Owner::Absent);
        let deleting =
            |finalizer: &str| json!({ "deletionTimestamp": "now", "finalizers": [finalizer] });
        assert_eq!(of(deleting(FOREGROUND), json!({})), Owner::Waiting);
        assert_eq!(of(deleting(ORPHAN), json!({})), Owner::Orphaning);
        assert_eq!(of(deleting("x"), json!({})), Owner::Solid);
    }
}
