//! What the screen shows, as text. The screens of `docs/dev.md` are rendered here; `UPDATE=1` writes them.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use super::object::{Event, Object};
use super::state::State;
use super::update::{Command, Key, Operator, Update};
use super::view::draw;

/// Seconds after the screen was opened.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn rendered(state: &mut State, now: u64, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, at(now))).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(width.into());
    let line = |row: &[ratatui::buffer::Cell]| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    };
    rows.map(line).collect::<Vec<_>>().join("\n")
}

fn object(name: &str, created: u64, condition: &Value) -> Object {
    Object {
        created: Some(at(created)),
        ..Object::of(&json!({
            "metadata": { "namespace": "default", "name": name },
            "status": { "conditions": [condition] },
        }))
    }
}

fn event(time: u64, about: &str, reason: &str, note: &str) -> Update {
    Update::Event(Event {
        uid: format!("{time}"),
        time: Some(at(time)),
        warning: reason == "ReconcileFailed",
        about: about.to_owned(),
        reason: reason.to_owned(),
        note: note.to_owned(),
    })
}

/// An operator that runs, with three objects.
fn running() -> State {
    let mut state = State::new("captains", at(0));
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Reconciled" });
    let failing = json!({ "type": "Ready", "status": "False", "reason": "ReconcileFailed",
        "message": "no ship is called Pequod" });
    let available =
        json!({ "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable" });
    let captain = |name, created, condition| Update::Object {
        kind: "Captain".to_owned(),
        object: object(name, created, condition),
    };
    let updates = [
        (
            4,
            Update::Cluster("export KUBECONFIG=/tmp/kbr-envtest-aBcDeF/kubeconfig".to_owned()),
        ),
        (4, Update::Building),
        (
            5,
            Update::Printed(
                "   Compiling captains v0.1.0\nwarning: unused variable: `ship`\n".to_owned(),
            ),
        ),
        (
            5,
            Update::Printed(
                "warning: `captains` (bin \"captains\") generated 1 warning\n".to_owned(),
            ),
        ),
        (6, Operator::Running(at(6)).into()),
        (
            6,
            Update::Built {
                ok: true,
                took: Duration::from_millis(1840),
            },
        ),
        (
            7,
            Update::Listing {
                kind: "Captain".to_owned(),
            },
        ),
        (7, captain("ahab", 2, &failing)),
        (7, captain("nemo", 1, &ready)),
        (
            7,
            Update::Object {
                kind: "Deployment".to_owned(),
                object: object("nemo", 3, &available),
            },
        ),
        (
            8,
            event(
                8,
                "Captain default/ahab",
                "ReconcileFailed",
                "no ship is called Pequod",
            ),
        ),
        (
            8,
            event(
                7,
                "Captain default/nemo",
                "Created",
                "created Deployment nemo",
            ),
        ),
        (
            9,
            Update::Log("2027-01-15T08:00:09Z  INFO manager: leading".to_owned()),
        ),
        (
            9,
            Update::Log(
                "2027-01-15T08:00:09Z ERROR manager::controller: reconcile failed object=ahab"
                    .to_owned(),
            ),
        ),
    ];
    for (seconds, update) in updates {
        state.apply(update, at(seconds));
    }
    state
}

/// The same with code that does not compile.
fn broken() -> State {
    let mut state = running();
    let error = "error[E0425]: cannot find value `shp` in this scope\n  --> src/controllers/captain.rs:41:9\n   |\n\
        41 |         shp.sail();\n   |         ^^^ help: a local variable with a similar name exists: `ship`\n\n\
        error: could not compile `captains` (bin \"captains\") due to 1 previous error\n";
    state.apply(Update::Building, at(60));
    state.apply(Update::Printed(error.to_owned()), at(61));
    let took = Duration::from_secs(1);
    state.apply(Update::Built { ok: false, took }, at(61));
    state
}

