//! The socket through which a cluster that was left running is asked for its status, and to stop.
//!
//! A process id does not prove whose process it is: after a restart of the machine it may belong to another program. Only the
//! supervisor answers on the socket.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context;

/// The socket, in the folder of the cluster.
const SOCKET: &str = "control.sock";

/// How long an answer to a question about the status may take. Stopping takes as long as it takes.
const TIMEOUT: Duration = Duration::from_secs(10);

const STOP: &str = "stop";
const STATUS: &str = "status";

/// A request that waits for its answer.
pub struct Request {
    line: String,
    connection: UnixStream,
}

impl Request {
    /// Whether it asks to stop, rather than for the status.
    pub fn is_stop(&self) -> bool {
        self.line == STOP
    }

    /// Sends the answer, and closes the connection. If the asking process has ended, no one needs it.
    pub fn answer(mut self, text: &str) {
        let _ = self.connection.write_all(text.as_bytes());
    }
}

/// Passes each request to `accept`, from now on, until that returns false.
pub fn listen(
    folder: &Path,
    accept: impl Fn(Request) -> bool + Send + 'static,
) -> anyhow::Result<()> {
    let path = folder.join(SOCKET);
    close(folder);
    let listener = UnixListener::bind(&path)
        .with_context(|| format!("cannot listen on `{}`", path.display()))?;
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let request = read(connection);
            if request.is_ok_and(|request| !accept(request)) {
                return;
            }
        }
    });
    Ok(())
}

fn read(connection: UnixStream) -> io::Result<Request> {
    connection.set_read_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(connection.try_clone()?.take(64)).read_line(&mut line)?;
    let line = line.trim_end().to_owned();
    Ok(Request { line, connection })
}

/// Removes the socket.
pub fn close(folder: &Path) {
    let _ = fs::remove_file(folder.join(SOCKET));
}

/// One server of a running cluster.
#[derive(Debug, PartialEq)]
pub struct Server {
    /// Its program: `etcd`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// Its exit status if it has ended.
    pub ended: Option<String>,
}

impl Server {
    /// Parses a line `<name> <pid>`, followed by the exit status if it has ended.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        Some(Self {
            name: words.next()?.to_owned(),
            pid: words.next()?.parse().ok()?,
            ended: words.next().map(str::to_owned),
        })
    }
}

/// The servers; `None` if no supervisor runs.
pub fn status(folder: &Path) -> io::Result<Option<Vec<Server>>> {
    let answer = ask(folder, STATUS, Some(TIMEOUT))?;
    Ok(answer.map(|answer| answer.lines().filter_map(Server::parse).collect()))
}

/// Stops the servers, and waits until they have stopped; `None` if no supervisor runs.
pub fn stop(folder: &Path) -> io::Result<Option<()>> {
    Ok(ask(folder, STOP, None)?.map(drop))
}

fn ask(folder: &Path, line: &str, timeout: Option<Duration>) -> io::Result<Option<String>> {
    let mut connection = match UnixStream::connect(folder.join(SOCKET)) {
        Ok(connection) => connection,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    connection.set_read_timeout(timeout)?;
    writeln!(connection, "{line}")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(Some(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_shows_which_servers_have_ended() {
        let server = |name: &str, pid, ended: Option<&str>| Server {
            name: name.to_owned(),
            pid,
            ended: ended.map(str::to_owned),
        };
        assert_eq!(Server::parse("etcd 7"), Some(server("etcd", 7, None)));
        let ended = Some("signal: 9 (SIGKILL)");
        let line = "kwok 8 signal: 9 (SIGKILL)";
        assert_eq!(Server::parse(line), Some(server("kwok", 8, ended)));
        assert_eq!(Server::parse("etcd"), None);
    }
}
