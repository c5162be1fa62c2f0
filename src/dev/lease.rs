//! The Lease of the operator that is deployed in the user's own cluster: kbr takes it while it runs the operator of the sources, so that
//! only one of both reconciles.
//!
//! A leader that has lost its Lease ends at the latest when that would have expired, so kbr waits that long. It renews the Lease, and gives
//! it back at the end. If kbr is killed, it expires, and the deployed operator goes on.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kbr_envtest::progress;
use kbr_host::diagnostic::{Diagnostic, Problem};
use kbr_host::output;
use kbr_host::signals::Stop;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How often the Lease is renewed.
const PERIOD: Duration = Duration::from_secs(5);

/// How long it is kbr's without being renewed, in seconds.
const DURATION: u64 = 15;

/// How long renewing may fail, for example because the network does, until it counts as lost.
const DEADLINE: Duration = Duration::from_secs(10);

/// How often a leader may renew it while kbr takes it.
const ATTEMPTS: usize = 5;

/// The name of a Lease.
#[derive(Clone, Debug)]
pub struct Name {
    /// `captains-system`
    pub namespace: String,
    /// `captains.example.com`
    pub name: String,
}

/// A Lease that kbr holds. Dropping it gives it back.
#[derive(Debug)]
pub struct Lease {
    name: Name,
    holder: String,
    lost: Arc<AtomicBool>,
    end: Option<Sender<()>>,
    renewing: Option<JoinHandle<()>>,
}

/// Takes the Lease, if there is one, and waits until its leader has ended. `agrees` is asked if one leads now, with a question.
///
/// # Errors
/// The user does not agree, the cluster does not answer, or `stop` is set.
pub fn take(
    name: Name,
    agrees: impl FnOnce(&str) -> anyhow::Result<bool>,
    stop: &Stop,
) -> anyhow::Result<Option<Lease>> {
    let found = find(&name).map_err(|error| {
        let text = format!("cannot tell whether a deployed operator leads: {error:#}");
        let help = "get permission to read and change the Lease, or let the two take turns: `kbr dev --use-existing-cluster -- --leader-elect`";
        Diagnostic::new(text).help(help)
    })?;
    let Some(found) = found else {
        return Ok(None);
    };
    let leader = found["spec"]["holderIdentity"].as_str().unwrap_or_default();
    if expires(&found).is_some() {
        let question = format!(
            "{leader} leads in the cluster, in the namespace {}. Take its Lease, and give it back at the end?",
            name.namespace
        );
        if !agrees(&question)? {
            let text = format!("the deployed operator leads, as {leader}");
            let help = "both would write the same objects: take its Lease with --take-lease, or scale its Deployment to 0";
            return Err(Diagnostic::new(text).help(help).into());
        }
    }
    let (mut lease, expires) = Lease::taken(name)?;
    lease.renew();
    if let Some(expires) = expires {
        progress("taken", "the Lease; waiting until its leader has ended");
        while Instant::now() < expires && !stop.requested() {
            thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(Some(lease))
}

impl Lease {
    /// Writes kbr into the Lease. Also returns when its leader has ended, if there was one.
    fn taken(name: Name) -> anyhow::Result<(Self, Option<Instant>)> {
        // Not that of another machine with the same process id.
        let began = OffsetDateTime::now_utc().unix_timestamp();
        let holder = format!("kbr-dev-{}-{began}", std::process::id());
        let mut failed = None;
        for _ in 0..ATTEMPTS {
            let mut found = find(&name)?.context("the Lease was deleted")?;
            let until = expires(&found);
            let transitions = found["spec"]["leaseTransitions"].as_u64().unwrap_or(0);
            let now = now();
            found["spec"] = json!({
                "holderIdentity": holder, "leaseDurationSeconds": DURATION, "acquireTime": now, "renewTime": now,
                "leaseTransitions": transitions + 1,
            });
            // Fails with a conflict if its leader has renewed it meanwhile.
            match kubectl(&["replace", "-f", "-"], Some(&found)) {
                Ok(_) => {
                    let lease = Self {
                        name,
                        holder,
                        lost: Arc::default(),
                        end: None,
                        renewing: None,
                    };
                    return Ok((lease, until));
                }
                Err(error) => failed = Some(error),
            }
        }
        let why = failed.map_or_else(String::new, |error| error.to_string());
        bail!("cannot take the Lease: {why}")
    }

    /// Renews it from now on.
    fn renew(&mut self) {
        let (end, ended) = mpsc::channel::<()>();
        let (name, holder, lost) = (self.name.clone(), self.holder.clone(), self.lost.clone());
        self.renewing = Some(thread::spawn(move || {
            let mut renewed = Instant::now();
            let is_taken =
                || find(&name).is_ok_and(|it| it.is_none_or(|it| !is_held(&it, &holder)));
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                match patch(&name, &holder, &json!({ "renewTime": now() })) {
                    Ok(()) => renewed = Instant::now(),
                    Err(error) if renewed.elapsed() >= DEADLINE || is_taken() => {
                        let text = format!("the Lease is lost: {error:#}");
                        output::problem("warning", &Problem::new(text));
                        lost.store(true, Ordering::Relaxed);
                        return;
                    }
                    Err(_) => {}
                }
            }
        }));
        self.end = Some(end);
    }

    /// Whether it could not be renewed.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end = None;
        if let Some(renewing) = self.renewing.take() {
            drop(renewing.join());
        }
        // As client-go releases a Lease.
        let free = json!({ "holderIdentity": "", "leaseDurationSeconds": 1 });
        if !self.is_lost() && patch(&self.name, &self.holder, &free).is_ok() {
            progress("given back", "the Lease of the deployed operator");
        }
    }
}