#[test]
fn the_documentation_shows_the_screens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dev.md");
    let mut text = fs::read_to_string(&path).unwrap();
    let before = text.clone();
    let mut log = running();
    log.press(Key::Char('l'));
    for (name, mut state, now, height) in [
        ("overview", running(), 66, 21),
        ("error", broken(), 66, 24),
        ("log", log, 66, 10),
    ] {
        let start = format!("```text {name}\n");
        let (head, rest) = text.split_once(&start).expect("the screen has a place");
        let (_, rest) = rest.split_once("\n```\n").unwrap();
        let screen = rendered(&mut state, now, 100, height);
        text = format!("{head}{start}{screen}\n```\n{rest}");
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    } else {
        assert!(
            text == before,
            "UPDATE=1 cargo test --bin kbr screen writes docs/dev.md:\n{text}"
        );
    }
}

#[test]
fn objects_that_are_not_ready_come_first_and_stay_on_a_small_screen() {
    let mut state = running();
    let small = rendered(&mut state, 66, 60, 14);
    assert!(small.contains("default/ahab"), "{small}");
    assert!(small.contains("more lines; / filters them"), "{small}");
    // Any size is drawn.
    for (width, height) in [(1, 1), (10, 3), (400, 100)] {
        for page in ['l', 'b', 'b'] {
            rendered(&mut state, 66, width, height);
            state.press(Key::Char(page));
        }
    }
}

#[test]
fn a_filter_hides_other_lines_until_escape() {
    let mut state = running();
    for key in "/nemo".chars() {
        assert_eq!(state.press(Key::Char(key)), None);
    }
    state.press(Key::Enter);
    let filtered = rendered(&mut state, 66, 100, 21);
    assert!(filtered.contains("default/nemo"), "{filtered}");
    assert!(!filtered.contains("default/ahab"), "{filtered}");
    // Keys are commands again, and the filter also applies to the log.
    state.press(Key::Char('l'));
    assert!(!rendered(&mut state, 66, 100, 21).contains("leading"));
    state.press(Key::Escape);
    assert!(rendered(&mut state, 66, 100, 21).contains("leading"));
}

#[test]
fn keys_are_commands_only_outside_the_filter() {
    let mut state = running();
    assert_eq!(state.press(Key::Char('a')), Some(Command::ApplySamples));
    assert_eq!(state.press(Key::Char('d')), Some(Command::Delete));
    assert_eq!(state.press(Key::Char('r')), Some(Command::Restart));
    state.press(Key::Char('/'));
    assert_eq!(state.press(Key::Char('r')), None);
    assert_eq!(state.press(Key::Char('q')), None);
    assert_eq!((state.filter.as_str(), state.stopping), ("rq", false));
    state.press(Key::Backspace);
    assert_eq!(state.filter, "r");
    state.press(Key::Interrupt);
    assert!(state.stopping);
}

#[test]
fn a_page_that_is_scrolled_up_keeps_its_place_while_the_log_grows() {
    let mut state = State::new("captains", at(0));
    let log = |state: &mut State, line: usize| {
        state.apply(Update::Log(format!("line {line}.")), at(1));
    };
    (0..100).for_each(|line| log(&mut state, line));
    state.press(Key::Char('l'));
    assert!(rendered(&mut state, 1, 80, 15).contains("line 99."));
    state.press(Key::ScrollPages(-1));
    let before = rendered(&mut state, 1, 80, 15);
    assert!(
        before.contains("line 90.") && !before.contains("line 91."),
        "{before}"
    );
    log(&mut state, 100);
    assert!(rendered(&mut state, 1, 80, 15).contains("line 90."));
    state.press(Key::First);
    assert!(rendered(&mut state, 1, 80, 15).contains("line 0."));
    state.press(Key::Scroll(1));
    assert!(!rendered(&mut state, 1, 80, 15).contains("line 0."));
    state.press(Key::Last);
    assert!(rendered(&mut state, 1, 80, 15).contains("line 100."));
}

