//! The socket through which a cluster that was left running is asked for its status, and to stop.
//!
//! A process id does not prove whose process it is: after a restart of the machine it may be any other's. Whoever answers on the
//! socket is the supervisor.

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

/// The status of the servers, a line each: name, process id, and the exit status if it has ended; `None` if no supervisor runs.
pub fn status(folder: &Path) -> io::Result<Option<String>> {
    ask(folder, STATUS, Some(TIMEOUT))
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
