//! `/healthz` and `/readyz`.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use hyper::{Method, StatusCode};

use crate::server::{Reply, Request};

type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// How this process is.
#[derive(Clone, Default)]
pub(crate) struct Health(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Reconciles that were cancelled and do not end.
    stuck: AtomicUsize,
    live: Mutex<Vec<(String, Check)>>,
    ready: Mutex<Vec<(String, Check)>>,
}

/// A reconcile that does not end, until it does.
pub(crate) struct Stuck(Health);

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.0.stuck.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Health {
    /// Counts a reconcile that was cancelled and does not end, for as long as what is returned lives.
    pub(crate) fn stuck(&self) -> Stuck {
        self.0.stuck.fetch_add(1, Ordering::Relaxed);
        Stuck(self.clone())
    }

    pub(crate) fn add_live(&self, name: &str, check: Check) {
        let mut checks = self.0.live.lock().unwrap_or_else(PoisonError::into_inner);
        checks.push((name.to_owned(), check));
    }

    pub(crate) fn add_ready(&self, name: &str, check: Check) {
        let mut checks = self.0.ready.lock().unwrap_or_else(PoisonError::into_inner);
        checks.push((name.to_owned(), check));
    }

    /// Answers a probe. `?verbose` lists each check, in the form of the API server's own.
    pub(crate) fn answer(&self, request: &Request) -> Reply {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Reply::status(StatusCode::METHOD_NOT_ALLOWED);
        }
        let results = match request.uri().path().trim_end_matches('/') {
            "/healthz" => self.live(),
            "/readyz" => run(&self.0.ready),
            _ => return Reply::status(StatusCode::NOT_FOUND),
        };
        let failed = results.iter().any(|(_, result)| result.is_err());
        let status = if failed {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::OK
        };
        let verbose = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("verbose"));
        if failed || verbose {
            Reply::text(status, list(request.uri().path(), &results))
        } else {
            Reply::text(status, "ok".to_owned())
        }
    }

    fn live(&self) -> Vec<(String, Result<(), String>)> {
        let stuck = self.0.stuck.load(Ordering::Relaxed);
        let reconciles = match stuck {
            0 => Ok(()),
            stuck => Err(format!("{stuck} cancelled reconciles do not end")),
        };
        let mut results = vec![
            ("ping".to_owned(), Ok(())),
            ("reconciles".to_owned(), reconciles),
        ];
        results.extend(run(&self.0.live));
        results
    }
}

fn run(checks: &Mutex<Vec<(String, Check)>>) -> Vec<(String, Result<(), String>)> {
    let checks = checks.lock().unwrap_or_else(PoisonError::into_inner);
    checks
        .iter()
        .map(|(name, check)| (name.clone(), check()))
        .collect()
}

fn list(path: &str, results: &[(String, Result<(), String>)]) -> String {
    let mut text = String::new();
    for (name, result) in results {
        // Writing to a string does not fail.
        let _ = match result {
            Ok(()) => writeln!(text, "[+]{name} ok"),
            Err(reason) => writeln!(text, "[-]{name} failed: {reason}"),
        };
    }
    let failed = results.iter().any(|(_, result)| result.is_err());
    let verdict = if failed { "failed" } else { "passed" };
    let _ = writeln!(text, "{} check {verdict}", path.trim_matches('/'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(health: &Health, uri: &str) -> (u16, String) {
        let request = hyper::Request::get(uri).body(()).unwrap();
        let reply = health.answer(&request.into_parts().0.into());
        (reply.status.as_u16(), reply.body)
    }

    #[test]
    fn a_healthy_process_says_ok() {
        let health = Health::default();
        assert_eq!(get(&health, "/healthz"), (200, "ok".to_owned()));
        assert_eq!(get(&health, "/readyz/"), (200, "ok".to_owned()));
        assert_eq!(get(&health, "/").0, 404);
    }

    #[test]
    fn a_stuck_reconcile_is_unhealthy_until_it_ends() {
        let health = Health::default();
        let stuck = health.stuck();
        let (status, text) = get(&health, "/healthz");
        assert_eq!(status, 503);
        assert!(text.contains("[-]reconciles failed: 1 cancelled"), "{text}");
        drop(stuck);
        assert_eq!(get(&health, "/healthz").0, 200);
    }

    #[test]
    fn verbose_lists_each_check() {
        let health = Health::default();
        health.add_ready("database", Box::new(|| Err("away".to_owned())));
        let (status, text) = get(&health, "/readyz?verbose");
        assert_eq!(
            (status, text.as_str()),
            (503, "[-]database failed: away\nreadyz check failed\n")
        );
        assert_eq!(
            get(&health, "/healthz?verbose").1,
            "[+]ping ok\n[+]reconciles ok\nhealthz check passed\n"
        );
    }
}
