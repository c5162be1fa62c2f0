//! The status that a reconcile wants, until the manager writes it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    cache::object::Object,
    writes::condition::{self, Accessor, FAILED, PAUSED, PAUSED_BY, READY},
};

/// The status that a reconcile wanted when it ended.
pub(crate) struct Wanted<K> {
    /// The object with that status.
    pub(crate) object: K,
    /// Whether more of the object than its status may have been changed.
    pub(crate) whole: bool,
}

/// The status that a reconcile wants for its object.
pub(crate) struct Draft<K> {
    /// The object with the wanted status; `None` if nothing has been changed.
    wanted: Option<K>,
    /// Whether a function that may change the whole object has been called.
    whole: bool,
    /// Stored conditions whose status has been changed since.
    replaced: Vec<Condition>,
    /// Whether the reconcile itself has set `Ready`.
    sets_ready: bool,
    /// Whether a clean-up will run again.
    pub(crate) goes_on: bool,
    /// A mistake in a call; it makes the reconcile fail.
    pub(crate) misuse: Option<String>,
}

impl<K: Object> Draft<K> {
    pub(crate) fn new() -> Self {
        Self {
            wanted: None,
            whole: false,
            replaced: Vec::new(),
            sets_ready: false,
            goes_on: false,
            misuse: None,
        }
    }

    /// The object with the wanted status, initially a copy of `object`.
    fn wanted(&mut self, object: &K) -> &mut K {
        self.wanted.get_or_insert_with(|| object.clone())
    }

    /// Lends the object with the wanted status to the author's code, which runs without the lock of the draft, and may
    /// change the `whole` object or only its status.
    pub(crate) fn lend(&mut self, object: &K, whole: bool) -> K {
        self.whole |= whole;
        self.wanted.take().unwrap_or_else(|| object.clone())
    }

    /// Takes a lent object back. A status that was changed meanwhile would be lost, so it is a mistake.
    pub(crate) fn take_back(&mut self, wanted: K) {
        if self.wanted.replace(wanted).is_some() {
            self.misuse.get_or_insert_with(|| {
                "a function of `cx.status` or `cx.update_status` sets the status by another method of `cx`\n\
                 help: call that method afterwards"
                    .to_owned()
            });
        }
    }

    /// Sets a condition, and the observed generation.
    pub(crate) fn set(&mut self, object: &K, accessor: &Accessor<K>, new: Condition) {
        self.sets_ready |= new.type_ == READY;
        let generation = object.meta().generation;
        let wanted = self.wanted.get_or_insert_with(|| object.clone());
        let (mut new, replaced) = (Some(new), &mut self.replaced);
        accessor.change(wanted, &mut |conditions, observed| {
            if let Some(new) = new.take() {
                condition::set(conditions, replaced, new);
            }
            *observed = generation;
        });
    }

    /// Sets the condition of a paused object. Its generation is not observed.
    pub(crate) fn pause(&mut self, object: &K, accessor: &Accessor<K>, new: Condition) {
        let wanted = self.wanted.get_or_insert_with(|| object.clone());
        let (mut new, replaced) = (Some(new), &mut self.replaced);
        accessor.change(wanted, &mut |conditions, _| {
            if let Some(new) = new.take() {
                condition::set(conditions, replaced, new);
            }
        });
    }

    /// Removes the condition of a paused object, unless it is the author's own.
    pub(crate) fn resume(&mut self, object: &K, accessor: &Accessor<K>) {
        let (mut wanted, mut was_paused) = (object.clone(), false);
        accessor.change(&mut wanted, &mut |conditions, _| {
            let before = conditions.len();
            conditions.retain(|one| one.type_ != PAUSED || one.reason != PAUSED_BY);
            was_paused = conditions.len() < before;
        });
        if was_paused {
            self.wanted = Some(wanted);
        }
    }

    /// Sets `Ready` to `False` because the reconcile failed, with this reason. A `False` that it has set itself keeps
    /// its reason and its message, which the error follows.
    pub(crate) fn fail(&mut self, object: &K, accessor: &Accessor<K>, reason: &str, error: &str) {
        let (mut reason, mut message) = (reason.to_owned(), error.to_owned());
        if self.sets_ready {
            accessor.change(self.wanted(object), &mut |conditions, _| {
                let unready = |one: &&Condition| one.type_ == READY && one.status == "False";
                if let Some(own) = conditions.iter().find(unready) {
                    reason.clone_from(&own.reason);
                    message = joined(&own.message, error);
                }
            });
        }
        let generation = object.meta().generation;
        let new = condition::new(READY, false.into(), &reason, &message, generation);
        self.set(object, accessor, new);
    }

    /// Whether `object` is ready, and the reconcile has not said otherwise.
    pub(crate) fn keeps_ready(&self, object: &K, accessor: &Accessor<K>) -> bool {
        let is_ready = |object: &K| {
            let (mut object, mut ready) = (object.clone(), false);
            accessor.change(&mut object, &mut |conditions, _| {
                ready = condition::is_ready(conditions);
            });
            ready
        };
        is_ready(object) && self.wanted.as_ref().is_none_or(is_ready)
    }

    /// Removes the `Ready` that an earlier failure has set, and the generation that it observed, unless the reconcile
    /// has set its own, or is a clean-up that goes on.
    pub(crate) fn withdraw_failure(&mut self, object: &K, accessor: &Accessor<K>) {
        if self.sets_ready {
            return;
        }
        let generation = object.meta().generation;
        let (unchanged, mut outdated) = (self.wanted.is_none(), false);
        let goes_on = self.goes_on;
        accessor.change(self.wanted(object), &mut |conditions, observed| {
            let failed = |one: &Condition| one.type_ == READY && one.reason == FAILED;
            // A client that waits for the observed generation would wait forever if only failures reported it.
            let late = observed.is_some() && *observed != generation;
            let withdrawn = !goes_on && conditions.iter().any(failed);
            outdated = late || withdrawn;
            if outdated {
                conditions.retain(|one| goes_on || !failed(one));
                *observed = generation;
            }
        });
        if unchanged && !outdated {
            self.wanted = None;
        }
    }

    /// Drops the wanted status.
    pub(crate) fn discard(&mut self) {
        self.wanted = None;
        self.sets_ready = false;
    }

    /// Takes the wanted status; `None` if nothing was changed.
    pub(crate) fn take(&mut self) -> Option<Wanted<K>> {
        let (object, whole) = (self.wanted.take()?, self.whole);
        Some(Wanted { object, whole })
    }
}

/// The message of a condition, and an error that it may contain already.
fn joined(message: &str, error: &str) -> String {
    if message.is_empty() || error.contains(message) {
        return error.to_owned();
    }
    if message.contains(error) {
        return message.to_owned();
    }
    format!("{message}: {error}")
}
