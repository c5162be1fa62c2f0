//! Why a simulation fails.

use std::{error::Error, fmt};

use super::scenario::Oracle;

/// Why a simulation fails: the first history that violates an oracle, or what keeps it from running at all.
///
/// ```
/// use kbr_testing::{Oracle, simulate};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// use manager::{Action, Context, Manager};
///
/// # let mut captain = ConfigMap::default();
/// # captain.metadata.name = Some("captain".to_owned());
/// fn register(manager: &mut Manager) {
///     let greeter = manager.controller::<ConfigMap>("greeter");
///     greeter.reconcile(async |_, _: Context<ConfigMap>| -> anyhow::Result<Action> {
///         anyhow::bail!("the mast is broken")
///     });
/// }
///
/// let failure = simulate(register).object(&captain).check().unwrap_err();
/// assert_eq!(failure.oracle, Some(Oracle::Errors));
/// assert_eq!((failure.plan.as_str(), failure.histories), ("", 1));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What is wrong, how it came about, and how to see it again.
    pub story: String,
    /// How many histories have run, the one that fails included.
    pub histories: usize,
    /// What does not hold. `None` if no history is to blame: there is nothing to simulate, a plan cannot be read, or the
    /// simulation or a step of its user panicked.
    pub oracle: Option<Oracle>,
    /// The faults of the history, for [`replay`](super::Simulation::replay); empty for the one without faults.
    pub plan: String,
    /// The history as a page of HTML, which needs nothing else; `None` as for `oracle`.
    pub timeline: Option<String>,
}

impl Failure {
    /// What is not the fault of a history.
    pub(super) fn unable(why: &dyn fmt::Display) -> Self {
        Self {
            // An error with all of its causes.
            story: format!("{why:#}"),
            histories: 0,
            oracle: None,
            plan: String::new(),
            timeline: None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.story)
    }
}

/// The story alone: `unwrap` prints it.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.story)
    }
}

impl Error for Failure {}
