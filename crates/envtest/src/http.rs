//! GET requests over HTTPS, through the proxy that the environment names.

use std::fmt::Display;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use ureq::http::{Response, header};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::address::{self, Reach};
use kbr_host::diagnostic::Diagnostic;

/// Time to find and to reach a server, each.
const CONNECT: Duration = Duration::from_secs(30);
/// Time until an answer begins.
const ANSWER: Duration = Duration::from_secs(60);
const REDIRECTS: u32 = 5;
const USER_AGENT: &str = concat!("kbr/", env!("CARGO_PKG_VERSION"));

/// Nothing could be downloaded; nothing wrong was received either.
#[derive(Debug)]
pub struct Unavailable(pub Diagnostic);

impl Unavailable {
    /// `text` is a sentence in lower case.
    pub fn new(text: impl Display) -> Self {
        let help =
            "check the network and HTTPS_PROXY, or pass the URL of a reachable index with --index";
        Unavailable(Diagnostic::new(text).help(help))
    }
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing was downloaded")
    }
}

/// Why, with what to do.
impl std::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// An answer that has begun.
pub enum Answer {
    /// The file from byte `start` on.
    Part {
        start: u64,
        /// The number of bytes from there on, if the server reports it.
        length: Option<u64>,
        body: Box<dyn Read + Send>,
    },
    /// The file has no byte `start`.
    NoMore,
}

/// Requests `url` from byte `start` on; a server may answer with the whole file instead.
///
/// # Errors
/// [`Unavailable`], if the server does not answer so.
pub fn get(url: &str, start: u64) -> anyhow::Result<Answer> {
    let mut request = agent(url)?.get(url);
    if start > 0 {
        request = request.header(header::RANGE, format!("bytes={start}-"));
    }
    let answer = match request.call() {
        Ok(answer) => answer,
        Err(error) => {
            return Err(Unavailable::new(format_args!("cannot get `{url}`: {error}")).into());
        }
    };
    let status = answer.status();
    let start = match status.as_u16() {
        200 => 0,
        206 => first_byte(&answer).unwrap_or(u64::MAX),
        416 if start > 0 => return Ok(Answer::NoMore),
        _ => {
            let text = format!("cannot get `{url}`: HTTP status {status}");
            return Err(Unavailable::new(text).into());
        }
    };
    let body = answer.into_body();
    Ok(Answer::Part {
        start,
        length: body.content_length(),
        body: Box::new(body.into_reader()),
    })
}

fn agent(url: &str) -> anyhow::Result<Agent> {
    let reach = address::reach(url)
        .map_err(|reason| Diagnostic::new(reason).help("pass an https:// URL"))?;
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let mut config = Agent::config_builder()
        .tls_config(tls)
        .https_only(reach == Reach::Https)
        .http_status_as_error(false)
        .max_redirects(REDIRECTS)
        .user_agent(USER_AGENT)
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(ANSWER));
    if reach == Reach::Loopback {
        config = config.proxy(None);
    }
    Ok(config.build().into())
}

/// The first byte of `Content-Range: bytes 5-9/10`.
fn first_byte(answer: &Response<Body>) -> Option<u64> {
    let range = answer.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range
        .strip_prefix("bytes ")?
        .split('-')
        .next()?
        .parse()
        .ok()
}
