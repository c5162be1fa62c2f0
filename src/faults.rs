//! Commands for tests only, which drive a commit or render an earlier release.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::ExitCode;

use kbr_host::diagnostic::nothing_written;
use kbr_host::output;
use kbr_scaffold::blueprint::{Blueprint, Presence, Source, difference};
use kbr_scaffold::changes::{self, Change, Records, Verb};
use kbr_scaffold::commit;
use kbr_scaffold::project::{self, PROJECT};
use kbr_scaffold::scaffold::Part;

use crate::embedded;

/// Runs one of them; `None` for any other command line.
///
/// - `kbr faults-drive <root>` applies the plan that stdin contains as JSON, or only reads the project if that is `null`.
/// - `kbr faults-render <release> <root>` makes the project whose PROJECT is in `root` one of that earlier release.
pub fn drive() -> Option<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let args: Vec<&str> = args.iter().map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let result = match args[..] {
        ["faults-drive", root] => run(Path::new(root)),
        ["faults-render", release, root] => render(release, Path::new(root)),
        _ => return None,
    };
    Some(match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::failure("error", &error);
            ExitCode::FAILURE
        }
    })
}

fn render(version: &str, root: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(root.join(PROJECT))?;
    let text = project::with_release(&text, version)?;
    std::fs::write(root.join(PROJECT), &text)?;
    let tree = Blueprint::new(&project::parse(&text)?, &embedded::kept(version)?)?;
    for (path, file) in tree.files() {
        let target = root.join(path);
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(target, file.text(path)?)?;
    }
    Ok(())
}

fn run(root: &Path) -> anyhow::Result<()> {
    let mut plan = String::new();
    io::stdin().read_to_string(&mut plan)?;
    let Some(wanted) = serde_json::from_str::<Option<Vec<PlannedStep>>>(&plan)? else {
        if let Some(unfinished) = commit::unfinished(root)? {
            output::problem("note", &unfinished);
        }
        return Ok(());
    };
    let lock = commit::lock(root).map_err(nothing_written)?;
    let (mut parts, mut removed, mut records) = (Vec::new(), Vec::new(), Records::default());
    for wanted in wanted {
        match wanted {
            PlannedStep::Part(part) => parts.push(part),
            PlannedStep::Head { head } => records.head = Some(head),
            PlannedStep::Table { table } => records.tables.push(table),
            PlannedStep::Remove { remove } => removed.push(remove),
        }
    }
    let mut tree = Blueprint::default();
    tree.add(Source::Head, parts)?;
    let wanted = difference(&tree, &[(Source::Head, Presence::New)], false);
    let mut changes = changes::resolve(
        root,
        &wanted,
        &[],
        &records,
        &embedded::current()?.scaffolds,
    )?;
    for path in removed {
        let before = Some(std::fs::read(root.join(&path))?);
        let (verb, after) = (Verb::Remove, Vec::new());
        changes.push(Change {
            path,
            verb,
            before,
            after,
        });
    }
    commit::commit(&lock, &changes).map(drop)
}

/// The changes of a command. `kbr create` removes no files, but `kbr manifests` does.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum PlannedStep {
    Part(Part),
    Head { head: String },
    Table { table: String },
    Remove { remove: String },
}
