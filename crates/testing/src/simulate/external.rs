//! A service outside the cluster: what it holds survives the process of the operator, and faults happen at its calls.

use std::{
    any::Any,
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
    state::State,
    trace::Write,
};

thread_local! {
    /// The history that runs on this thread.
    static HISTORY: RefCell<Option<Current>> = const { RefCell::new(None) };
}

struct Current {
    network: Network,
    /// Those that were used in this history.
    services: Vec<Service>,
}

/// A service in a history, whatever it holds.
struct Service {
    name: Arc<str>,
    /// A `Mutex<Held<T>>`.
    held: Arc<dyn Any + Send + Sync>,
    /// Adds what it holds to a state.
    add: Box<dyn Fn(&mut State)>,
    /// What someone else does there, and what it is called.
    drift: Option<(String, Box<dyn Fn()>)>,
}

/// Makes the calls on this thread those of a history, or of none.
pub(super) fn enter(history: Option<Network>) {
    HISTORY.replace(history.map(|network| Current {
        network,
        services: Vec::new(),
    }));
}

/// Adds to a state what the services of this history hold.
pub(super) fn add_to(state: &mut State) {
    HISTORY.with_borrow(|history| {
        let services = history.iter().flat_map(|history| &history.services);
        services.for_each(|service| (service.add)(state));
    });
}

/// What others do in the services of this history.
pub(super) fn drifts() -> Vec<String> {
    HISTORY.with_borrow(|history| {
        let services = history.iter().flat_map(|history| &history.services);
        let drifts = services.filter_map(|service| service.drift.as_ref());
        drifts.map(|(what, _)| what.clone()).collect()
    })
}

/// Does the one with this number, from 1.
pub(super) fn drift(number: usize) {
    HISTORY.with_borrow(|history| {
        let services = history.iter().flat_map(|history| &history.services);
        let mut drifts = services.filter_map(|service| service.drift.as_ref());
        if let Some((_, drift)) = number.checked_sub(1).and_then(|at| drifts.nth(at)) {
            drift();
        }
    });
}

/// A fake of a service outside the cluster, which holds a `T`. Clones are the same service.
///
/// In a [simulation](super::simulate), those with the same name are the same service, each history begins with an empty one, and each call counts as a write of the
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
    drift: Option<Drift<T>>,
}

/// What someone else does to what a service holds.
type Drift<T> = (Arc<str>, Arc<dyn Fn(&mut T) + Send + Sync>);

struct Held<T> {
    state: T,
    calls: Vec<String>,
}

impl<T: Default> Default for Held<T> {
    fn default() -> Self {
        Self {
            state: T::default(),
            calls: Vec::new(),
        }
    }
}

impl<T> Clone for External<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            held: self.held.clone(),
            drift: self.drift.clone(),
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
        Self {
            name: name.into(),
            held: Arc::default(),
            drift: None,
        }
    }

    /// What someone else does to what the service holds, in a simulation and at rest: the operator repairs it when it reconciles again. `what`
    /// completes the sentence *someone …*.
    #[must_use]
    pub fn drifts(mut self, what: &str, change: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.drift = Some((what.into(), Arc::new(change)));
        self
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
        let (call, faults) = replica.begin_call(&self.name, action).await?;
        let (answer, changed) = self.answer(what, change);
        replica.end_call(Write { changed, ..call }, &faults).await?;
        Ok(answer)
    }

    /// What the service holds, for tests.
    pub fn look<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut locked(&self.held()).state)
    }

    /// The calls so far, without those that did not arrive.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        locked(&self.held()).calls.clone()
    }

    /// The answer to a call, and whether it has changed anything.
    fn answer<R>(&self, what: &str, change: impl FnOnce(&mut T) -> R) -> (R, bool) {
        let held = self.held();
        let mut held = locked(&held);
        held.calls.push(what.to_owned());
        let before = json(&held.state);
        let answer = change(&mut held.state);
        let changed = json(&held.state) != before;
        (answer, changed)
    }

    /// What it holds in the history that runs on this thread, or outside of all.
    fn held(&self) -> Arc<Mutex<Held<T>>> {
        HISTORY.with_borrow_mut(|history| {
            let Some(history) = history else {
                return self.held.clone();
            };
            let services = history.services.iter();
            let mut same = services.filter(|service| service.name == self.name);
            if let Some(held) = same.find_map(|it| it.held.clone().downcast().ok()) {
                return held;
            }
            let held: Arc<Mutex<Held<T>>> = Arc::default();
            history.services.push(self.service(&held));
            held
        })
    }

    fn service(&self, held: &Arc<Mutex<Held<T>>>) -> Service {
        let (name, own) = (self.name.clone(), held.clone());
        let drift = self.drift.clone().map(|(what, change)| {
            let held = held.clone();
            let drift = move || change(&mut locked(&held).state);
            (what.to_string(), Box::new(drift) as Box<dyn Fn()>)
        });
        Service {
            name: self.name.clone(),
            held: held.clone(),
            add: Box::new(move |state| add_held(state, &name, &locked(&own).state)),
            drift,
        }
    }
}

/// Adds what a service holds to a state, each entry by itself.
fn add_held<T: Default + Serialize>(state: &mut State, name: &str, held: &T) {
    let (held, empty) = (json(held), json(&T::default()));
    match held {
        held if held == empty => {}
        Value::Object(entries) => {
            let entries = entries.into_iter();
            state.extend(entries.map(|(key, entry)| (format!("{name} {key}"), entry)));
        }
        held => drop(state.insert(name.to_owned(), held)),
    }
}

fn locked<T>(held: &Mutex<Held<T>>) -> MutexGuard<'_, Held<T>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Begins a call of a service, with the faults that happen at it.
    async fn begin_call(
        &self,
        service: &str,
        action: String,
    ) -> anyhow::Result<(Write, Vec<What>)> {
        self.travel().await;
        let (number, mut faults) = self.network.next_write();
        self.overtake_request(number, &action, &mut faults).await;
        let call = Write {
            service: Some(service.to_owned()),
            ..Write::new(number, self.who(None), action)
        };
        for what in &faults {
            match what {
                What::CrashBefore | What::Failover(Failover::CutOff | Failover::LateWrite) => {
                    self.end_before(number, &call.action).await;
                }
                What::Refused(
                    Refusal::Conflict
                    | Refusal::Conflicts
                    | Refusal::TimeoutApplied
                    | Refusal::Unanswered,
                ) => {}
                What::Refused(_) => {
                    let answer = "it fails, and nothing is done".to_owned();
                    self.tell_write(Write { answer, ..call });
                    anyhow::bail!("the service is not available");
                }
                other => self.disturb(other),
            }
        }
        Ok((call, faults))
    }

    /// Ends a call that was done.
    async fn end_call(&self, call: Write, faults: &[What]) -> anyhow::Result<()> {
        let number = call.number;
        let lost = [Refusal::TimeoutApplied, Refusal::Unanswered].map(What::Refused);
        let is_lost = faults.iter().any(|fault| lost.contains(fault));
        let answer = if is_lost {
            "it is done, but the answer is lost"
        } else {
            "200 OK"
        };
        let answer = answer.to_owned();
        self.tell_write(Write { answer, ..call });
        // What holds always may concern the service.
        self.network.deliver();
        self.afterwards(number, faults).await;
        self.travel().await;
        anyhow::ensure!(!is_lost, "the connection to the service was closed");
        Ok(())
    }
}
