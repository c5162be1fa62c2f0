//! The relay of `kbr envtest run`: addresses that the API server calls as long as it runs, and that reach the operators that run now.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use serde_json::json;

/// The folder of the relay: its socket, and the certificate for operators with its CA.
const VARIABLE: &str = "KBR_ENVTEST_RELAY";

/// Longer than the relay waits for the calls of an operator to end.
const LEAVING: Duration = Duration::from_secs(60);

/// The relay of the API server that this test runs on.
#[derive(Debug)]
pub(super) struct Relay {
    folder: PathBuf,
}

/// An operator that the relay calls, until this is dropped. That waits until the calls that are under way have ended.
#[derive(Debug)]
pub(super) struct Membership(UnixStream);

impl Relay {
    /// Finds it by the environment of the test.
    pub(super) fn find() -> anyhow::Result<Self> {
        let folder = std::env::var_os(VARIABLE).with_context(|| {
            format!(
                "this test needs a newer kbr: `{VARIABLE}` is not set; nothing was touched\n\
                 help: install kbr {} or newer, and run `make test`",
                env!("CARGO_PKG_VERSION")
            )
        })?;
        let folder = PathBuf::from(folder);
        Ok(Self { folder })
    }

    /// The folder with `tls.crt` and `tls.key`. Others may put files there, which live as long as the API server.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The CA of that certificate, in PEM.
    pub(super) fn ca(&self) -> anyhow::Result<String> {
        let path = self.folder.join("ca.crt");
        fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    }

    /// Lets these endpoints reach the operator that listens on `port`; returns the ports that the API server is to call.
    pub(super) fn join<const N: usize>(
        &self,
        port: u16,
        endpoints: [&str; N],
    ) -> anyhow::Result<(Membership, [u16; N])> {
        let socket = self.folder.join("relay.sock");
        let join = || -> io::Result<(UnixStream, [u16; N])> {
            let mut connection = UnixStream::connect(&socket)?;
            let line = json!({ "port": port, "endpoints": endpoints[..] });
            writeln!(connection, "{line}")?;
            let mut answer = String::new();
            BufReader::new(&connection).read_line(&mut answer)?;
            let ports: Vec<u16> = serde_json::from_str(&answer)?;
            let ports = ports
                .try_into()
                .map_err(|_| io::Error::other("its answer is incomplete"))?;
            Ok((connection, ports))
        };
        let (connection, ports) =
            join().with_context(|| format!("cannot ask kbr's relay at `{}`", socket.display()))?;
        Ok((Membership(connection), ports))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // An error means that the relay has ended, and calls nothing any more.
        let _ = self.0.set_read_timeout(Some(LEAVING));
        let _ = self.0.shutdown(Shutdown::Write);
        let _ = self.0.read_to_end(&mut Vec::new());
    }
}
