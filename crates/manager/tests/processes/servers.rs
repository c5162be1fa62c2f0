//! Test malicious clients of each server. Other clients must be served, and memory must stay within bounds.

use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use kbr_testing::eventually;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    operator::SailorSpec,
    replica::{LONG, Replica, Setup},
    world::World,
};

/// The time limit of a client for a handshake or the head of a request, plus a margin for a busy machine.
const PATIENCE: Duration = Duration::from_secs(10 + 30);

/// When a silent client is disconnected. A server holds 250 connections, so a client that had to wait for many of them
/// to be closed would wait for many times that.
const CUT_OFF: Duration = Duration::from_secs(10);

/// The maximum growth of an operator in kB: the maximum number of connections, each with as much data as it can hold.
const GROWTH: u64 = 32 * 1024;

pub async fn misbehaving_clients_do_not_block_others(world: &mut World) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let plain = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    let flags = ["--metrics-secure"];
    let secure = Replica::start(&world.plane, "b", &Setup::new(&namespace, &flags)).await?;
    let (probes, metrics) = (
        port(&plain, "probes").await?,
        port(&plain, "metrics").await?,
    );
    let tls = port(&secure, "metrics").await?;
    let before = [memory(&plain)?, memory(&secure)?];

    let open_files = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: open_files.maximum,
        ..open_files
    };
    setrlimit(Resource::Nofile, most)?;
    let many = world.either(1200, 10_000);
    for port in [probes, metrics, tls] {
        let started = Instant::now();
        let idle = open(many, port)?;
        served(&plain, &format!("{} idle connections", idle.len()))?;
        if port == tls {
            handshake(tls)?;
        }
        let (took, most) = (started.elapsed(), CUT_OFF * u32::try_from(many / 250)? / 2);
        anyhow::ensure!(
            took < most,
            "others waited for {took:?}, until idle clients were cut off"
        );
        drop(idle);
    }
    let idle_growth = grown(&plain, before[0])?.max(grown(&secure, before[1])?);

    for port in [probes, metrics, tls] {
        for garbage in garbage() {
            // The response does not matter, only that it ends.
            send(port, &garbage)?;
        }
        let most = world.either(10, 100) * 1024 * 1024;
        body(port, most)?;
    }
    served(&plain, "garbage and large bodies")?;
    handshake(tls)?;

    let slow = [probes, metrics, tls].map(|port| std::thread::spawn(move || slow_loris(port)));
    let slow = slow.map(|thread| thread.join().expect("no panic"));
    let slow = slow.into_iter().collect::<Result<Vec<_>, _>>()?;
    served(&plain, "slow heads")?;
    let growth = grown(&plain, before[0])?.max(grown(&secure, before[1])?);
    anyhow::ensure!(
        growth.max(idle_growth) <= GROWTH,
        "an operator has grown by {} kB",
        growth.max(idle_growth)
    );
    let slowest = slow.into_iter().max().unwrap_or_default();
    Ok(format!(
        "{many} idle connections a server: grown by {idle_growth} kB; after all {growth} kB; \
         slow heads are cut off after {slowest:.1?} at most"
    ))
}

pub async fn startup_log_lines_have_the_order_of_controller_runtime(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    world.make(&namespace, 1, |_| SailorSpec::default()).await?;
    let replica = Replica::start(&world.plane, "a", &Setup::new(&namespace, &[])).await?;
    replica.reconciles(Duration::ZERO, LONG).await?;
    let (log, mut from) = (replica.log(), 0);
    let lines = [
        "serving metrics",
        "starting manager",
        "serving health probes",
        r#""kind":"Sailor""#,
        "starting controller",
        r#""workers":10"#,
    ];
    for line in lines {
        let at = log[from..].find(line);
        from += at.with_context(|| format!("no `{line}` where it belongs in\n{log}"))?;
    }
    Ok(lines.join(", "))
}

