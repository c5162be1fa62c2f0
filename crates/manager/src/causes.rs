//! Why a key is in the queue.

use std::{fmt, sync::Arc};

use crate::{
    cache::{object::Cached, store::Change},
    key::Key,
};

/// Of how many objects and triggers the names are kept; further ones are counted.
const NAMED: usize = 8;

/// A kind of cause: the label `cause` of the metric `manager_reconcile_causes_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CauseKind {
    /// The object was found when its cache was filled, or this process became the leader.
    Start,
    /// The object itself changed.
    Own,
    /// An object that it owns changed.
    Child,
    /// An object that was mapped to it changed.
    Watched,
    /// A kind that may be missing was installed or removed.
    Installed,
    /// Its last reconcile asked for it.
    Requeue,
    /// Its last reconcile failed.
    Backoff,
    /// The period of a resync has passed.
    Resync,
    /// A trigger of the author's.
    Trigger,
    /// A user asked for it.
    Poke,
}

impl CauseKind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Start,
        Self::Own,
        Self::Child,
        Self::Watched,
        Self::Installed,
        Self::Requeue,
        Self::Backoff,
        Self::Resync,
        Self::Trigger,
        Self::Poke,
    ];

    /// Its label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Own => "own",
            Self::Child => "child",
            Self::Watched => "watched",
            Self::Installed => "installed",
            Self::Requeue => "requeue",
            Self::Backoff => "backoff",
            Self::Resync => "resync",
            Self::Trigger => "trigger",
            Self::Poke => "poke",
        }
    }

    /// Its text, if nothing more is known.
    fn text(self) -> &'static str {
        match self {
            Self::Own => "own change",
            Self::Child => "a child",
            Self::Watched => "a watched object",
            Self::Installed => "a kind was installed or removed",
            Self::Backoff => "back-off",
            Self::Start | Self::Requeue | Self::Resync | Self::Trigger | Self::Poke => {
                self.as_str()
            }
        }
    }
}

/// A set of kinds, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CauseKinds(u16);

impl CauseKinds {
    pub(crate) fn has(self, kind: CauseKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl From<CauseKind> for CauseKinds {
    fn from(kind: CauseKind) -> Self {
        Self(1 << kind as u8)
    }
}

/// Why an object is reconciled: see [`Context::causes`](crate::Context::causes).
///
/// As text, it is for people: `own spec (generation 4 → 5); Deployment nemo: status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    kinds: CauseKinds,
    /// Shared, because one event may enqueue many keys.
    details: Option<Arc<Details>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Details {
    /// At most [`NAMED`].
    named: Vec<Detail>,
    /// How many more there were.
    more: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Detail {
    Own(Changed),
    Child(Arc<str>, Key, Changed),
    Watched(Arc<str>, Key, Changed),
    Trigger(Arc<str>),
    /// So many failures in a row.
    Backoff(u32),
}

impl Causes {
    /// The kinds of these causes, as in the metric `manager_reconcile_causes_total`: `start`, `own`, `child`, `watched`,
    /// `installed`, `requeue`, `backoff`, `resync`, `trigger` and `poke`.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> + use<> {
        let kinds = self.kinds;
        let kinds = CauseKind::ALL
            .into_iter()
            .filter(move |kind| kinds.has(*kind));
        kinds.map(CauseKind::as_str)
    }

    pub(crate) fn own(changed: Changed) -> Self {
        Self::detailed(CauseKind::Own, Detail::Own(changed))
    }

    /// A change of a child of this kind.
    pub(crate) fn child(kind: &Arc<str>, key: &Key, changed: Changed) -> Self {
        let detail = Detail::Child(kind.clone(), key.clone(), changed);
        Self::detailed(CauseKind::Child, detail)
    }

    /// A change of an object of this kind that was mapped.
    pub(crate) fn watched(kind: &Arc<str>, key: &Key, changed: Changed) -> Self {
        let detail = Detail::Watched(kind.clone(), key.clone(), changed);
        Self::detailed(CauseKind::Watched, detail)
    }

    pub(crate) fn trigger(name: Option<&Arc<str>>) -> Self {
        match name {
            Some(name) => Self::detailed(CauseKind::Trigger, Detail::Trigger(name.clone())),
            None => CauseKind::Trigger.into(),
        }
    }

    pub(crate) fn backoff(failures: u32) -> Self {
        Self::detailed(CauseKind::Backoff, Detail::Backoff(failures))
    }

    fn detailed(kind: CauseKind, detail: Detail) -> Self {
        let named = vec![detail];
        Self {
            kinds: kind.into(),
            details: Some(Arc::new(Details { named, more: 0 })),
        }
    }

    pub(crate) fn has(&self, kind: CauseKind) -> bool {
        self.kinds.has(kind)
    }

    pub(crate) fn count(&self, mut each: impl FnMut(CauseKind)) {
        let kinds = CauseKind::ALL.into_iter();
        kinds.filter(|kind| self.has(*kind)).for_each(&mut each);
    }

    /// Only the kinds of these causes.
    pub(crate) fn without_details(&self) -> Self {
        self.kinds.into()
    }

    /// Adds other causes.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.kinds = self.kinds.and(other.kinds);
        let Some(others) = &other.details else {
            return;
        };
        let Some(details) = &mut self.details else {
            self.details = Some(others.clone());
            return;
        };
        if Arc::ptr_eq(details, others) {
            return;
        }
        let details = Arc::make_mut(details);
        for other in &others.named {
            if details.named.iter_mut().any(|known| known.absorbs(other)) {
                continue;
            }
            if details.named.len() < NAMED {
                details.named.push(other.clone());
            } else {
                details.more = details.more.saturating_add(1);
            }
        }
        details.more = details.more.saturating_add(others.more);
    }
}

impl From<CauseKinds> for Causes {
    fn from(kinds: CauseKinds) -> Self {
        Self {
            kinds,
            details: None,
        }
    }
}

impl From<CauseKind> for Causes {
    fn from(kind: CauseKind) -> Self {
        CauseKinds::from(kind).into()
    }
}

impl Detail {
    fn kind(&self) -> CauseKind {
        match self {
            Self::Own(_) => CauseKind::Own,
            Self::Child(..) => CauseKind::Child,
            Self::Watched(..) => CauseKind::Watched,
            Self::Trigger(_) => CauseKind::Trigger,
            Self::Backoff(_) => CauseKind::Backoff,
        }
    }

