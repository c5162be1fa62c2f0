//! The values of flags.

use std::{str::FromStr, time::Duration};

use k8s_openapi::jiff::SignedDuration;

/// An address to serve on, `HOST:PORT` or `:PORT`; or none, written `0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Option<String>);

impl Address {
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn at(address: &str) -> Self {
        Self(Some(address.to_owned()))
    }

    /// The address; `None` if it is turned off.
    #[must_use]
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self(None));
        }
        match text.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => Ok(Self(Some(text.to_owned()))),
            _ => Err("write `HOST:PORT`, `:PORT`, or `0` for none".to_owned()),
        }
    }
}

/// Where the certificate of webhooks comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum WebhookCertificate {
    /// The operator makes it, shares it between its replicas in a Secret, has the API server trust it, and renews it
    SelfManaged,
    /// It lies in files, such as those of a Secret that cert-manager keeps
    Files,
    /// It is made at start and known to nobody: for running on a developer's machine
    Memory,
}

/// What operators in Go make of `ENABLE_WEBHOOKS`.
// The form that clap asks for.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn not_false(text: &str) -> Result<bool, String> {
    Ok(text != "false")
}

/// HTTP/2 cannot be had: it is what `CVE-2023-44487` and `CVE-2023-39325` were about, and kubebuilder's default.
pub(super) fn no_http2(text: &str) -> Result<bool, String> {
    if text == "false" {
        return Ok(false);
    }
    Err(
        "servers speak HTTP/1.1 only, as HTTP/2 lets clients exhaust them\nhelp: leave it out"
            .to_owned(),
    )
}

/// Reads `15s`, `1m30s`, `500ms`, as Go writes durations.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration: Option<SignedDuration> = text.parse().ok();
    let duration = duration.and_then(|duration| Duration::try_from(duration).ok());
    duration.ok_or_else(|| "write it as `15s`, `1m30s` or `500ms`".to_owned())
}
