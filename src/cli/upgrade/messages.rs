//! Reports an upgrade.

use serde_json::json;

use super::super::report::{self, Format};
use super::prepare::Prepared;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::lines::Lines;
use kbr_host::output;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::project::KBR;
use kbr_scaffold::upgrade::notes::Note;

/// The number of lines that are shown of what was not merged into a file.
const SHOWN: usize = 30;

pub fn nothing_to_do() {
    output::message(format_args!(
        "nothing to do: the project already uses kbr {KBR}"
    ));
}

/// Prints each changed file, and the files that stay although the releases differ in them.
pub fn changes(prepared: &Prepared) {
    let plan = &prepared.plan;
    report::report(&plan.changes);
    for path in &plan.deleted {
        output::message(format_args!("{:>12} {path} (you deleted it)", "skip"));
    }
    for path in &plan.not_text {
        output::message(format_args!(
            "{:>12} {path} (not UTF-8 text, or too long: not upgraded)",
            "keep"
        ));
    }
    for path in &plan.dropped {
        output::message(format_args!(
            "{:>12} {path} (kbr {KBR} does not use it; kept because you edited it)",
            "keep"
        ));
    }
    if plan.unmerged.is_empty() {
        return;
    }
    let from = &prepared.from;
    let mut text = Lines::from("\n");
    text.add(format_args!(
        "you and kbr {KBR} changed the same lines; kept yours. kbr's changes since {from}:"
    ));
    for unmerged in &plan.unmerged {
        let mut lines = unmerged.diff.lines();
        text.extend(["", &unmerged.path]);
        text.extend(lines.by_ref().take(SHOWN));
        match lines.count() {
            0 => {}
            more => text.add(format_args!(
                "… and {more} more lines: see `kbr upgrade --diff {from}..{KBR}`"
            )),
        }
    }
    output::lines(&text);
}

/// Prints what to do about the conflicts.
pub fn conflicts(prepared: &Prepared, is_marked: bool) {
    let tool = if is_marked {
        ", or with `git mergetool`"
    } else {
        ""
    };
    let mut text = Lines::from("\n");
    text.add(format_args!("resolve the conflicts in your editor{tool}:"));
    text.extend(prepared.conflicting().map(|path| format!("  {path}")));
    text += &Lines::from(
        "then:\n  kbr upgrade --continue\nor undo the upgrade:\n  kbr upgrade --abort\n",
    );
    output::lines(&text);
    notes(&prepared.notes);
}

/// Prints what is left to the user.
pub fn notes(notes: &[Note]) {
    if notes.is_empty() {
        return;
    }
    let mut text = Lines::from("\nleft for you to do:\n");
    text.extend(
        notes
            .iter()
            .map(|it| format!("  {}: {}", it.place, it.text)),
    );
    output::lines(&text);
}

/// Prints the result of a dry run on stdout: the difference of each file, the library's left out.
///
/// # Errors
/// stdout cannot be written.
pub fn dry_run(prepared: &Prepared) -> anyhow::Result<()> {
    notes(&prepared.notes);
    output::message("nothing was written: this is a dry run");
    let written = prepared
        .plan
        .changes
        .iter()
        .filter(|change| change.writes());
    let text: String = written.filter_map(difference).collect();
    output::data(&text)
}

fn difference(change: &Change) -> Option<String> {
    (!kbr_scaffold::library::has(&change.path)).then(|| kbr_manifests::diff(change))
}

/// Prints the result of `--check`.
///
/// # Errors
/// stdout cannot be written.
pub fn check(prepared: &Prepared, format: Format, is_current: bool) -> anyhow::Result<()> {
    let plan = &prepared.plan;
    if format == Format::Json {
        let written = plan
            .changes
            .iter()
            .filter(|change| change.writes() && !is_current);
        let changes = written.map(|change| {
            let verb = report::name(change.verb);
            json!({ "path": change.path, "verb": verb })
        });
        let left = prepared.notes.iter();
        let left = left.map(|note| json!({ "place": note.place, "text": note.text }));
        let json = json!({
            "from": prepared.from,
            "to": KBR,
            "changes": changes.collect::<Vec<_>>(),
            "deleted": plan.deleted,
            "notText": plan.not_text,
            "library": prepared.edited.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            "dropped": plan.dropped,
            "unmerged": plan.unmerged.iter().map(|it| &it.path).collect::<Vec<_>>(),
            "notes": left.collect::<Vec<_>>(),
        });
        return output::data(&format!("{json:#}\n"));
    }
    if is_current {
        nothing_to_do();
        return Ok(());
    }
    changes(prepared);
    let count = |verb| {
        plan.changes
            .iter()
            .filter(|change| change.verb == verb)
            .count()
    };
    let conflicts = count(Verb::Conflict);
    let text = match &*prepared.from {
        KBR => format!("the library is to be moved; conflicts: {conflicts}"),
        from => format!("PROJECT says kbr {from}, but this is kbr {KBR}; conflicts: {conflicts}"),
    };
    let stale = Diagnostic::new(text).help("run `kbr upgrade`");
    output::failure("error", &stale.into());
    Ok(())
}