/// Replaces fields of the Lease if it is still kbr's.
fn patch(name: &Name, holder: &str, fields: &Value) -> anyhow::Result<()> {
    let path = "/spec/holderIdentity";
    let mut operations = vec![json!({ "op": "test", "path": path, "value": holder })];
    let fields = fields.as_object().into_iter().flatten();
    operations.extend(
        fields.map(
            |(field, value)| json!({ "op": "replace", "path": format!("/spec/{field}"), "value": value }),
        ),
    );
    let operations = Value::from(operations).to_string();
    let Name { namespace, name } = name;
    let words = ["patch", "lease", name, "--namespace", namespace];
    kubectl(
        &[&words[..], &["--type=json", "--patch", &operations]].concat(),
        None,
    )?;
    Ok(())
}

fn find(name: &Name) -> anyhow::Result<Option<Value>> {
    let Name { namespace, name } = name;
    let words = ["get", "lease", name, "--namespace", namespace];
    let found = kubectl(
        &[&words[..], &["--ignore-not-found", "--output=json"]].concat(),
        None,
    )?;
    if found.is_empty() {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&found)?))
}

fn is_held(lease: &Value, holder: &str) -> bool {
    lease["spec"]["holderIdentity"] == holder
}

/// When its leader has ended that does not renew it any more, if one leads.
fn expires(lease: &Value) -> Option<Instant> {
    let spec = &lease["spec"];
    spec["holderIdentity"]
        .as_str()
        .filter(|it| !it.is_empty())?;
    let duration = Duration::from_secs(spec["leaseDurationSeconds"].as_u64()?);
    let renewed = OffsetDateTime::parse(spec["renewTime"].as_str()?, &Rfc3339).ok()?;
    let expires = renewed.checked_add(duration.try_into().ok()?)?;
    let left = Duration::try_from(expires - OffsetDateTime::now_utc()).ok()?;
    Some(Instant::now() + left)
}

/// With six digits of a second: the API server reads no other number of them.
fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let (date, (hour, minute, second, micros)) = (now.date(), now.time().as_hms_micro());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The output of the user's kubectl.
fn kubectl(arguments: &[&str], input: Option<&Value>) -> anyhow::Result<Vec<u8>> {
    let stdin = if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    let mut process = Command::new("kubectl")
        .args(arguments)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run kubectl")?;
    if let (Some(input), Some(stdin)) = (input, process.stdin.take()) {
        serde_json::to_writer(stdin, input)?;
    }
    let output = process.wait_with_output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    bail!(
        "{}",
        errors
            .trim()
            .lines()
            .last()
            .unwrap_or("kubectl failed")
            .to_owned()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_expires_after_its_duration_if_someone_holds_it() {
        let lease = |holder: &str, ago: i64| {
            let duration = u64::try_from(15 - ago).unwrap();
            json!({ "spec": { "holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": now() } })
        };
        let left = expires(&lease("a", 5)).unwrap() - Instant::now();
        assert!((9..=10).contains(&left.as_secs()), "{left:?}");
        let old = json!({ "holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z" });
        assert_eq!(expires(&json!({ "spec": old })), None);
        assert_eq!(expires(&lease("", 5)), None);
        assert_eq!(expires(&json!({ "spec": {} })), None);
    }
}
