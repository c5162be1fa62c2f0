//! Leader election with a `Lease`, like in client-go (`k8s.io/client-go/tools/leaderelection`).
//!
//! * Another holder counts as gone only after this process itself has seen its record unchanged for a whole lease
//!   duration, so the clocks of the machines need not agree.
//! * Each write carries the resource version that was read, so only one of two candidates succeeds.
//! * A leader that cannot renew within the renew deadline stops leading before another one may start. The deadline is
//!   counted from before the request was sent, on a clock that keeps running while the machine is suspended.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use tokio::time::{sleep, timeout};

use crate::{
    error::chain,
    leader::{clock::Instant, fence::Fence},
    simulated::{self, random},
};

/// The parameters of an election.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Election {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Unique among all candidates, such as the name of the Pod.
    pub identity: String,
    /// How long the others wait after the last renewal.
    pub lease_duration: Duration,
    /// How long this process leads after its last renewal.
    pub renew_deadline: Duration,
    /// The pause between attempts.
    pub retry_period: Duration,
}

impl Election {
    /// An election with the durations of client-go: 15 s, 10 s and 2 s.
    #[must_use]
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// How long the process may run on after it has lost the Lease: half of the time until another one may lead.
    pub(crate) fn grace(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline) / 2
    }

    /// Rejects parameters that cannot work, like client-go.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.lease_duration > self.renew_deadline
                && self.renew_deadline > self.retry_period.mul_f64(1.2),
            "the lease lasts {:?}, must be renewed within {:?}, and is tried every {:?}\n\
             help: `--leader-election-lease-duration` must exceed `--leader-election-renew-deadline`, and that must \
             exceed `--leader-election-retry-period` by more than a fifth",
            self.lease_duration,
            self.renew_deadline,
            self.retry_period,
        );
        anyhow::ensure!(
            self.lease_duration >= Duration::from_secs(1),
            "the lease lasts {:?}\nhelp: `--leader-election-lease-duration` must be a second or more",
            self.lease_duration,
        );
        Ok(())
    }

    /// The time limit of one attempt. Exceeding it closes the connection, and leaves time within the deadline for
    /// another attempt on a new one.
    fn attempt_limit(&self) -> Duration {
        self.renew_deadline / 2
    }
}

/// One candidate.
#[derive(Debug)]
pub(crate) struct Elector {
    api: Api<Lease>,
    election: Election,
    fence: Fence,
    /// The last record of the Lease, and when it was first seen.
    observed: Option<(LeaseSpec, Instant)>,
}

impl Elector {
    /// A candidate that opens `fence` while it leads. Use `client` for nothing else, so that other requests cannot
    /// delay a renewal.
    pub(crate) fn new(client: Client, election: Election, fence: Fence) -> Self {
        Self {
            api: Api::namespaced(client, &election.namespace),
            election,
            fence,
            observed: None,
        }
    }

    /// Waits until this process leads. Dropping the future withdraws the candidate.
    ///
    /// Returns the deadline until which it leads.
    pub(crate) async fn acquire(&mut self) -> Instant {
        let mut told = None;
        loop {
            let started = Instant::now();
            match timeout(self.election.attempt_limit(), self.attempt()).await {
                Ok(Ok(true)) => return self.led_from(started),
                Ok(Ok(false)) => self.tell(&mut told),
                Ok(Err(error)) => {
                    tracing::warn!(
                        error = chain(&error),
                        "cannot acquire the lease; trying again"
                    );
                }
                Err(_) => tracing::warn!("cannot acquire the lease in time; trying again"),
            }
            sleep(jitter(self.election.retry_period)).await;
        }
    }