async fn port(replica: &Replica, what: &str) -> anyhow::Result<u16> {
    let message = match what {
        "probes" => "serving health probes",
        _ => "serving metrics",
    };
    let look = async || Ok(replica.port(message).ok());
    eventually(LONG, message, look).await
}

fn open(many: usize, port: u16) -> anyhow::Result<Vec<TcpStream>> {
    (0..many)
        .map(|number| {
            TcpStream::connect(("127.0.0.1", port))
                .with_context(|| format!("connection {number}\nhelp: raise `ulimit -n`"))
        })
        .collect()
}

/// Checks that both plain servers answer well-behaved clients.
fn served(replica: &Replica, under: &str) -> anyhow::Result<()> {
    let context = || format!("under {under}");
    let probe = replica.probe("/healthz").with_context(context)?;
    anyhow::ensure!(probe.status == 200, "{} under {under}", probe.status);
    let up = replica.metric("process_start_time_seconds", "");
    anyhow::ensure!(up.with_context(context)? > 0.0, "no metrics under {under}");
    Ok(())
}

/// Checks that a TLS handshake is answered.
fn handshake(port: u16) -> anyhow::Result<()> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from("localhost")?;
    let mut client = rustls::ClientConnection::new(config.into(), name)?;
    let mut stream = connect(port)?;
    let mut end = Ok(0);
    while client.is_handshaking() && end.is_ok() {
        end = client.complete_io(&mut stream).map(|(read, _)| read);
    }
    // No CA of ours signed the certificate. That we see it is enough.
    let error = end.err().map(|error| error.to_string()).unwrap_or_default();
    anyhow::ensure!(error.contains("certificate"), "no handshake: `{error}`");
    Ok(())
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Data that is neither HTTP/1.1 nor TLS, and a head that does not end.
fn garbage() -> [Vec<u8>; 4] {
    let random: Vec<u8> = (0..64_u32 * 1024)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let endless = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(4 << 20));
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec(),
        random,
        vec![0x16, 0x03, 0x01, 0xff, 0xff],
        endless.into_bytes(),
    ]
}

/// Sends these bytes, and waits until the server has closed the connection.
fn send(port: u16, bytes: &[u8]) -> anyhow::Result<()> {
    let mut stream = connect(port)?;
    // The server may close the connection before everything is sent.
    let _ = stream.write_all(bytes);
    closed(&mut stream)
}

/// Waits until the server has closed the connection.
fn closed(stream: &mut TcpStream) -> anyhow::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                anyhow::bail!("a connection is not closed within {PATIENCE:?}")
            }
            Err(_) => return Ok(()),
        }
    }
}

/// Sends a request with a body of this length.
fn body(port: u16, length: usize) -> anyhow::Result<()> {
    let mut stream = connect(port)?;
    let head = format!("POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    let chunk = vec![b'x'; 64 * 1024];
    let mut sent = stream.write_all(head.as_bytes());
    for _ in 0..length / chunk.len() {
        sent = sent.and_then(|()| stream.write_all(&chunk));
    }
    closed(&mut stream)
}

/// Sends a head one byte at a time; returns when the connection was closed.
fn slow_loris(port: u16) -> anyhow::Result<Duration> {
    let mut stream = connect(port)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let started = Instant::now();
    stream.write_all(b"GET / HTTP/1.1\r\nx: ")?;
    let mut buffer = [0; 4096];
    loop {
        anyhow::ensure!(started.elapsed() < PATIENCE, "a slow head is not cut off");
        if stream.write_all(b"y").is_err() {
            return Ok(started.elapsed());
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(started.elapsed()),
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(started.elapsed());
            }
            _ => {}
        }
    }
}

/// The resident memory of a replica, in kB.
fn memory(replica: &Replica) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", replica.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("its memory")?.parse()?)
}

fn grown(replica: &Replica, before: u64) -> anyhow::Result<u64> {
    Ok(memory(replica)?.saturating_sub(before))
}
