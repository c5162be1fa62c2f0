//! Faults at numbered steps of a commit, for tests only: `KBR_FAULT=7:error,9:kill`.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::blueprint::{Blueprint, Presence, Source, difference};
use crate::changes::{self, Change, Records, Verb};
use crate::output;
use crate::project::{self, PROJECT};
use crate::release::Release;
use crate::scaffold::Part;

/// Counts a step, and makes it fail if `KBR_FAULT` has its number with `error` (an I/O error), `full` (the disk is full), `kill`
/// (SIGKILL) or `stop` (SIGSTOP; the step continues after SIGCONT). Reports the fault on stderr.
pub fn step() -> io::Result<()> {
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    let number = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    let faults = std::env::var("KBR_FAULT").unwrap_or_default();
    let mut faults = faults.split(',').filter_map(|fault| fault.split_once(':'));
    let Some((_, fault)) = faults.find(|(at, _)| at.parse() == Ok(number)) else {
        return Ok(());
    };
    output::message(format_args!("fault at step {number}"));
    let error = match fault {
        "error" => {
            return Err(io::Error::from_raw_os_error(
                rustix::io::Errno::IO.raw_os_error(),
            ));
        }
        "full" => {
            return Err(io::Error::from_raw_os_error(
                rustix::io::Errno::NOSPC.raw_os_error(),
            ));
        }
        "kill" => kill_process(getpid(), Signal::KILL),
        "stop" => kill_process(getpid(), Signal::STOP),
        _ => return Err(io::Error::other(format!("no fault `{fault}`"))),
    };
    Ok(error?)
}

/// Commands for tests only; `None` for any other command line.
///
/// - `kbr faults-drive <root>` applies the plan that stdin contains as JSON, or only reads the project if that is `null`.
/// - `kbr faults-render <release> <root>` writes the project whose PROJECT is in `root`, as that earlier release wrote it.
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
            output::message(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    })
}

fn render(release: &str, root: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(root.join(PROJECT))?;
    let tree = Blueprint::new(&project::parse(&text)?, &Release::kept(release)?)?;
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
        output::message(format_args!(
            "{}",
            super::unfinished(root)?.unwrap_or_default()
        ));
        return Ok(());
    };
    let lock = super::lock(root)?;
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
    let mut changes = changes::resolve(root, &wanted, &records)?;
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
    super::commit(&lock, &changes)
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
