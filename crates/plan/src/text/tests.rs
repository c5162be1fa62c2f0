//! What a report shows of texts that a stranger may have written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;
use crate::activity::Refused;
use crate::compare::{Changes, Status};
use crate::difference::Field;
use crate::report::{Published, Run, Unsettled};
use crate::state::Id;

/// Clears the screen, and begins a line of its own.
const FORGED: &str = "\u{1b}[2J\nforged";

fn report() -> Report {
    let text = FORGED.to_owned();
    let id = Id {
        group: text.clone(),
        kind: text.clone(),
        namespace: text.clone(),
        name: text.clone(),
    };
    let field = Field {
        path: text.clone(),
        before: Some(json!(FORGED)),
        after: Some(json!([FORGED])),
        taken_from: BTreeSet::from([text.clone()]),
    };
    let change = |action| Change {
        action,
        id: id.clone(),
        owner: Some(text.clone()),
        restarts: None,
        on_delete: true,
        fields: vec![field.clone()],
        managers: BTreeSet::from([text.clone(), "other".to_owned()]),
        dependents: vec![text.clone()],
    };
    let changes = Changes {
        objects: [Action::Created, Action::Changed].map(change).into(),
        status: vec![Status {
            kind: text.clone(),
            fields: BTreeSet::from([text.clone()]),
            objects: 1,
        }],
        times: 1,
    };
    let unsettled = Unsettled {
        object: text.clone(),
        writes: 1,
        fields: vec![field.clone()],
    };
    let run = Run {
        seconds: 1,
        failed: Some(Failed::NeverIdle(vec![unsettled])),
        not_installed: vec![text.clone()],
        invalid: vec![text.clone()],
        refused: vec![Refused {
            resource: text.clone(),
            object: text.clone(),
            verb: text.clone(),
            message: text.clone(),
        }],
        denied: vec![text.clone()],
        looked_up: BTreeMap::from([(text.clone(), 1)]),
        log: FORGED.to_owned(),
        events: vec![Published {
            r#type: text.clone(),
            reason: text.clone(),
            example: text.clone(),
            count: 1,
        }],
    };
    Report {
        objects: 1,
        drift: changes.clone(),
        later: changes.clone(),
        changes,
        baseline: Some(Run {
            failed: Some(Failed::Ended(text.clone())),
            ..run.clone()
        }),
        next: run,
        not_seen: vec![text],
    }
}

#[test]
fn no_text_of_a_cluster_begins_a_line_or_moves_the_cursor() {
    let title = Title {
        operator: FORGED.to_owned(),
        cluster: FORGED.to_owned(),
        baseline: Some(FORGED.to_owned()),
    };
    for details in [false, true] {
        for shown in [
            text(&report(), &title, details),
            markdown(&report(), &title, details),
        ] {
            assert!(!shown.lines().any(|it| it.starts_with("forged")), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
    }
}

fn title() -> Title {
    Title {
        operator: "crew".to_owned(),
        cluster: "prod".to_owned(),
        baseline: Some("v1".to_owned()),
    }
}

fn of_change(name: &str, action: Action) -> Change {
    let id = Id {
        group: String::new(),
        kind: "Sail".to_owned(),
        namespace: "navy".to_owned(),
        name: name.to_owned(),
    };
    let field = Field {
        path: "data.wind".to_owned(),
        before: (action != Action::Created).then(|| json!("north")),
        after: Some(json!("east")),
        taken_from: BTreeSet::new(),
    };
    Change {
        action,
        id,
        owner: None,
        restarts: None,
        on_delete: false,
        fields: vec![field],
        managers: BTreeSet::new(),
        dependents: Vec::new(),
    }
}

#[test]
fn created_objects_show_what_they_contain_and_do_not_count_as_changed_ones() {
    let mut report = Report {
        objects: 103,
        ..Report::default()
    };
    report.changes.objects = vec![
        of_change("a", Action::Changed),
        of_change("b", Action::Created),
    ];
    let expected = "crew would change 1 of 103 objects and create 1 in prod, compared with v1\n\n\
                    \u{20} ~ Sail  navy/a\n\
                    \u{20}     data.wind   north → east\n\
                    \u{20} + Sail  navy/b  created\n\
                    \u{20}     data.wind   east\n\n\
                    102 objects stay as they are\n";
    assert_eq!(text(&report, &title(), false), expected);
}

#[test]
fn of_many_objects_that_change_in_the_same_way_one_has_a_row() {
    let mut report = Report::default();
    for name in ["a", "b", "c", "d"] {
        report
            .changes
            .objects
            .push(of_change(name, Action::Changed));
    }
    report.next.invalid = vec!["a: wrong".to_owned(); 12];
    let shown = text(&report, &title(), false);
    let row = "  ~ Sail  navy/a\n      data.wind   north → east\n      and 3 more likewise: see --details\n\n";
    assert!(shown.contains(row), "{shown}");
    assert!(shown.contains("  a: wrong\n  and 2 more: see --details\n"));
    let shown = text(&report, &title(), true);
    assert!(
        shown.contains("navy/d") && !shown.contains("more"),
        "{shown}"
    );
    report.changes.objects[3].fields.clear();
    assert!(text(&report, &title(), false).contains("navy/d"));
}

#[test]
fn changes_name_their_field_managers_if_these_differ() {
    let changes = |managers: [&str; 2]| {
        let mut report = Report::default();
        for manager in managers {
            let mut change = of_change(manager, Action::Changed);
            change.managers.insert(format!("crew/{manager}"));
            report.changes.objects.push(change);
        }
        text(&report, &title(), false)
    };
    assert!(changes(["captain", "cook"]).contains("navy/cook     by crew/cook\n"));
    assert!(!changes(["captain", "captain"]).contains("by crew"));
}

#[test]
fn a_write_that_is_refused_today_too_is_told_apart() {
    let refused = |object: &str| Refused {
        resource: "sails".to_owned(),
        object: object.to_owned(),
        verb: "patch".to_owned(),
        message: "no".to_owned(),
    };
    let run = |objects: &[&str]| Run {
        refused: objects.iter().map(|it| refused(it)).collect(),
        ..Run::default()
    };
    let mut report = Report {
        baseline: Some(run(&["navy/old"])),
        next: run(&["navy/old"]),
        ..Report::default()
    };
    let old = "  ! patch of sails navy/old refused, as today: no\n";
    assert!(text(&report, &title(), false).contains(old));
    assert!(!report.is_bad());
    report.next = run(&["navy/old", "navy/new"]);
    let new = "  ! patch of sails navy/new refused: no\n";
    assert!(text(&report, &title(), false).contains(new));
    assert!(report.is_bad());
}

#[test]
fn all_of_the_markdown_is_code() {
    let title = Title {
        operator: "@crew".to_owned(),
        cluster: "`https://example.com`".to_owned(),
        baseline: Some("<b>\n# 1".to_owned()),
    };
    let report = Report {
        not_seen: vec!["````\n@crew".to_owned()],
        ..Report::default()
    };
    let shown = "**`@crew would change none of 0 objects in 'https://example.com', compared with <b>\\n# 1`**\n\n\
                 `````diff\n0 objects stay as they are\nnot seen:\n  ````\\n@crew\n`````\n";
    assert_eq!(markdown(&report, &title, false), shown);
}