#[test]
fn objects_go_when_they_are_deleted_or_their_kind_is_listed_again() {
    let mut state = running();
    let kind = "Captain".to_owned();
    let name = "default/nemo".to_owned();
    let gone = Update::Gone { kind, name };
    state.apply(gone, at(9));
    let screen = rendered(&mut state, 66, 100, 21);
    assert!(screen.contains("0 of 1 ready"), "{screen}");
    let kind = "Captain".to_owned();
    state.apply(Update::Listing { kind }, at(9));
    let kind = "Captain".to_owned();
    let reason = "cannot be watched: HTTP status 403".to_owned();
    state.apply(Update::Unreadable { kind, reason }, at(9));
    let screen = rendered(&mut state, 66, 100, 21);
    assert!(
        screen.contains("cannot be watched: HTTP status 403"),
        "{screen}"
    );
    assert!(!screen.contains("default/ahab      "), "{screen}");
    let kind = "Captain".to_owned();
    state.apply(Update::Forgotten { kind }, at(9));
    assert!(!rendered(&mut state, 66, 100, 21).contains("403"));
}

#[test]
fn an_event_that_happens_again_is_shown_once() {
    let mut state = running();
    let before = state.events.len();
    let mut again = event(20, "Captain default/ahab", "ReconcileFailed", "no ship");
    if let Update::Event(event) = &mut again {
        event.uid = "8".to_owned();
    }
    state.apply(again, at(20));
    assert_eq!(state.events.len(), before);
    assert_eq!(state.events.back().unwrap().note, "no ship");
}

#[test]
fn a_problem_is_shown_once_and_whole_until_the_operator_starts_again() {
    let mut state = State::new("captains", at(0));
    let log = |seconds: u64| {
        let line = format!("2027-01-15T08:00:{seconds:02}Z  WARN manager: the list fails");
        Update::Log(line)
    };
    state.apply(log(1), at(1));
    state.apply(log(2), at(2));
    let message = "error: the API server rejects the samples:\n  spec.ship: Required value\n";
    state.apply(Update::Message(message.to_owned()), at(3));
    let screen = rendered(&mut state, 10, 80, 24);
    assert_eq!(screen.matches("the list fails").count(), 1, "{screen}");
    assert!(screen.contains("spec.ship: Required value"), "{screen}");
    state.apply(Operator::Running(at(11)).into(), at(11));
    assert!(state.problems.is_empty());
}

#[test]
fn a_reason_and_its_help_are_shown_whole() {
    let mut state = running();
    let failing = json!({ "type": "Ready", "status": "False", "reason": "ReconcileFailed",
        "message": "the harbor has no berth for a ship of this size\nhelp: choose another harbor" });
    let update = Update::Object {
        kind: "Captain".to_owned(),
        object: object("ahab", 2, &failing),
    };
    state.apply(update, at(9));
    for line in [
        "2027-01-15T08:00:10Z ERROR manager::controller: reconcile failed object=ahab error=no berth",
        "help: choose another harbor (logged)",
        "2027-01-15T08:00:11Z  INFO manager: goes on",
        "help: of nothing",
    ] {
        state.apply(Update::Log(line.to_owned()), at(10));
    }
    let screen = rendered(&mut state, 66, 80, 30);
    for shown in [
        "ReconcileFailed\n",
        "      the harbor has no berth for a ship of this size\n      help: choose another harbor\n",
        "       help: choose another harbor (logged)\n",
    ] {
        assert!(screen.contains(shown), "{screen}");
    }
    assert!(!screen.contains("of nothing"), "{screen}");
}

#[test]
fn a_long_line_of_the_log_is_readable_to_its_end() {
    let mut state = State::new("captains", at(0));
    let line = format!("{}end", "x".repeat(200));
    state.apply(Update::Log(line), at(1));
    state.press(Key::Char('l'));
    assert!(rendered(&mut state, 1, 80, 15).contains("end"));
    // `q` closes a page; on the overview it quits.
    state.press(Key::Char('q'));
    assert!(!state.stopping);
    state.press(Key::Char('q'));
    assert!(state.stopping);
}
