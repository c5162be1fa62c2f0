//! The result of a plan, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::activity::Refused;
use super::compare::Changes;
use super::difference::Field;

/// What a release would do to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The number of objects that were compared.
    pub objects: usize,
    /// What the new release changes. Without a baseline, drift is part of it.
    pub changes: Changes,
    /// What the new release changes besides once workloads are rolled out, if they are.
    pub later: Changes,
    /// What today's release changes first; nothing without a baseline.
    pub drift: Changes,
    /// How today's release ran.
    pub baseline: Option<Run>,
    /// How the new release ran.
    pub next: Run,
    /// Objects that are not in the API server as they are in the cluster, and what was not read: a sentence each.
    pub not_seen: Vec<String>,
}

/// How a release ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The seconds until it was idle.
    pub seconds: u64,
    /// Why it did not become idle.
    pub failed: Option<Failed>,
    /// Objects of its installer that the API server refuses, in its own words.
    pub not_installed: Vec<String>,
    /// Stored objects that its CRDs no longer accept.
    pub invalid: Vec<String>,
    /// Writes that the API server refused.
    pub refused: Vec<Refused>,
    /// Requests that its roles do not allow.
    pub denied: Vec<String>,
    /// The names that it looked up, none of which the sandbox knows, and how often.
    pub looked_up: BTreeMap<String, u64>,
    /// Its last lines.
    pub log: String,
    /// The events that it published, the most frequent first.
    pub events: Vec<Published>,
}

/// Why a release did not become idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Failed {
    /// It does not run, and why: `exit status: 1`.
    Ended(String),
    /// It went on writing.
    NeverIdle(Vec<Unsettled>),
}

/// An object that was written again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unsettled {
    /// `configmaps/navy/nemo`.
    pub object: String,
    /// The number of changes.
    pub writes: u64,
    /// Between which values it goes.
    pub fields: Vec<Field>,
}

/// Equal events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// `Warning` or `Normal`.
    pub r#type: String,
    /// `FailedCreate`.
    pub reason: String,
    /// One of them: `Captain navy/nemo: cannot …`.
    pub example: String,
    /// How many.
    pub count: u64,
}

impl Report {
    /// Whether nothing would change, and nothing went wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_empty = |it: &Changes| it.objects.is_empty() && it.status.is_empty();
        is_empty(&self.changes) && is_empty(&self.later) && !self.is_bad()
    }

    /// Whether today's release is refused the same.
    #[must_use]
    pub fn is_refused_today(&self, refused: &Refused) -> bool {
        let today = self.baseline.as_ref();
        today.is_some_and(|it| it.refused.contains(refused))
    }

    /// Whether the release cannot be judged or does not work: it is refused something, or never idle.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        let bad = |run: &Run| {
            run.failed.is_some() || !run.not_installed.is_empty() || !run.invalid.is_empty()
        };
        let baseline = self.baseline.as_ref().is_some_and(|it| it.failed.is_some());
        let refused = &self.next.refused;
        baseline
            || bad(&self.next)
            || refused.iter().any(|it| !self.is_refused_today(it))
            || !self.next.denied.is_empty()
    }
}
