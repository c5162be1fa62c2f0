//! Randomness and the time of day: of the machine, or of the simulation that runs on this thread.
//!
//! A simulation is one thread, so its seed and its clock are thread-local. An operator reads them with each delay and each
//! timestamp, and finds nothing.

use std::{
    cell::{Cell, RefCell},
    hash::{BuildHasher, RandomState},
    marker::PhantomData,
    time::Duration,
};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::Instant;

thread_local! {
    static SIMULATED: Cell<Option<Simulated>> = const { Cell::new(None) };
    static LISTENER: RefCell<Option<Listener>> = const { RefCell::new(None) };
}

/// What is called with each reconcile that fails: its controller and object, and its error.
type Listener = Box<dyn Fn(&str, &str)>;

#[derive(Clone, Copy)]
struct Simulated {
    /// The state of the generator.
    random: u64,
    /// A moment and its time of day. From then on, the time of day passes like tokio's time.
    start: (Instant, Timestamp),
    /// How often the time was read: no two readings are equal.
    readings: i64,
}

/// A simulation on this thread, until this is dropped.
#[derive(Debug)]
#[must_use = "the simulation ends when this is dropped"]
pub struct Simulation(PhantomData<*const ()>);

impl Simulation {
    /// Makes randomness on this thread a function of `seed`, and `start` the current time of day. Call it in a runtime
    /// whose time is paused.
    pub fn begin(seed: u64, start: Timestamp) -> Self {
        SIMULATED.set(Some(Simulated {
            random: seed,
            start: (Instant::now(), start),
            readings: 0,
        }));
        Self(PhantomData)
    }

    /// Calls `tell` with each reconcile that fails from now on: its controller and object, and its error.
    pub fn on_failure(&self, tell: impl Fn(&str, &str) + 'static) {
        LISTENER.replace(Some(Box::new(tell)));
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        LISTENER.replace(None);
        SIMULATED.set(None);
    }
}

/// A random number.
pub(crate) fn random() -> u64 {
    let Some(mut simulated) = SIMULATED.get() else {
        // `RandomState` is the random source of the standard library.
        return RandomState::new().hash_one(0_u8);
    };
    // Splitmix64 (Steele, Lea, Flood 2014).
    simulated.random = simulated.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    SIMULATED.set(Some(simulated));
    let mut z = simulated.random;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Random bytes that no one can guess.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if SIMULATED.get().is_some() {
        bytes.fill_with(|| random().to_le_bytes()[0]);
    } else {
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.expect("the system has random numbers, as TLS needs them, too");
    }
    bytes
}

/// The time since the simulation began; `None` outside of one.
pub(crate) fn elapsed() -> Option<Duration> {
    SIMULATED.get().map(|simulated| simulated.start.0.elapsed())
}

/// Tells the simulation on this thread, if there is one, of a reconcile that has failed.
pub(crate) fn failed(reconcile: &str, error: &str) {
    LISTENER.with_borrow(|listener| {
        if let Some(tell) = listener {
            tell(reconcile, error);
        }
    });
}

/// The current time of day.
#[must_use]
pub fn now() -> Timestamp {
    let Some(mut simulated) = SIMULATED.get() else {
        return Timestamp::now();
    };
    simulated.readings += 1;
    SIMULATED.set(Some(simulated));
    let (moment, time) = simulated.start;
    let passed = SignedDuration::try_from(moment.elapsed()).unwrap_or_default();
    let passed = passed + SignedDuration::from_nanos(simulated.readings);
    time.checked_add(passed).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_seed_decides_all_randomness_and_the_time_of_day_follows_the_paused_clock() {
        let values = || (random(), random_bytes::<16>());
        let seeded = |seed| {
            let _simulation = Simulation::begin(seed, Timestamp::UNIX_EPOCH);
            values()
        };
        assert_eq!(seeded(1), seeded(1));
        assert_ne!(seeded(1), seeded(2));
        assert_ne!(values(), values(), "without a simulation they are random");

        let _simulation = Simulation::begin(1, Timestamp::UNIX_EPOCH);
        tokio::time::advance(Duration::from_secs(60)).await;
        let (first, second) = (now(), now());
        assert_eq!(first.as_second(), 60);
        assert_eq!(elapsed(), Some(Duration::from_secs(60)));
        assert!(first < second, "no two events have the same name");
    }
}
