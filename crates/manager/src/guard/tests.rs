//! Test which writes are a storm, with time that is simulated.

use super::{watched::WINDOW, *};
use crate::{causes::Changed, metrics::QueueMetrics};

/// A guard, and the writes for the object `crew/nemo`.
struct Nemo {
    guard: Guard,
    key: Key,
    version: u64,
    /// The last value of those that move on.
    last: u64,
}

/// What a write sends.
#[derive(Clone, Copy)]
enum Sent {
    Status(u64),
    Child(&'static str, u64),
}

impl Nemo {
    fn new() -> Self {
        let timer = Timer::for_tests();
        let queue = Arc::new(Queue::new(QueueMetrics::default(), timer.clone()));
        Self {
            guard: Guard::new(Mode::Slow, "Captain".into(), queue, timer),
            key: "crew/nemo".into(),
            version: 1,
            last: 0,
        }
    }

    fn begins(&self, cause: impl Into<Causes>) {
        self.guard.begins(&self.key, &cause.into());
    }

    fn writes(&mut self, sent: Sent) -> Option<Loop> {
        let (from, child) = (self.version.to_string(), Key::from("crew/child"));
        self.version += 1;
        let (kind, key, sent, field) = match sent {
            Sent::Status(sent) => ("Captain", &self.key, sent, "status.at"),
            Sent::Child(field, sent) => ("Deployment", &child, sent, field),
        };
        let write = Write {
            kind: kind.into(),
            key,
            is_status: kind == "Captain",
            from: Some(&from),
            to: &self.version.to_string(),
            sent,
            body: None,
        };
        self.guard
            .wrote(&self.key, &write, |_| [field.to_owned()].into())
    }

    /// A change of the child by another writer.
    fn sees(&mut self, changed: Changed, field: &str) -> Haste {
        self.version += 1;
        let version = self.version.to_string();
        let key = "crew/child".into();
        let event = Event {
            kind: "Deployment",
            key: &key,
            version: Some(&version),
            changed,
        };
        let fields = || Some([field.to_owned()].into());
        self.guard.seen(&self.key, &event, fields)
    }

