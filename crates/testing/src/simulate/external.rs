//! A service outside the cluster: what it holds survives the process of the operator, and faults happen at its calls.

use std::{
    cell::RefCell,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Serialize;
use serde_json::Value;

use super::{
    faults::{Failover, Refusal},
    network::Network,
    plan::What,
    replica::Replica,
    state::State,
};

thread_local! {
    /// The history that runs on this thread.
    static HISTORY: RefCell<Option<Current>> = const { RefCell::new(None) };
}

struct Current {
    /// No other history has it. A service outside of all has 0.
    number: u64,
    network: Network,
    /// Those that were used in this history.
    services: Vec<Box<Service>>,
}

/// Adds what a service holds to a state.
type Service = dyn Fn(&mut State);

/// Makes the calls on this thread those of a history, or of none.
pub(super) fn enter(history: Option<Network>) {
    static LAST: AtomicU64 = AtomicU64::new(0);
    HISTORY.replace(history.map(|network| Current {
        number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
        network,
        services: Vec::new(),
    }));
}

/// Adds to a state what the services of this history hold.
pub(super) fn add_to(state: &mut State) {
    HISTORY.with_borrow(|history| {
        let services = history.iter().flat_map(|history| &history.services);
        services.for_each(|add| add(state));
    });
}

/// A fake of a service outside the cluster, which holds a `T`. Clones are the same service.
///
/// In a [simulation](super::simulate), each history begins with an empty service, and each call counts as a write of the
/// operator: its process may end before or after it, and the call may fail, done or not. What the service holds is part of
/// the state that is compared, and must be gone after the deletion of the objects. Elsewhere, calls succeed.
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
    /// The number of the history that this belongs to.
    history: u64,
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

impl<T: Default + Serialize + Send + 'static> External<T> {
    /// A service with this name, as stories call it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let held = Held {
            state: T::default(),
            calls: Vec::new(),
            history: 0,
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
        let network = |history: &Current| history.network.clone();
        let network = HISTORY.with_borrow(|history| history.as_ref().map(network));
        let Some(replica) = network.map(Replica::that_works) else {
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

    /// What it holds. The first use in a history empties it, and makes it a part of that history.
    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        HISTORY.with_borrow_mut(|history| {
            let Some(history) = history else { return };
            if held.history == history.number {
                return;
            }
            held.state = T::default();
            held.calls.clear();
            held.history = history.number;
            let service = self.clone();
            let add = move |state: &mut State| service.add_to(state);
            history.services.push(Box::new(add));
        });
        held
    }

    fn add_to(&self, state: &mut State) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (held, empty) = (json(&held.state), json(&T::default()));
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

fn json(state: &impl Serialize) -> Value {
    // Whatever cannot be written as JSON is not compared.
    serde_json::to_value(state).unwrap_or_default()
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
