//! Waits until this process leads, and runs what only the leader runs.

use tokio_util::sync::CancellationToken;

use crate::{
    cache::caches::{Watches, first_end},
    leader::election::{Election, Elector, lost},
    manager::Manager,
};

impl Manager {
    /// Runs everything that only the leader runs, while this process leads, until `stop`.
    pub(super) async fn lead(&mut self, stop: CancellationToken) -> anyhow::Result<()> {
        if !self.options.leader_elect {
            self.fence.open();
            return self.work(stop, None).await;
        }
        let election = self.election();
        election.check()?;
        let lease = election.name.clone();
        self.metrics.lead(&lease, false);
        let mut warm = self.options.warm_standby.then(|| self.fill_caches());
        tracing::info!(lease, namespace = election.namespace, "waiting to lead");
        let client = self.clients.election.clone();
        let mut elector = Elector::new(client, election, self.fence.clone());
        let acquired = tokio::select! {
            biased;
            acquired = stop.run_until_cancelled(elector.acquire()) => acquired,
            error = failed(&mut warm) => return Err(error),
        };
        let Some(deadline) = acquired else {
            // The last attempt may have acquired the lease after all.
            elector.release().await;
            return Ok(());
        };
        tracing::info!(lease, identity = self.identity, "leading");
        self.metrics.lead(&lease, true);
        // The last leader may have written what they have not seen yet.
        self.caches.doubt();
        tokio::select! {
            biased;
            () = elector.hold(deadline) => {
                self.metrics.lead(&lease, false);
                return Err(lost(&lease));
            }
            // On an error the lease is left to expire, because some work may still be running.
            result = self.work(stop, warm) => result?,
        }
        self.metrics.lead(&lease, false);
        elector.release().await;
        Ok(())
    }

    pub(super) fn election(&self) -> Election {
        let namespace = self.options.leader_election_namespace.as_deref();
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or(self.clients.election.default_namespace());
        let name = self.options.leader_election_id.as_deref();
        let name = name.filter(|name| !name.is_empty());
        Election {
            namespace: namespace.to_owned(),
            name: name.unwrap_or(&self.id).to_owned(),
            identity: self.identity.clone(),
            lease_duration: self.options.leader_election_lease_duration,
            renew_deadline: self.options.leader_election_renew_deadline,
            retry_period: self.options.leader_election_retry_period,
        }
    }
}

/// Waits for a watch of a standby to end, and returns why. A watch that fails is retried and does not end.
async fn failed(warm: &mut Option<Watches>) -> anyhow::Error {
    match warm {
        Some(watches) => first_end(watches).await,
        None => std::future::pending().await,
    }
}