    /// So many reconciles that each write another value; returns the first storm.
    fn moves_on(&mut self, times: u64) -> Option<Loop> {
        let each = |_| {
            self.begins(CauseKind::Child);
            self.last += 1;
            self.writes(Sent::Child("spec.at", self.last))
        };
        // All of them are written, whatever the first ones are.
        let found: Vec<_> = (0..times).filter_map(each).collect();
        found.into_iter().next()
    }
}

/// A change of what is known only by its content.
fn other() -> Changed {
    Changed::default()
}

#[tokio::test(start_paused = true)]
async fn values_that_only_move_on_are_a_storm_after_more_than_ten_writes() {
    let mut nemo = Nemo::new();
    assert_eq!(nemo.moves_on(11), None);
    let found = nemo.moves_on(1).unwrap();
    assert!(found.is_new);
    assert_eq!(
        found.to_string(),
        "`spec.at` of Deployment `crew/child` was written 11 times within 1 s, and nothing but these writes has changed"
    );
    let again = nemo.moves_on(2).unwrap();
    assert!(!again.is_new, "it was reported");
}

#[tokio::test(start_paused = true)]
async fn slow_writes_are_no_storm_and_one_that_pauses_begins_again() {
    let mut nemo = Nemo::new();
    for _ in 0..50 {
        nemo.guard.timer.wind(WINDOW / 9);
        assert_eq!(nemo.moves_on(1), None);
    }
    assert!(nemo.moves_on(20).unwrap().is_new);
    nemo.guard.timer.wind(WINDOW * 4);
    assert_eq!(nemo.moves_on(10), None);
    assert!(nemo.moves_on(2).unwrap().is_new, "it is another one");
}

#[tokio::test(start_paused = true)]
async fn a_value_that_follows_something_new_does_not_count() {
    let news: [fn(&mut Nemo); 5] = [
        |nemo| nemo.begins(CauseKind::Trigger),
        |nemo| nemo.begins(CauseKind::Backoff),
        |nemo| {
            nemo.sees(other(), "spec.other");
            nemo.begins(CauseKind::Child);
        },
        |nemo| {
            // It comes while the reconcile runs, whose write may be too late for it.
            nemo.begins(CauseKind::Child);
            nemo.sees(other(), "spec.other");
        },
        |nemo| {
            nemo.guard.progress(&nemo.key.clone());
            nemo.begins(CauseKind::Requeue);
        },
    ];
    for (at, new) in news.into_iter().enumerate() {
        let mut nemo = Nemo::new();
        for number in 0..100 {
            new(&mut nemo);
            assert_eq!(nemo.writes(Sent::Status(number)), None, "{at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_own_change_that_comes_before_its_answer_is_not_new() {
    let mut nemo = Nemo::new();
    let mut found = None;
    for number in 0..12 {
        nemo.begins(CauseKind::Child);
        nemo.version += 1;
        let (from, to) = ((nemo.version - 1).to_string(), nemo.version.to_string());
        let key = "crew/child".into();
        let event = Event {
            kind: "Deployment",
            key: &key,
            version: Some(&to),
            changed: other(),
        };
        nemo.guard.seen(&nemo.key, &event, || None);
        let write = Write {
            kind: "Deployment".into(),
            key: &key,
            is_status: false,
            from: Some(&from),
            to: &to,
            sent: number,
            body: None,
        };
        found = nemo
            .guard
            .wrote(&nemo.key, &write, |_| ["spec.at".to_owned()].into());
    }
    assert!(found.is_some());
}

#[tokio::test(start_paused = true)]
async fn children_that_are_created_one_by_one_and_counted_are_progress() {
    let mut nemo = Nemo::new();
    for number in 0..200 {
        nemo.begins(CauseKind::Child);
        nemo.guard.progress(&nemo.key.clone());
        assert_eq!(nemo.writes(Sent::Status(number)), None);
    }
}

#[tokio::test(start_paused = true)]
async fn writes_of_different_fields_are_no_storm() {
    let mut nemo = Nemo::new();
    for number in 0..40 {
        nemo.begins(CauseKind::Child);
        let field = ["spec.a", "spec.b", "spec.c"][usize::try_from(number).unwrap() / 4 % 3];
        assert_eq!(nemo.writes(Sent::Child(field, number)), None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_value_again_and_again_is_a_fight_whatever_else_happens() {
    let mut nemo = Nemo::new();
    let mut found = Vec::new();
    for _ in 0..14 {
        nemo.sees(other(), "spec.replicas");
        nemo.begins(CauseKind::Child);
        let child = Key::from("crew/child");
        let asked = nemo.guard.asks_for_writer(&nemo.key, "Deployment", &child);
        if let Some(field) = asked {
            assert_eq!(field, "spec.replicas");
            nemo.guard
                .found_writer(&nemo.key, "Deployment", &child, "hook");
        }
        found.extend(nemo.writes(Sent::Child("spec.replicas", 7)));
    }
    let new: Vec<_> = found
        .iter()
        .filter(|it| it.is_new)
        .map(Loop::to_string)
        .collect();
    assert_eq!(found.len(), 3);
    assert_eq!(
        new,
        [
            "`spec.replicas` of Deployment `crew/child` was written 11 times within 1 s, each time after `hook` had changed it"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn only_what_belongs_to_the_storm_waits() {
    let mut nemo = Nemo::new();
    nemo.moves_on(12);
    assert_eq!(nemo.sees(other(), "spec.at"), Haste::Waits);
    assert_eq!(nemo.sees(other(), "spec.other"), Haste::PastGuard);
}

#[tokio::test(start_paused = true)]
async fn few_objects_are_watched_and_a_storm_stays_among_them() {
    let mut nemo = Nemo::new();
    let mut found = None;
    for number in 0..12 {
        found = nemo.moves_on(1).or(found);
        for other in 0..WATCHED {
            let key = std::mem::replace(&mut nemo.key, Key::from(&format!("{number}/{other}")));
            nemo.writes(Sent::Status(1));
            nemo.key = key;
            if other % 100 == 0 {
                found = nemo
                    .writes(Sent::Child("spec.at", 1000 * number + other as u64))
                    .or(found);
            }
        }
    }
    assert!(found.is_some());
    assert!(nemo.guard.lock().watched.len() <= WATCHED);
}
