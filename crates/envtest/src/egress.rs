//! Where kube-apiserver may connect to: nothing but the loopback.
//!
//! A cluster has Services whose endpoints are ready but fake, and kube-apiserver would call their webhooks at addresses of other
//! machines. So it sends such connections through a proxy of kbr's on a Unix socket. The proxy maps a Service to a program of
//! this machine; TLS and the names in it stay as in a real cluster. Everything else fails at once.
//!
//! Source: `apiserver.k8s.io/v1beta1`, `EgressSelectorConfiguration`; "Set up Konnectivity service" in the docs of Kubernetes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::folder;
use super::setup::Setup;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// The configuration of kube-apiserver, in the folder of the cluster.
pub const CONFIG: &str = "egress.json";

/// The socket of the proxy, in the folder of the cluster.
const SOCKET: &str = "egress.sock";

/// The Services that are programs of this machine, in the folder of the cluster: `{"NAMESPACE/NAME": PORT}`. It is read for
/// each connection.
const SERVICES: &str = "services.json";

/// The longest path of a Unix socket on every platform, in bytes.
const LONGEST_SOCKET: usize = 103;

/// The longest request of kube-apiserver, in bytes. It has a line and a header.
const LONGEST_REQUEST: u64 = 4096;

/// How long kube-apiserver may take for its request, and the program for accepting the connection.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The Services that are programs of this machine: `NAMESPACE/NAME` -> port on the loopback.
pub type Services = BTreeMap<String, u16>;

/// Writes the configuration of kube-apiserver and `services` to the folder of a cluster.
pub fn write(control_plane: &Path, services: &Services) -> anyhow::Result<()> {
    let socket = control_plane.join(SOCKET);
    if socket.as_os_str().len() > LONGEST_SOCKET {
        let text = format!(
            "the path `{}` is too long for a Unix socket",
            socket.display()
        );
        let help = "set TMPDIR, or XDG_DATA_HOME for kbr cluster, to a shorter path";
        return Err(Diagnostic::new(text).help(help).into());
    }
    let through_the_proxy = json!({
        "proxyProtocol": "HTTPConnect",
        "transport": { "uds": { "udsName": socket } },
    });
    let config = json!({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [
            // Services, Pods and nodes.
            { "name": "cluster", "connection": through_the_proxy },
            // Webhooks with a URL.
            { "name": "controlplane", "connection": through_the_proxy },
        ],
    });
    folder::write(&control_plane.join(CONFIG), &config.to_string())?;
    folder::write(&control_plane.join(SERVICES), &json!(services).to_string())
}

/// What the proxy needs to know.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// The folder of the cluster.
    pub folder: PathBuf,
    /// kubectl, which finds the Service of a cluster IP.
    pub kubectl: PathBuf,
    /// How to map a Service.
    pub how_to_map: &'static str,
}

impl Proxy {
    /// The proxy of the cluster of `setup`. `how_to_map` is part of the message about a Service that is not mapped.
    pub fn new(setup: &Setup, how_to_map: &'static str) -> Self {
        Self {
            folder: setup.folder.clone(),
            kubectl: setup.assets.join("kubectl"),
            how_to_map,
        }
    }

