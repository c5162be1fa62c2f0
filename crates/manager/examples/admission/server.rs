//! The server under measurement: its process, and calls to it.

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use kbr_testing::eventually;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The server as a process, which is killed on drop.
pub struct Server {
    process: Child,
    pub port: u16,
    pub authority: String,
    connector: TlsConnector,
    _folder: tempfile::TempDir,
}

impl Server {
    pub async fn start(core: Option<&str>, task: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names)?;
        let authority = made.cert.pem();
        fs::write(folder.path().join("tls.crt"), &authority)?;
        fs::write(
            folder.path().join("tls.key"),
            made.signing_key.serialize_pem(),
        )?;
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let server = Self {
            process: spawn(core, task, port, folder.path())?,
            port,
            connector: connector(&authority)?,
            authority,
            _folder: folder,
        };
        let within = Duration::from_secs(60);
        eventually(within, "it serves", async || {
            Ok(server.connect().await.ok())
        })
        .await?;
        Ok(server)
    }

    pub async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let stream = self.connector.connect(name, stream).await?;
        Ok(Connection(BufReader::new(stream)))
    }

    /// CPU seconds so far, in steps of 10 ms.
    pub fn cpu(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields = stat.rsplit_once(") ").context("no name in stat")?.1;
        // See proc_pid_stat(5): user and system time, in ticks of 10 ms on Linux.
        let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
    }

    /// The current memory in megabytes.
    pub fn memory(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let value = line.context("no VmRSS")?.trim().trim_end_matches(" kB");
        Ok(value.parse::<f64>()? * 1024.0 / 1e6)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(core: Option<&str>, task: &str, port: u16, folder: &Path) -> anyhow::Result<Child> {
    let own = std::env::current_exe()?;
    let mut command = match core {
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", core]).arg(own);
            command
        }
        None => Command::new(own),
    };
    command.arg(task).arg(port.to_string()).arg(folder);
    command.spawn().context("cannot start the server")
}

fn connector(authority: &str) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

/// The first line of a request or a response, and the length of its body.
pub async fn read_head(
    stream: &mut (impl AsyncBufRead + Unpin),
) -> anyhow::Result<(String, usize)> {
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    ensure!(stream.read_line(&mut first).await? > 0, "it was closed");
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.split_once(':') else {
            return Ok((first, length));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
    }
}

/// A connection that is kept alive, as the API server does.
pub struct Connection(BufReader<TlsStream<TcpStream>>);

impl Connection {
    pub async fn post(&mut self, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        self.0.write_all(&[head.as_bytes(), body].concat()).await?;
        self.0.flush().await?;
        let (status, length) = read_head(&mut self.0).await?;
        ensure!(status.contains(" 200 "), "the server answered {status}");
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).await?;
        Ok(answer)
    }
}
