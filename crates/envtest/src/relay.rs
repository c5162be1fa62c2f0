//! Addresses that the API server calls as long as it runs, and that reach the operators that run now.
//!
//! An operator under test ends with its test. The API server calls it for a moment longer, because it applies changed webhook
//! configurations late, and the CRDs that all tests share name one address for conversion. So both name a port of this relay,
//! the *endpoint*. The relay connects each call to an operator that serves the endpoint, or waits for one. It passes on
//! TLS as it is.
//!
//! An operator serves endpoints for as long as a connection to the relay's socket is open, which the kernel closes even if the
//! test is killed. The connection begins with one line, which the relay answers with the ports of the endpoints:
//!
//! ```json
//! {"port": 40001, "endpoints": ["test-x7k2p", "/home/me/captains"]}
//! [35001, 35002]
//! ```
//!
//! When the writing half of the connection is closed, the relay sends the operator no more calls, and closes the other half once
//! the last one has ended. Each call must have a connection of its own: nothing tells whether an idle one is about to be used.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::{certificates, folder};
use kbr_host::diagnostic::Diagnostic;

/// The variable with the folder of the relay.
pub const VARIABLE: &str = "KBR_ENVTEST_RELAY";

/// The folder of the relay in that of the control plane: the socket, and the certificate for what serves endpoints, with its CA.
const FOLDER: &str = "relay";
const SOCKET: &str = "relay.sock";
const CA: &str = "ca.crt";

/// How long a call waits for an operator. The API server gives up after ten seconds without a TLS handshake.
const WAIT: Duration = Duration::from_secs(15);

/// How long the only operator of an endpoint must not be called before it leaves: the API server may have read a webhook
/// configuration before it was deleted.
const QUIET: Duration = Duration::from_millis(300);

/// The longest wait for that.
const LATE: Duration = Duration::from_secs(2);

/// How long calls that are under way may take: as long as the API server waits for any answer.
const CALL: Duration = Duration::from_secs(30);

const TICK: Duration = Duration::from_millis(10);

/// The longest first line, in bytes.
const LONGEST: u64 = 65536;

/// The first line of a connection.
#[derive(Deserialize)]
struct Join {
    /// Where the operator listens on the loopback.
    port: u16,
    endpoints: Vec<String>,
}

/// An operator, and the calls of it that are under way.
struct Backend {
    port: u16,
    calls: Mutex<Calls>,
}

struct Calls {
    open: usize,
    last: Instant,
}

/// A port that the API server calls. The last backend is called first.
struct Endpoint {
    port: u16,
    backends: Vec<Arc<Backend>>,
}

/// All endpoints by name. They stay when their operators have ended.
#[derive(Clone, Default)]
struct Relay(Arc<Mutex<BTreeMap<String, Endpoint>>>);

/// The relay's folder in that of a control plane.
pub fn folder_of(control_plane: &Path) -> PathBuf {
    control_plane.join(FOLDER)
}

/// Writes the certificate for what serves endpoints.
pub fn write_certificate(control_plane: &Path) -> anyhow::Result<()> {
    let folder = folder_of(control_plane);
    let ca = certificates::loopback(&folder)?;
    folder::write(&folder.join(CA), &ca)
}

/// Accepts operators and calls from now on, as long as this process runs.
pub fn start(control_plane: &Path) -> anyhow::Result<()> {
    let socket = folder_of(control_plane).join(SOCKET);
    let listener = UnixListener::bind(&socket).map_err(|error| {
        let text = format!("cannot listen on `{}`: {error}", socket.display());
        let help = "if the path is too long, set TMPDIR, or XDG_DATA_HOME for kbr cluster, to a shorter one";
        Diagnostic::new(text).help(help)
    })?;
    let relay = Relay::default();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let relay = relay.clone();
            // An error means that the test has ended.
            thread::spawn(move || relay.serve(connection));
        }
    });
    Ok(())
}

impl Relay {
    /// Calls an operator until its connection is closed.
    fn serve(&self, mut connection: UnixStream) -> io::Result<()> {
        let mut line = String::new();
        let mut reader = BufReader::new(connection.try_clone()?);
        reader.by_ref().take(LONGEST).read_line(&mut line)?;
        let join: Join = serde_json::from_str(&line)?;
        let backend = Arc::new(Backend {
            port: join.port,
            calls: Mutex::new(Calls {
                open: 0,
                last: Instant::now(),
            }),
        });
        let answered = self.join(&join.endpoints, &backend).and_then(|ports| {
            writeln!(connection, "{}", serde_json::json!(ports))?;
            io::copy(&mut reader, &mut io::sink())
        });
        self.leave(&backend);
        answered.map(drop)
    }

