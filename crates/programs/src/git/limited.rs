//! Runs git within limits: it opens whatever is in a repository, and a named pipe or a device there has no end.

use std::env;
use std::io::{self, ErrorKind, Read, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The variable that sets another time limit, in seconds.
const TIMEOUT: &str = "KBR_GIT_TIMEOUT";

/// The time limit: git takes a fraction of a second for a project, but a slow disk may have all of it.
const LIMIT: Duration = Duration::from_secs(30);

/// The most bytes that git may print: it lists files, or prints one.
const PRINTED: u64 = 64 << 20;

/// Runs `git` with `input` as its standard input, and returns what it printed.
///
/// # Errors
/// It cannot be started; it has not ended within 30 s, or what `KBR_GIT_TIMEOUT` says.
pub fn run(git: &mut Command, input: &[u8]) -> io::Result<Output> {
    let seconds = env::var(TIMEOUT).ok().and_then(|text| text.parse().ok());
    within(seconds.map_or(LIMIT, Duration::from_secs), git, input)
}

fn within(limit: Duration, git: &mut Command, input: &[u8]) -> io::Result<Output> {
    let end = Instant::now() + limit;
    let git = git.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = git.stderr(Stdio::piped()).spawn()?;
    bound_memory(child.id());
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // If git ends early, it says why.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Err(timeout(limit));
        }
        thread::sleep(Duration::from_millis(2));
    };
    // A program that git has started may keep them open.
    let rest = |from: Receiver<Vec<u8>>| {
        from.recv_timeout(end.saturating_duration_since(Instant::now()))
            .map_err(|_| timeout(limit))
    };
    Ok(Output {
        status,
        stdout: rest(stdout)?,
        stderr: rest(stderr)?,
    })
}

fn timeout(limit: Duration) -> io::Error {
    let text = format!(
        "it did not end within {} s ({TIMEOUT} sets another limit, in seconds)",
        limit.as_secs()
    );
    io::Error::new(ErrorKind::TimedOut, text)
}

/// Reads to the end on a thread of its own, which is left behind if there is no end.
fn read(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (done, all) = mpsc::channel();
    if let Some(from) = from {
        thread::spawn(move || {
            let mut all = Vec::new();
            // What was read until an error is all that there is.
            let _ = from.take(PRINTED).read_to_end(&mut all);
            done.send(all)
        });
    }
    all
}

/// git reads a small file whole, however large it is: less than a machine has, more than the index of a million files takes.
#[cfg(target_os = "linux")]
fn bound_memory(process: u32) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let most = Some(1 << 30);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    // If it has already ended, there is nothing to bound.
    process.map(|process| prlimit(Some(process), Resource::Data, limit));
}

/// Only Linux can set a limit of another process.
#[cfg(not(target_os = "linux"))]
fn bound_memory(_: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn what_a_program_prints_and_how_it_ends_is_returned() {
        let large = vec![b'a'; 1 << 20];
        let mut command = shell("cat; echo b >&2; exit 3");
        let output = within(Duration::from_secs(60), &mut command, &large).unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((output.stdout, output.stderr), (large, b"b\n".to_vec()));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_and_its_children_are_not_waited_for() {
        for script in ["exec sleep 1000", "sleep 9 & exit 0"] {
            // What it reads is larger than a pipe.
            let (mut command, input) = (shell(script), vec![b'a'; 1 << 20]);
            let error = within(Duration::from_secs(1), &mut command, &input).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert!(error.to_string().contains("within 1 s (KBR_GIT_TIMEOUT"));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_may_not_take_all_memory() {
        let mut command = shell("read line; ulimit -d");
        let output = within(Duration::from_secs(60), &mut command, b"begin\n").unwrap();
        assert_eq!(output.stdout, b"1048576\n");
    }
}