    /// Accepts connections from now on, each in a thread of its own, until the result is dropped.
    pub fn start(self) -> anyhow::Result<Listening> {
        let socket = self.folder.join(SOCKET);
        // It may be left over from a killed run.
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)
            .with_context(|| format!("cannot listen on `{}`", socket.display()))?;
        let ending = Arc::new(AtomicBool::new(false));
        let ends = ending.clone();
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(connection) = connection {
                    let proxy = self.clone();
                    thread::spawn(move || proxy.serve(connection));
                }
            }
        });
        let thread = Some(thread);
        Ok(Listening {
            socket,
            ending,
            thread,
        })
    }

    /// Connects kube-apiserver to a program, and copies in both directions until one of them closes.
    fn serve(&self, mut client: UnixStream) {
        // An error means that kube-apiserver has closed the connection.
        let _ = match self.connect(&client) {
            Ok(program) => client
                .write_all(b"HTTP/1.1 200 OK\r\n\r\n")
                .and_then(|()| copy_both(&client, &program)),
            Err(reason) => {
                // kube-apiserver shows the status line to the user.
                let reason = reason.replace(['\r', '\n'], " ");
                client.write_all(format!("HTTP/1.1 502 {reason}\r\n\r\n").as_bytes())
            }
        };
    }

    fn connect(&self, client: &UnixStream) -> Result<TcpStream, String> {
        let target = target(client).map_err(|error| error.to_string())?;
        let (host, port) = target
            .rsplit_once(':')
            .ok_or_else(|| format!("`{target}` has no port"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port: u16 = port.parse().map_err(|_| elsewhere(&target))?;
        let host = if host == "localhost" {
            "127.0.0.1"
        } else {
            host
        };
        let address: IpAddr = host.parse().map_err(|_| elsewhere(&target))?;
        let program = if address.is_loopback() {
            SocketAddr::from((address, port))
        } else {
            SocketAddr::from(([127, 0, 0, 1], self.mapped(host)?))
        };
        let connection = TcpStream::connect_timeout(&program, TIMEOUT);
        connection.map_err(|error| format!("nothing listens on {program}: {error}"))
    }

    /// The port of the program that is mapped to the Service with this cluster IP.
    fn mapped(&self, address: &str) -> Result<u16, String> {
        let text = regular::text(&self.folder.join(SERVICES)).unwrap_or_default();
        let services: Services = serde_json::from_str(&text).unwrap_or_default();
        let name = self.service(address)?;
        services.get(&name).copied().ok_or_else(|| {
            let how = self.how_to_map;
            format!("the Service {name} is not mapped to a port of this machine ({how})")
        })
    }

    /// The Service with this cluster IP: `NAMESPACE/NAME`.
    fn service(&self, address: &str) -> Result<String, String> {
        let listed = std::process::Command::new(&self.kubectl)
            .args(["get", "--request-timeout=5s", "--raw", "/api/v1/services"])
            .env("KUBECONFIG", self.folder.join("kubeconfig"))
            .env("KUBERC", "off")
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|error| format!("cannot list the Services: {error}"))?;
        let list: Value = serde_json::from_slice(&listed.stdout)
            .map_err(|error| format!("cannot list the Services: {error}"))?;
        let services = list["items"].as_array().into_iter().flatten();
        let mut found = services.filter(|service| service["spec"]["clusterIP"] == address);
        let meta = found.next().map(|service| &service["metadata"]);
        let meta = meta.ok_or_else(|| elsewhere(address))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(format!(
            "{}/{}",
            text(&meta["namespace"]),
            text(&meta["name"])
        ))
    }
}

/// A proxy that accepts connections. Dropping it ends that, if its folder still exists; connections last as long as kube-apiserver.
#[derive(Debug)]
pub struct Listening {
    socket: PathBuf,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        // A last connection, for which the thread waits.
        let woken = UnixStream::connect(&self.socket).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn elsewhere(target: &str) -> String {
    format!("kbr's clusters connect only to this machine, not to {target}")
}

/// The host and port of a request `CONNECT host:port HTTP/1.1`.
fn target(client: &UnixStream) -> io::Result<String> {
    client.set_read_timeout(Some(TIMEOUT))?;
    let mut lines = BufReader::new(client.take(LONGEST_REQUEST)).lines();
    let bad = || io::Error::other("not a CONNECT request");
    let first = lines.next().ok_or_else(bad)??;
    let mut words = first.split(' ');
    let (method, target) = (words.next(), words.next());
    if method != Some("CONNECT") {
        return Err(bad());
    }
    // The client sends nothing after the empty line before it is answered, so the reader takes nothing that follows.
    for line in lines {
        if line?.is_empty() {
            client.set_read_timeout(None)?;
            return Ok(target.unwrap_or_default().to_owned());
        }
    }
    Err(bad())
}

/// Copies in both directions; a side that ends is closed on the other one.
fn copy_both(client: &UnixStream, program: &TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_program) = (client.try_clone()?, program.try_clone()?);
    let upload = thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_program);
        let _ = to_program.shutdown(Shutdown::Write);
    });
    let (mut from_program, mut to_client) = (program, client);
    let _ = io::copy(&mut from_program, &mut to_client);
    client.shutdown(Shutdown::Both)?;
    let _ = upload.join();
    Ok(())
}
