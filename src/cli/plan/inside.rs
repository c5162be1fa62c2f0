//! Starts the part of a plan that runs in the sandbox, which is this program again: a job on its standard input, a report on its standard
//! output, and what it does on its standard error.

use std::io::{BufWriter, Read as _, Write as _};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use kbr_envtest::exec;
use kbr_host::output;
use kbr_host::signals::Stop;
use kbr_plan::confine::{self, Sandbox};
use kbr_plan::inside::{self, Job};
use kbr_plan::report::Report;

/// The hidden command.
const COMMAND: &str = "plan-inside";

/// Runs the job in the sandbox, or without one.
///
/// # Errors
/// There is no sandbox, or the job fails, which has said why.
pub fn start(job: Job, sandbox: Option<&Sandbox>) -> anyhow::Result<Report> {
    let mut command = if let Some(sandbox) = sandbox {
        confine::command(sandbox, &[COMMAND])?
    } else {
        let mut kbr = Command::new(exec::this_program()?);
        kbr.arg(COMMAND);
        kbr
    };
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the sandbox")?;
    if let Some(stdin) = process.stdin.take() {
        let mut stdin = BufWriter::new(stdin);
        // If it ends early, it has said why.
        let _ = serde_json::to_writer(&mut stdin, &job);
        let _ = stdin.flush();
        // A large cluster takes much memory, and the plan needs some.
        drop(job);
    }
    let mut answer = Vec::new();
    if let Some(mut stdout) = process.stdout.take() {
        stdout.read_to_end(&mut answer)?;
    }
    let status = process.wait()?;
    anyhow::ensure!(status.success(), "the plan failed");
    serde_json::from_slice(&answer).context("the sandbox answered with no report")
}

/// The part in the sandbox.
///
/// # Errors
/// The job is none, or fails.
pub fn run() -> anyhow::Result<()> {
    let stop = Stop::register()?;
    let job: Job = serde_json::from_reader(std::io::stdin().lock())?;
    let report = inside::run(job, &stop)?;
    output::data(&serde_json::to_string(&report)?)
}
