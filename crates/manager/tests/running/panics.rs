//! Test that code of the author that panics, wherever it runs, ends nothing but its own call.

use std::{
    error::Error,
    fmt,
    panic::panic_any,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{self, Poll},
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_testing::FakeApi;
use kube::{ResourceExt as _, api::ObjectMeta};
use manager::{Action, Key, Manager, kind};
use tokio::time::timeout;

use crate::support::{Running, SOON, manager, object, reached};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

/// Where the code of an error panics.
#[derive(Clone, Copy, Debug)]
enum In {
    Text,
    Source,
    SourceText,
    /// Its source is itself, which a walk along the causes must notice.
    Cycle,
    Drop,
}

#[derive(Debug)]
struct Hostile(In);

static TEXT: Hostile = Hostile(In::Text);

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(!matches!(self.0, In::Text), "no text");
        f.write_str("hostile")
    }
}

impl Error for Hostile {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.0 {
            In::Source => panic!("no source"),
            In::SourceText => Some(&TEXT),
            In::Cycle => Some(self),
            In::Text | In::Drop => None,
        }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        let is_bomb = matches!(self.0, In::Drop) && !std::thread::panicking();
        assert!(!is_bomb, "dropped");
    }
}

const ERRORS: [In; 5] = [In::Text, In::Source, In::SourceText, In::Cycle, In::Drop];

/// A reconcile that ends like this for the object `bad`.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Error(In),
    /// An error of this kind, which is terminal.
    Terminal(In),
    /// A panic whose payload panics when it is dropped.
    Payload,
    /// A future that panics when it is dropped after its end.
    Future,
}

/// A future that panics when it is dropped after its end.
struct Last(Bomb);

impl Future for Last {
    type Output = anyhow::Result<Action>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        let _ = &self.0;
        Poll::Ready(Ok(Action::await_change()))
    }
}

async fn end(how: Ends) -> anyhow::Result<Action> {
    match how {
        Ends::Error(place) => Err(Hostile(place).into()),
        Ends::Terminal(place) => Err(manager::terminal(Hostile(place))),
        Ends::Payload => panic_any(Bomb),
        Ends::Future => Last(Bomb).await,
    }
}

/// Registers a controller of which `bad` ends like this, and counts the reconciles of `bad` and of the others.
fn register(manager: &mut Manager, how: Ends) -> [Arc<AtomicUsize>; 2] {
    let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let counted = counts.clone();
    let reconcile = move |map: Arc<ConfigMap>, _| {
        let is_bad = map.name_any() == "bad";
        counted[usize::from(!is_bad)].fetch_add(1, Ordering::SeqCst);
        async move {
            if is_bad {
                end(how).await
            } else {
                Ok(Action::await_change())
            }
        }
    };
    let controller = manager
        .controller::<ConfigMap>("map")
        .max_concurrent_reconciles(1);
    controller.reconcile(reconcile);
    counts
}

#[tokio::test]
async fn an_object_whose_error_or_future_panics_holds_neither_its_worker_nor_its_key() {
    let errors = ERRORS.map(Ends::Error).into_iter();
    let terminal = ERRORS.map(Ends::Terminal).into_iter();
    for how in errors.chain(terminal).chain([Ends::Payload, Ends::Future]) {
        let api = FakeApi::new();
        api.put(&object("bad", ""));
        let mut manager = manager(&api);
        let [bad, good] = register(&mut manager, how);
        let running = Running::start(manager);
        for round in 1..4 {
            api.put(&object("bad", &round.to_string()));
            api.put(&object("good", &round.to_string()));
            // The only worker is free again, and the key, too.
            let wait = async { tokio::join!(reached(&bad, round), reached(&good, round)) };
            let reached = timeout(SOON, wait).await;
            assert!(
                reached.is_ok(),
                "{how:?}: {bad:?} and {good:?} in round {round}"
            );
        }
        running
            .stop()
            .await
            .unwrap_or_else(|error| panic!("{how:?}: {error}"));
    }
}

/// What a mapping does with the Secret `bad`.
#[derive(Clone, Copy, Debug)]
enum Maps {
    Error(In),
    Payload,
}

#[tokio::test]
async fn a_mapping_whose_error_panics_ends_no_watch() {
    let errors = ERRORS.map(Maps::Error).into_iter();
    for how in errors.chain([Maps::Payload]) {
        let api = FakeApi::new();
        api.put(&object("a", ""));
        let mut manager = manager(&api);
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        manager
            .controller::<ConfigMap>("map")
            .watches(kind::<Secret>(), move |secret, _| {
                match (secret.name_any().as_str(), how) {
                    ("bad", Maps::Error(place)) => Err(Hostile(place).into()),
                    ("bad", Maps::Payload) => panic_any(Bomb),
                    _ => Ok(vec![Key::from("default/a")]),
                }
            })
            .reconcile(move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                async { Ok(Action::await_change()) }
            });
        let running = Running::start(manager);
        reached(&count, 1).await;
        for name in ["bad", "good"] {
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            };
            api.put(&Secret {
                metadata,
                ..Secret::default()
            });
        }
        reached(&count, 2).await;
        running
            .stop()
            .await
            .unwrap_or_else(|error| panic!("{how:?}: {error}"));
    }
}
