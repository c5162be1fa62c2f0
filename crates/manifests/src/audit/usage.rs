//! Which permissions the requests in a log used, and which they lacked. Grows with the number of permissions, not of requests.

use std::collections::{BTreeMap, BTreeSet};

use super::access::Access;
use super::event::{Decision, Verdict};
use super::granted::Permission;

/// How the operator's requests used its permissions.
#[derive(Debug)]
pub struct Usage<'a> {
    /// Each permission, and what was done with it: nothing, if it was never used.
    pub permissions: Vec<(&'a Permission, BTreeSet<Access>)>,
    /// What was denied, on objects of any name.
    pub denied: BTreeMap<Access, Denial>,
    /// What other roles allowed, on objects of any name, and which.
    pub elsewhere: BTreeMap<Access, String>,
    /// Whether there was any request.
    pub is_empty: bool,
}

/// Requests that the API server denied for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub requests: u64,
    /// The API server's answer to the first one.
    pub message: String,
    /// Whether the permissions allow all of them: the roles were others, or not yet in effect.
    pub is_granted: bool,
}

impl<'a> Usage<'a> {
    /// No request so far.
    pub fn new(permissions: &'a [Permission]) -> Self {
        let unused = |permission| (permission, BTreeSet::new());
        Self {
            permissions: permissions.iter().map(unused).collect(),
            denied: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            is_empty: true,
        }
    }

    /// Adds a decision about a request of the operator in the namespace `home`.
    pub fn add(&mut self, home: &str, decision: &Decision) {
        self.is_empty = false;
        let Decision {
            access, namespace, ..
        } = decision;
        let is_allowed = matches!(decision.verdict, Verdict::Allowed(_));
        let mut is_granted = false;
        for (permission, uses) in &mut self.permissions {
            if permission.covers(access, namespace, home) {
                is_granted = true;
                if is_allowed {
                    uses.insert(access.unnamed());
                }
            }
        }
        match &decision.verdict {
            Verdict::Denied(message) => self.deny(access, message, is_granted),
            Verdict::Allowed(reason) if !is_granted && is_by_another_role(reason) => {
                let others = self.elsewhere.entry(access.unnamed());
                others.or_insert_with(|| reason.clone());
            }
            Verdict::Allowed(_) => {}
        }
    }

    /// The permissions that no request used.
    pub fn unused(&self) -> impl Iterator<Item = &'a Permission> {
        let unused = self.permissions.iter().filter(|(_, uses)| uses.is_empty());
        unused.map(|(permission, _)| *permission)
    }

    fn deny(&mut self, access: &Access, message: &str, is_granted: bool) {
        let denial = self.denied.entry(access.unnamed());
        let denial = denial.or_insert_with(|| Denial {
            requests: 0,
            message: message.to_owned(),
            is_granted: true,
        });
        denial.requests += 1;
        denial.is_granted &= is_granted;
    }
}

/// Whether RBAC allowed it by a role that Kubernetes does not give to everybody.
fn is_by_another_role(reason: &str) -> bool {
    reason
        .strip_prefix("RBAC: allowed by ")
        .is_some_and(|by| !by.starts_with("ClusterRoleBinding \"system:"))
}
