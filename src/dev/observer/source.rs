//! Where watches come from: kbr's own API server, or the user's.

use std::io::{self, Read};
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

use anyhow::{Context, bail};
use rustix::process::Signal;

use kbr_envtest::client::Client;
use kbr_envtest::exec;

/// How to reach the API server.
#[derive(Clone, Debug)]
pub enum Source {
    /// kbr's own.
    Own(Client),
    /// That of the user's kubeconfig, which kubectl reads.
    Kubectl,
}

/// The body of a watch.
pub enum Stream {
    Own(Box<dyn Read>),
    Kubectl {
        kubectl: Child,
        stdout: ChildStdout,
        stderr: ChildStderr,
    },
}

impl Source {
    /// A watch that begins with the objects that exist.
    ///
    /// # Errors
    /// The API server does not answer, or kubectl cannot be run.
    pub fn watch(&self, path: &str) -> anyhow::Result<Stream> {
        let path = format!("{path}?watch=1");
        match self {
            Source::Own(client) => Ok(Stream::Own(Box::new(client.get(&path)?))),
            Source::Kubectl => {
                let mut kubectl = exec::ending_with_us("kubectl", Signal::KILL)?
                    .args(["get", "--raw", &path])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .context("cannot run kubectl")?;
                let streams = (kubectl.stdout.take(), kubectl.stderr.take());
                let (Some(stdout), Some(stderr)) = streams else {
                    bail!("kubectl has no output");
                };
                Ok(Stream::Kubectl {
                    kubectl,
                    stdout,
                    stderr,
                })
            }
        }
    }
}

impl Stream {
    /// Whether the API server has accepted the watch; of kubectl, it is not known yet.
    pub fn is_answered(&self) -> bool {
        matches!(self, Stream::Own(_))
    }

    /// Waits for kubectl to end.
    ///
    /// # Errors
    /// What kubectl printed.
    pub fn end(mut self) -> anyhow::Result<()> {
        if let Stream::Kubectl {
            kubectl, stderr, ..
        } = &mut self
            && !kubectl.wait()?.success()
        {
            let mut text = String::new();
            stderr.read_to_string(&mut text)?;
            bail!(
                "{}",
                text.trim()
                    .lines()
                    .next_back()
                    .unwrap_or("kubectl failed")
                    .to_owned()
            );
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Own(body) => body.read(buffer),
            Stream::Kubectl { stdout, .. } => stdout.read(buffer),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Stream::Kubectl { kubectl, .. } = self {
            // It may have ended.
            let _ = kubectl.kill();
            let _ = kubectl.wait();
        }
    }
}