    /// Whether this says the same, or was extended by a later change of the same object.
    fn absorbs(&mut self, later: &Self) -> bool {
        match (self, later) {
            (Self::Own(changed), Self::Own(later)) => {
                changed.extend(*later);
                true
            }
            (Self::Child(kind, key, changed), Self::Child(other, at, later))
            | (Self::Watched(kind, key, changed), Self::Watched(other, at, later))
                if kind == other && key == at =>
            {
                changed.extend(*later);
                true
            }
            (known, later) => known == later,
        }
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.details.iter().flat_map(|details| &details.named);
        let mut separator = "";
        for kind in CauseKind::ALL {
            if !self.has(kind) {
                continue;
            }
            let mut is_named = false;
            for detail in named.clone().filter(|detail| detail.kind() == kind) {
                write!(f, "{separator}{detail}")?;
                (is_named, separator) = (true, "; ");
            }
            if !is_named {
                write!(f, "{separator}{}", kind.text())?;
                separator = "; ";
            }
        }
        match self.details.as_ref().map_or(0, |details| details.more) {
            0 => Ok(()),
            more => write!(f, "{separator}{more} more"),
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(changed) if changed.is_event() => changed.fmt(f),
            Self::Own(changed) => write!(f, "own {changed}"),
            // A child is in the namespace of its owner.
            Self::Child(kind, key, changed) => write!(f, "{kind} {}: {changed}", key.name()),
            Self::Watched(kind, key, changed) => write!(f, "{kind} {key}: {changed}"),
            Self::Trigger(name) => write!(f, "trigger {name}"),
            Self::Backoff(1) => f.write_str("back-off after a failure"),
            Self::Backoff(failures) => write!(f, "back-off after {failures} failures"),
        }
    }
}

/// What of an object changed, as far as its metadata says: to compare whole objects would cost more than it is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The generation before and after.
    generation: Option<(i64, i64)>,
    parts: u16,
}

/// The parts, each a bit, and their texts.
const PARTS: [&str; 11] = [
    "created",
    "deleted",
    "replaced",
    "unreadable",
    "deletion requested",
    "labels",
    "annotations",
    "finalizers",
    "owners",
    "status",
    "content",
];
const CREATED: u16 = 1;
const DELETED: u16 = 1 << 1;
const REPLACED: u16 = 1 << 2;
const UNREADABLE: u16 = 1 << 3;
const DELETION: u16 = 1 << 4;
const LABELS: u16 = 1 << 5;
const ANNOTATIONS: u16 = 1 << 6;
const FINALIZERS: u16 = 1 << 7;
const OWNERS: u16 = 1 << 8;
const STATUS: u16 = 1 << 9;
const CONTENT: u16 = 1 << 10;
const EVENTS: u16 = CREATED | DELETED | REPLACED | UNREADABLE | DELETION;

impl Changed {
    pub(crate) fn of<K: Cached>(change: &Change<'_, K>) -> Self {
        let (old, new) = match (change.old, change.new) {
            (Some(old), Some(new)) => (old.meta(), new.meta()),
            (None, Some(_)) => return Self::part(CREATED),
            (_, None) if change.unreadable.is_some() => return Self::part(UNREADABLE),
            (_, None) => return Self::part(DELETED),
        };
        if old.uid != new.uid {
            return Self::part(REPLACED);
        }
        let mut changed = Self::default();
        let mut see = |differs: bool, part: u16| {
            if differs {
                changed.parts |= part;
            }
        };
        see(old.deletion_timestamp != new.deletion_timestamp, DELETION);
        see(old.labels != new.labels, LABELS);
        see(old.annotations != new.annotations, ANNOTATIONS);
        see(old.finalizers != new.finalizers, FINALIZERS);
        see(old.owner_references != new.owner_references, OWNERS);
        match (old.generation, new.generation) {
            // A deletion timestamp counts as a change of the spec.
            (Some(before), Some(after)) if before != after && changed.parts & DELETION == 0 => {
                changed.generation = Some((before, after));
            }
            (_, after) if changed.parts == 0 => {
                changed.parts = if after.is_some() { STATUS } else { CONTENT };
            }
            _ => {}
        }
        changed
    }