    /// Adds an operator to endpoints; returns their ports.
    fn join(&self, names: &[String], backend: &Arc<Backend>) -> io::Result<Vec<u16>> {
        let mut endpoints = self.lock();
        let mut ports = Vec::new();
        for name in names {
            if !endpoints.contains_key(name) {
                let port = self.listen(name.clone())?;
                endpoints.insert(
                    name.clone(),
                    Endpoint {
                        port,
                        backends: Vec::new(),
                    },
                );
            }
            let endpoint = endpoints.get_mut(name);
            ports.extend(endpoint.map(|endpoint| {
                endpoint.backends.push(backend.clone());
                endpoint.port
            }));
        }
        Ok(ports)
    }

    /// Removes an operator from all endpoints, and waits until the calls of it have ended.
    fn leave(&self, backend: &Arc<Backend>) {
        let began = Instant::now();
        while began.elapsed() < LATE && self.is_the_only_one(backend) && !backend.is_quiet(began) {
            thread::sleep(TICK);
        }
        for endpoint in self.lock().values_mut() {
            endpoint
                .backends
                .retain(|other| !Arc::ptr_eq(other, backend));
        }
        let began = Instant::now();
        while began.elapsed() < CALL && backend.lock().open > 0 {
            thread::sleep(TICK);
        }
    }

    fn is_the_only_one(&self, backend: &Arc<Backend>) -> bool {
        let endpoints = self.lock();
        let mut all = endpoints.values().map(|endpoint| &endpoint.backends[..]);
        all.any(|backends| matches!(backends, [one] if Arc::ptr_eq(one, backend)))
    }

    /// Listens on a free port; returns it.
    fn listen(&self, name: String) -> io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let relay = self.clone();
        thread::spawn(move || {
            for call in listener.incoming().flatten() {
                let (relay, name) = (relay.clone(), name.clone());
                thread::spawn(move || relay.connect(&call, &name));
            }
        });
        Ok(port)
    }

    /// Connects a call to an operator of this endpoint, as soon as one accepts it.
    fn connect(&self, call: &TcpStream, name: &str) {
        let began = Instant::now();
        while began.elapsed() < WAIT {
            for backend in self.backends(name) {
                // It counts from here on, so that the operator does not end meanwhile.
                let Some(open) = self.open(name, backend) else {
                    continue;
                };
                if let Ok(operator) = TcpStream::connect((Ipv4Addr::LOCALHOST, open.0.port)) {
                    // An error means that one of them has closed the connection.
                    let _ = copy_both(call, &operator);
                    return;
                }
            }
            thread::sleep(TICK);
        }
    }

    fn backends(&self, name: &str) -> Vec<Arc<Backend>> {
        let endpoints = self.lock();
        let found = endpoints.get(name).map(|endpoint| &endpoint.backends[..]);
        found.unwrap_or_default().iter().rev().cloned().collect()
    }

    /// Counts a call, unless the operator has left.
    fn open(&self, name: &str, backend: Arc<Backend>) -> Option<Open> {
        let endpoints = self.lock();
        let backends = &endpoints.get(name)?.backends;
        let serves = backends.iter().any(|other| Arc::ptr_eq(other, &backend));
        serves.then(|| {
            backend.lock().open += 1;
            Open(backend)
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Endpoint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend {
    /// Whether it has not been called for a moment after `began`.
    fn is_quiet(&self, began: Instant) -> bool {
        let calls = self.lock();
        calls.open == 0 && calls.last.max(began).elapsed() >= QUIET
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is under way, until this is dropped.
struct Open(Arc<Backend>);

impl Drop for Open {
    fn drop(&mut self) {
        let mut calls = self.0.lock();
        calls.open -= 1;
        calls.last = Instant::now();
    }
}

/// Copies in both directions until both have ended.
fn copy_both(call: &TcpStream, operator: &TcpStream) -> io::Result<()> {
    // Answers are small, and should be sent without delay.
    call.set_nodelay(true)?;
    operator.set_nodelay(true)?;
    thread::scope(|scope| {
        scope.spawn(|| copy(call, operator));
        copy(operator, call);
        // The operator has answered; without this, a caller that keeps its half open would keep the call.
        let _ = call.shutdown(Shutdown::Both);
    });
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // The other side learns of an error by the end of the stream.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests;
