//! A service outside the cluster: what it holds survives the process of the operator, and faults happen at its calls.

use std::{
    cell::RefCell,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use serde_json::Value;

use super::{
    faults::{Failover, Refusal},
    network::Network,
    plan::What,
    replica::Replica,
    scenario::Service,
    state::State,
};

thread_local! {
    /// The history that runs on this thread.
    static HISTORY: RefCell<Option<Network>> = const { RefCell::new(None) };
}

/// Makes the calls on this thread those of a history, or of none.
pub(super) fn enter(history: Option<Network>) {
    HISTORY.replace(history);
}

/// A fake of a service outside the cluster, which holds a `T`. Clones are the same service.
///
/// In a [simulation](super::Simulation::external), each history begins with an empty service, and each call counts as a
/// write of the operator: its process may end before or after it, and the call may fail, done or not. Elsewhere, calls
/// succeed.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use kbr_testing::External;
///
/// /// A fake of the client that the operator uses.
/// struct FakeHarbor(External<BTreeMap<String, i32>>);
///
/// impl FakeHarbor {
///     async fn berth(&self, ship: &str) -> anyhow::Result<i32> {
///         let what = format!("assigns a berth to {ship}");
///         self.0.call(&what, |berths| {
///             let next = 1 + berths.values().max().copied().unwrap_or_default();
///             *berths.entry(ship.to_owned()).or_insert(next)
///         }).await
///     }
/// }
/// ```
pub struct External<T> {
    name: Arc<str>,
    held: Arc<Mutex<Held<T>>>,
}

struct Held<T> {
    state: T,
    calls: Vec<String>,
}

impl<T> Clone for External<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            held: self.held.clone(),
        }
    }
}

impl<T> fmt::Debug for External<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<T: Default + Serialize> External<T> {
    /// A service with this name, as stories call it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let held = Held {
            state: T::default(),
            calls: Vec::new(),
        };
        Self {
            name: name.into(),
            held: Arc::new(Mutex::new(held)),
        }
    }

    /// A call of the operator, which reads or changes what the service holds: `what` completes the sentence *the service …*.
    ///
    /// # Errors
    /// If a fault happens; what the service holds may have changed all the same.
    pub async fn call<R>(
        &self,
        what: &str,
        change: impl FnOnce(&mut T) -> R + Send,
    ) -> anyhow::Result<R> {
        let history = HISTORY.with_borrow(Clone::clone);
        let Some(replica) = history.map(Replica::that_works) else {
            return Ok(self.answer(what, change).0);
        };
        let action = format!("calls {}: it {what}", self.name);
        let (number, faults) = replica.begin_call(&action).await?;
        let (answer, changed) = self.answer(what, change);
        replica.end_call(number, action, changed, &faults).await?;
        Ok(answer)
    }

    /// What the service holds, for tests.
    pub fn look<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut self.lock().state)
    }

    /// The calls so far, without those that did not arrive.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// The answer to a call, and whether it has changed anything.
    fn answer<R>(&self, what: &str, change: impl FnOnce(&mut T) -> R) -> (R, bool) {
        let mut held = self.lock();
        held.calls.push(what.to_owned());
        let before = json(&held.state);
        let answer = change(&mut held.state);
        let changed = json(&held.state) != before;
        (answer, changed)
    }

    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(state: &impl Serialize) -> Value {
    // Whatever cannot be written as JSON is not compared.
    serde_json::to_value(state).unwrap_or_default()
}

impl<T: Default + Serialize + Send> Service for External<T> {
    fn reset(&self) {
        let mut held = self.lock();
        held.state = T::default();
        held.calls.clear();
    }

    fn add_to(&self, state: &mut State) {
        let held = json(&self.lock().state);
        let empty = json(&T::default());
        match held {
            held if held == empty => {}
            Value::Object(entries) => {
                let entries = entries.into_iter();
                state.extend(entries.map(|(key, entry)| (format!("{} {key}", self.name), entry)));
            }
            held => drop(state.insert(self.name.to_string(), held)),
        }
    }
}

impl Replica {
    /// The replica that works in this history.
    fn that_works(network: Network) -> Self {
        let number = network.lock().replicas.working();
        Self { network, number }
    }

    /// Begins a call of a service: its number, and the faults that happen at it.
    async fn begin_call(&self, action: &str) -> anyhow::Result<(usize, Vec<What>)> {
        self.travel().await;
        let (number, mut faults) = self.network.next_write();
        self.overtake_request(number, action, &mut faults).await;
        for what in &faults {
            match what {
                What::CrashBefore | What::Failover(Failover::CutOff | Failover::LateWrite) => {
                    self.end_before(number, action).await;
                }
                What::Refused(
                    Refusal::Conflict
                    | Refusal::Conflicts
                    | Refusal::TimeoutApplied
                    | Refusal::Unanswered,
                ) => {}
                What::Refused(_) => {
                    let answer = "it fails, and nothing is done".to_owned();
                    self.tell_write(number, String::new(), action.to_owned(), false, answer, 0);
                    anyhow::bail!("the service is not available");
                }
                other => self.disturb(other),
            }
        }
        Ok((number, faults))
    }

    /// Ends a call that was done.
    async fn end_call(
        &self,
        number: usize,
        action: String,
        changed: bool,
        faults: &[What],
    ) -> anyhow::Result<()> {
        let lost = [Refusal::TimeoutApplied, Refusal::Unanswered].map(What::Refused);
        let is_lost = faults.iter().any(|fault| lost.contains(fault));
        let answer = if is_lost {
            "it is done, but the answer is lost"
        } else {
            "200 OK"
        };
        self.tell_write(number, String::new(), action, changed, answer.to_owned(), 0);
        // What holds always may concern the service.
        self.network.deliver();
        self.afterwards(number, faults).await;
        self.travel().await;
        anyhow::ensure!(!is_lost, "the connection to the service was closed");
        Ok(())
    }
}