    fn part(parts: u16) -> Self {
        Self {
            generation: None,
            parts,
        }
    }

    /// Whether nothing but the status changed, as far as is known.
    pub(crate) fn is_status(self) -> bool {
        self == Self::part(STATUS)
    }

    /// Whether nothing but the annotations changed.
    pub(crate) fn is_annotations(self) -> bool {
        self == Self::part(ANNOTATIONS)
    }

    /// Whether the object is gone, or is to be deleted.
    pub(crate) fn is_deletion(self) -> bool {
        self.parts & (DELETED | DELETION) != 0
    }

    /// Whether the text says what happened to the object, and not what of it changed.
    fn is_event(self) -> bool {
        self.parts & EVENTS != 0
    }

    /// Adds a later change of the same object.
    fn extend(&mut self, later: Self) {
        self.parts |= later.parts;
        self.generation = match (self.generation, later.generation) {
            (Some((from, _)), Some((_, to))) => Some((from, to)),
            (one, other) => one.or(other),
        };
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some((from, to)) = self.generation {
            write!(f, "spec (generation {from} → {to})")?;
            separator = ", ";
        }
        for (bit, text) in PARTS.iter().enumerate() {
            if self.parts & (1 << bit) != 0 {
                write!(f, "{separator}{text}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::ConfigMap,
        apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
        jiff::Timestamp,
    };

    use super::*;

    fn object(change: impl FnOnce(&mut ObjectMeta)) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.generation = Some(4);
        change(&mut object.metadata);
        object
    }

    fn changed(old: Option<&ConfigMap>, new: Option<&ConfigMap>) -> Changed {
        let key = &"crew/nemo".into();
        Changed::of(&Change {
            key,
            old,
            new,
            unreadable: None,
            initial: false,
        })
    }

    fn to(change: impl FnOnce(&mut ObjectMeta)) -> Changed {
        changed(Some(&object(|_| {})), Some(&object(change)))
    }

    #[test]
    fn a_cause_names_what_of_the_object_changed() {
        let own = |changed| Causes::own(changed).to_string();
        let labels = || Some([("a".to_owned(), "b".to_owned())].into());
        let spec = to(|meta| meta.generation = Some(5));
        assert_eq!(own(spec), "own spec (generation 4 → 5)");
        let both = to(|meta| (meta.generation, meta.labels) = (Some(5), labels()));
        assert_eq!(own(both), "own spec (generation 4 → 5), labels");
        assert_eq!(
            own(to(|meta| meta.annotations = labels())),
            "own annotations"
        );
        assert_eq!(own(to(|_| {})), "own status");
        assert_eq!(own(changed(None, Some(&object(|_| {})))), "created");
        assert_eq!(own(changed(Some(&object(|_| {})), None)), "deleted");
        let deletion = to(|meta| {
            meta.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
            meta.generation = Some(5);
        });
        assert_eq!(own(deletion), "deletion requested");
        let map = object(|meta| meta.generation = None);
        assert_eq!(own(changed(Some(&map), Some(&map))), "own content");
    }

    #[test]
    fn causes_are_merged_by_object() {
        let mut causes = Causes::own(to(|meta| meta.generation = Some(5)));
        let later = changed(
            Some(&object(|meta| meta.generation = Some(5))),
            Some(&object(|meta| meta.generation = Some(6))),
        );
        causes.merge(&Causes::own(later));
        let kind = "Deployment".into();
        for _ in 0..2 {
            causes.merge(&Causes::child(&kind, &"crew/nemo".into(), to(|_| {})));
        }
        causes.merge(&Causes::trigger(Some(&"hourly".into())));
        causes.merge(&CauseKind::Requeue.into());
        causes.merge(&Causes::backoff(3));
        assert_eq!(
            causes.to_string(),
            "own spec (generation 4 → 6); Deployment nemo: status; requeue; back-off after 3 failures; \
             trigger hourly"
        );
        let kinds: Vec<_> = causes.kinds().collect();
        assert_eq!(kinds, ["own", "child", "requeue", "backoff", "trigger"]);
        let kinds = causes.without_details().to_string();
        assert_eq!(kinds, "own change; a child; requeue; back-off; trigger");
    }

    #[test]
    fn only_some_of_many_objects_are_named() {
        let mut causes = Causes::default();
        for number in 0..20 {
            let key = Key::from(&format!("harbor/{number}"));
            causes.merge(&Causes::watched(&"Ship".into(), &key, to(|_| {})));
        }
        let text = causes.to_string();
        assert!(
            text.starts_with("Ship harbor/0: status; Ship harbor/1"),
            "{text}"
        );
        assert!(text.ends_with("Ship harbor/7: status; 12 more"), "{text}");
    }
}
