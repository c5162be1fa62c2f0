//! What a report shows of texts that a stranger may have written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::*;
use crate::compare::Status;
use crate::report::Published;
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
    };
    let change = |action| Change {
        action,
        id: id.clone(),
        owner: Some(text.clone()),
        restarts: None,
        on_delete: true,
        fields: vec![field.clone()],
        dependents: vec![text.clone()],
    };
    let changes = Changes {
        objects: [Action::Created, Action::Changed].map(change).into(),
        status: vec![Status {
            kind: text.clone(),
            fields: BTreeSet::from([text.clone()]),
            objects: 1,
        }],
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