    /// Renews the lease, and returns when this process is no longer the leader. By then the fence is closed.
    pub(crate) async fn hold(&mut self, mut deadline: Instant) {
        let mut started = Instant::now();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let pause = self.election.retry_period;
            sleep(pause.saturating_sub(started.elapsed()).min(left)).await;
            started = Instant::now();
            let left = deadline.saturating_duration_since(started);
            let limit = self.election.attempt_limit().min(left);
            match timeout(limit, self.attempt()).await {
                // A renewal that completes after the deadline, for example on a suspended machine, is too late.
                Ok(Ok(true)) if Instant::now() < deadline => deadline = self.led_from(started),
                Ok(Ok(true)) => {}
                Ok(Ok(false)) if !self.is_ours() => break,
                Ok(Ok(false)) => tracing::info!("lost a race for the lease; trying again"),
                Ok(Err(error)) => tracing::warn!(error = chain(&error), "cannot renew the lease"),
                Err(_) => tracing::warn!(?limit, "cannot renew the lease in time"),
            }
            if Instant::now() >= deadline {
                break;
            }
        }
        self.fence.fall();
    }

    /// Releases the lease if it is ours, so that the next leader need not wait for it to expire.
    ///
    /// Call it only when nothing runs any more that needs leadership. If it fails, the next leader has to wait.
    pub(crate) async fn release(&mut self) {
        self.fence.close();
        for _ in 0..2 {
            match timeout(self.election.attempt_limit(), self.try_release()).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => tracing::warn!(error = chain(&error), "cannot release the lease"),
                Err(_) => tracing::warn!("cannot release the lease in time"),
            }
        }
        tracing::warn!("the lease was not released; it will expire");
    }

    async fn try_release(&mut self) -> kube::Result<()> {
        let Some(mut lease) = self.api.get_opt(&self.election.name).await? else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_ref() != Some(&self.election.identity) {
            return Ok(());
        }
        let now = MicroTime(simulated::now());
        *spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            lease_transitions: spec.lease_transitions,
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            ..Default::default()
        };
        self.api
            .replace(&self.election.name, &PostParams::default(), &lease)
            .await?;
        Ok(())
    }

    /// Opens the fence for as long as a renewal that started then is valid.
    fn led_from(&self, started: Instant) -> Instant {
        let deadline = started + self.election.renew_deadline;
        self.fence.open_until(deadline);
        deadline
    }

    /// Logs every new leader once.
    fn tell(&self, told: &mut Option<String>) {
        let leader = self
            .observed
            .as_ref()
            .and_then(|(spec, _)| spec.holder_identity.clone());
        if *told != leader {
            tracing::info!(
                lease = self.election.name,
                leader,
                "another process leads; standing by"
            );
            *told = leader;
        }
    }

    fn is_ours(&self) -> bool {
        let holder = self
            .observed
            .as_ref()
            .and_then(|(spec, _)| spec.holder_identity.as_ref());
        holder == Some(&self.election.identity)
    }

    /// Tries once to acquire or renew the lease; returns whether it is ours.
    async fn attempt(&mut self) -> kube::Result<bool> {
        let Some(mut lease) = self.api.get_opt(&self.election.name).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.election.name.clone()),
                    ..Default::default()
                },
                spec: Some(self.next(None)),
            };
            return self.written(self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.take().unwrap_or_default();
        if self.observed.as_ref().is_none_or(|(seen, _)| *seen != spec) {
            self.observed = Some((spec.clone(), Instant::now()));
        }
        if self.is_held_by_another(&spec) {
            return Ok(false);
        }
        lease.spec = Some(self.next(Some(&spec)));
        let replaced = self
            .api
            .replace(&self.election.name, &PostParams::default(), &lease)
            .await;
        self.written(replaced)
    }

    /// Whether another process holds the lease, as far as this process has observed.
    fn is_held_by_another(&self, spec: &LeaseSpec) -> bool {
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder.is_empty() || holder == self.election.identity {
            return false;
        }
        // The duration that the holder uses; during a rolling update its flags may differ from ours.
        let lasts = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = lasts.map_or(self.election.lease_duration, Duration::from_secs);
        let unchanged_for = self.observed.as_ref().map(|(_, at)| at.elapsed());
        unchanged_for.is_none_or(|unchanged| unchanged < lasts)
    }

    /// Records the written Lease; a conflict means that another candidate was faster.
    fn written(&mut self, result: kube::Result<Lease>) -> kube::Result<bool> {
        match result {
            Ok(lease) => {
                self.observed = lease.spec.map(|spec| (spec, Instant::now()));
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The record that makes the lease ours, given the current one.
    fn next(&self, old: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(simulated::now());
        let ours = old.filter(|old| old.holder_identity.as_ref() == Some(&self.election.identity));
        let transitions = old
            .and_then(|old| old.lease_transitions)
            .unwrap_or_default();
        // Rounded up: other candidates must not consider the lease expired too early.
        let seconds = self.election.lease_duration.as_millis().div_ceil(1000);
        LeaseSpec {
            holder_identity: Some(self.election.identity.clone()),
            lease_duration_seconds: i32::try_from(seconds).ok(),
            acquire_time: ours
                .and_then(|ours| ours.acquire_time.clone())
                .or(Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions + i32::from(old.is_some() && ours.is_none())),
            ..Default::default()
        }
    }
}

/// The error of a process that no longer leads.
pub(crate) fn lost(lease: &str) -> anyhow::Error {
    anyhow::anyhow!("leadership lost: the lease `{lease}` was not renewed in time")
}

/// `period` plus up to a fifth of it, so that candidates do not act in step.
pub(crate) fn jitter(period: Duration) -> Duration {
    let part = u32::try_from(random() % 1000).unwrap_or_default();
    period + period.mul_f64(0.2) * part / 1000
}

#[cfg(test)]
mod tests;
