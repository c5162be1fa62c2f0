//! Which namespaces hold the workers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{key::Key, queue::lane::namespace};

/// How long one namespace may hold all workers, without one of them beginning or ending, before a key of another
/// namespace gets one more worker.
const PATIENCE: Duration = Duration::from_millis(250);

/// The workers of a controller.
///
/// One namespace may hold all of them, so that one that works alone is as fast as it can be. If its reconciles hang, one
/// worker more takes the keys of others. To keep a worker free instead would cost every operator with one busy namespace
/// that worker, all the time.
#[derive(Debug)]
pub(super) struct Workers {
    most: usize,
    busy: usize,
    /// How many each namespace holds.
    held: HashMap<Arc<str>, usize>,
    /// When the last worker began or ended.
    changed: Option<Instant>,
}

/// Which keys a worker may take.
#[derive(Debug, PartialEq)]
pub(super) enum Admits<'a> {
    All,
    /// Those of other namespaces than this one, from this moment.
    Others(&'a str, Instant),
    None,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            most: usize::MAX,
            busy: 0,
            held: HashMap::new(),
            changed: None,
        }
    }
}

impl Workers {
    /// Sets how many there are.
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Notices that a worker has taken a key.
    pub(super) fn begin(&mut self, key: &Key, now: Instant) {
        self.busy += 1;
        *self.held.entry(namespace(key).into()).or_default() += 1;
        self.changed = Some(now);
    }

    /// Notices that a worker is done with a key.
    pub(super) fn end(&mut self, key: &Key, now: Instant) {
        let here = namespace(key);
        if let Some(held) = self.held.get_mut(here) {
            self.busy -= 1;
            *held -= 1;
            if *held == 0 {
                self.held.remove(here);
            }
            self.changed = Some(now);
        }
    }

    /// Which keys a worker may take next.
    pub(super) fn admit(&self) -> Admits<'_> {
        if self.busy < self.most {
            return Admits::All;
        }
        let mut namespaces = self.held.keys();
        match (namespaces.next(), namespaces.next(), self.changed) {
            // The only worker must stay the only one: the author may rely on that.
            (Some(namespace), None, Some(changed)) if self.most > 1 && self.busy == self.most => {
                Admits::Others(namespace, changed + PATIENCE)
            }
            _ => Admits::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_holds_all_workers_leaves_one_more_to_others() {
        let (mut workers, now) = (Workers::default(), Instant::now());
        workers.set_most(2);
        workers.begin(&"a/1".into(), now);
        assert_eq!(workers.admit(), Admits::All);
        let later = now + Duration::from_secs(1);
        workers.begin(&"a/2".into(), later);
        assert_eq!(workers.admit(), Admits::Others("a", later + PATIENCE));
        workers.begin(&"b/1".into(), later);
        assert_eq!(workers.admit(), Admits::None);
        workers.end(&"a/1".into(), later);
        assert_eq!(workers.admit(), Admits::None);
        workers.end(&"a/2".into(), later);
        assert_eq!(workers.admit(), Admits::All);
    }

    #[test]
    fn the_only_worker_stays_the_only_one() {
        let (mut workers, now) = (Workers::default(), Instant::now());
        workers.set_most(1);
        workers.begin(&"a/1".into(), now);
        assert_eq!(workers.admit(), Admits::None);
    }
}
