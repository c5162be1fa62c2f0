//! `/healthz` and `/readyz`.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::join_all;
use hyper::{Method, StatusCode, http::request::Parts};
use tokio::runtime::Handle;

use crate::servers::{check::Check, http::Reply, stall_detector::StallDetector};

/// The result of a check: `Ok` with an optional remark, or the problem.
type Outcome = Result<Option<String>, String>;
type Checks = Vec<(String, Arc<Probe>)>;
type Results = Vec<(String, Outcome)>;

/// The health of this process.
#[derive(Clone, Default)]
pub(crate) struct Health(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Reconciles that were cancelled and have not ended.
    stuck: AtomicUsize,
    stall_detector: StallDetector,
    live: Mutex<Checks>,
    ready: Mutex<Checks>,
}

/// A check of a probe.
enum Probe {
    /// The manager's, which takes no time.
    Own(Box<dyn Fn() -> Outcome + Send + Sync>),
    Author(Check),
}

/// A cancelled reconcile that has not ended; dropped when it does.
pub(crate) struct Stuck(Health);

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.0.stuck.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Health {
    /// Counts a cancelled reconcile that has not ended, until the returned value is dropped.
    pub(crate) fn stuck(&self) -> Stuck {
        self.0.stuck.fetch_add(1, Ordering::Relaxed);
        Stuck(self.clone())
    }

    /// The detector of runtime stalls.
    pub(crate) fn stall_detector(&self) -> StallDetector {
        self.0.stall_detector.clone()
    }

    pub(crate) fn add_live(&self, name: &str, check: Check) {
        add(&self.0.live, name, Probe::Author(check));
    }

    pub(crate) fn add_ready(&self, name: &str, check: Check) {
        add(&self.0.ready, name, Probe::Author(check));
    }

    /// Adds a check of the manager, which takes no time, to the checks of readiness.
    pub(crate) fn add_own_ready<F>(&self, name: &str, check: F)
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        let check = Box::new(move || check().map(|()| None));
        add(&self.0.ready, name, Probe::Own(check));
    }

    /// Adds a remark to the checks of readiness; it never fails.
    pub(crate) fn show<F>(&self, name: &str, remark: F)
    where
        F: Fn() -> Option<String> + Send + Sync + 'static,
    {
        add(
            &self.0.ready,
            name,
            Probe::Own(Box::new(move || Ok(remark()))),
        );
    }

    /// Whether the manager's check of readiness with this name passes; true if it does not exist.
    pub(crate) fn is_ready(&self, name: &str) -> bool {
        let checks = self.0.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let mut checks = checks.iter().filter(|(found, _)| found == name);
        checks.all(|(_, probe)| match &**probe {
            Probe::Own(check) => check().is_ok(),
            Probe::Author(_) => true,
        })
    }

    /// Answers a probe, in the format of the API server's own: `?verbose` lists each check, `?exclude=NAME` leaves one
    /// out, and `/readyz/NAME` is one check alone; no others run. The author's async checks run on the `main` runtime.
    pub(crate) async fn answer(&self, request: Parts, main: &Handle) -> Reply {
        if request.method != Method::GET && request.method != Method::HEAD {
            return Reply::status(StatusCode::METHOD_NOT_ALLOWED);
        }
        let path = request.uri.path().trim_matches('/');
        let (probe, name) = path.split_once('/').unwrap_or((path, ""));
        let mut checks = match probe {
            "healthz" => self.live(),
            "readyz" => all(&self.0.ready),
            _ => return Reply::status(StatusCode::NOT_FOUND),
        };
        if !name.is_empty() {
            checks.retain(|(found, _)| found == name);
            if checks.is_empty() {
                return Reply::status(StatusCode::NOT_FOUND);
            }
        }
        let query = Query::new(request.uri.query().unwrap_or_default());
        let unknown = query.leave_out(&mut checks);
        let results = run(checks, main).await;
        reply(path, &results, query.verbose, &unknown)
    }

    fn live(&self) -> Checks {
        let stuck = self.0.stuck.load(Ordering::Relaxed);
        let reconciles = match stuck {
            0 => Ok(None),
            stuck => Err(format!("{stuck} cancelled reconciles do not end")),
        };
        let runtime = self.0.stall_detector.check().map(|()| None);
        let own = |name: &str, outcome: Outcome| {
            let probe = Probe::Own(Box::new(move || outcome.clone()));
            (name.to_owned(), Arc::new(probe))
        };
        let mut checks = vec![
            own("ping", Ok(None)),
            own("reconciles", reconciles),
            own("runtime", runtime),
        ];
        checks.extend(all(&self.0.live));
        checks
    }
}

fn add(checks: &Mutex<Checks>, name: &str, probe: Probe) {
    let mut checks = checks.lock().unwrap_or_else(PoisonError::into_inner);
    checks.push((name.to_owned(), Arc::new(probe)));
}

fn all(checks: &Mutex<Checks>) -> Checks {
    let checks = checks.lock().unwrap_or_else(PoisonError::into_inner);
    checks.clone()
}

/// Runs these checks at the same time.
async fn run(checks: Checks, main: &Handle) -> Results {
    let outcomes = checks.into_iter().map(async |(name, probe)| {
        let outcome = match &*probe {
            Probe::Own(check) => check(),
            Probe::Author(check) => check.run(&name, main).await.map(|()| None),
        };
        (name, outcome)
    });
    join_all(outcomes).await
}

/// The query of a probe.
struct Query<'a> {
    verbose: bool,
    exclude: Vec<&'a str>,
}

impl<'a> Query<'a> {
    fn new(text: &'a str) -> Self {
        let parts = || text.split('&');
        Self {
            verbose: parts().any(|part| part.split('=').next() == Some("verbose")),
            exclude: parts()
                .filter_map(|part| part.strip_prefix("exclude="))
                .collect(),
        }
    }

    /// Removes the excluded checks; returns the excluded names that do not exist.
    fn leave_out(&self, checks: &mut Checks) -> Vec<&'a str> {
        let unknown = |name: &&str| !checks.iter().any(|(found, _)| found == name);
        let unknown = self.exclude.iter().copied().filter(unknown).collect();
        checks.retain(|(name, _)| !self.exclude.contains(&name.as_str()));
        unknown
    }
}

fn reply(path: &str, results: &Results, verbose: bool, unknown: &[&str]) -> Reply {
    let failed = results.iter().any(|(_, result)| result.is_err());
    if !failed && !verbose {
        return Reply::text(StatusCode::OK, "ok".to_owned());
    }
    let mut text = String::new();
    for (name, result) in results {
        // Writing to a string cannot fail.
        let _ = match result {
            Ok(None) => writeln!(text, "[+]{name} ok"),
            Ok(Some(remark)) => writeln!(text, "[+]{name} ok: {remark}"),
            Err(reason) => writeln!(text, "[-]{name} failed: {reason}"),
        };
    }
    for name in unknown {
        let _ = writeln!(text, "warn: there is no check `{name}` to exclude");
    }
    let (status, verdict) = if failed {
        (StatusCode::SERVICE_UNAVAILABLE, "failed")
    } else {
        (StatusCode::OK, "passed")
    };
    let _ = writeln!(text, "{path} check {verdict}");
    Reply::text(status, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(health: &Health, uri: &str) -> (u16, String) {
        let request = hyper::Request::get(uri).body(()).unwrap();
        let parts = request.into_parts().0;
        let reply = health.answer(parts, &Handle::current()).await;
        (reply.status.as_u16(), reply.body)
    }

    async fn check(health: &Health, uri: &str, status: u16, body: &str) {
        assert_eq!(get(health, uri).await, (status, body.to_owned()), "{uri}");
    }

    /// A replica whose database is down, and that has not listed all captains.
    fn troubled() -> Health {
        let health = Health::default();
        health.add_ready("database", Check::new(async || anyhow::bail!("away")));
        health.show("cache-Captain", || Some("not complete".to_owned()));
        health
    }

    #[tokio::test]
    async fn a_healthy_process_reports_ok() {
        let health = Health::default();
        check(&health, "/healthz", 200, "ok").await;
        check(&health, "/readyz/", 200, "ok").await;
        assert_eq!(get(&health, "/").await.0, 404);
    }

    #[tokio::test]
    async fn a_stuck_reconcile_is_unhealthy_until_it_ends() {
        let health = Health::default();
        let stuck = health.stuck();
        let (status, text) = get(&health, "/healthz").await;
        assert_eq!(status, 503);
        assert!(text.contains("[-]reconciles failed: 1 cancelled"), "{text}");
        drop(stuck);
        assert_eq!(get(&health, "/healthz").await.0, 200);
    }

    #[tokio::test]
    async fn verbose_lists_each_check() {
        let list = "[-]database failed: reason withheld\n[+]cache-Captain ok: not complete\n\
            readyz check failed\n";
        check(&troubled(), "/readyz?verbose", 503, list).await;
        check(&troubled(), "/readyz", 503, list).await;
        let list = "[+]ping ok\n[+]reconciles ok\n[+]runtime ok\nhealthz check passed\n";
        check(&troubled(), "/healthz?verbose", 200, list).await;
    }

    #[tokio::test]
    async fn a_single_check_can_be_requested() {
        let health = troubled();
        check(&health, "/readyz/cache-Captain", 200, "ok").await;
        let text = "[-]database failed: reason withheld\nreadyz/database check failed\n";
        check(&health, "/readyz/database", 503, text).await;
        assert_eq!(get(&health, "/readyz/unknown").await.0, 404);
        assert_eq!(get(&health, "/healthz/database").await.0, 404);
    }

    #[tokio::test]
    async fn the_checks_of_the_author_run_at_the_same_time_and_hang_no_probe() {
        let health = Health::default();
        health.add_live("hull", Check::new(async || Ok(())));
        health.add_live("engine", Check::new(std::future::pending));
        health.add_live("rudder", Check::new(std::future::pending));
        let text = "[+]ping ok\n[+]reconciles ok\n[+]runtime ok\n[+]hull ok\n\
            [-]engine failed: it has not ended within 800ms\n\
            [-]rudder failed: it has not ended within 800ms\nhealthz check failed\n";
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        check(&health, "/healthz", 503, text).await;
        assert!(began.elapsed().as_millis() < 900);
    }

    #[tokio::test]
    async fn a_check_that_is_excluded_or_not_requested_does_not_run() {
        let (health, count) = (troubled(), Arc::new(AtomicUsize::new(0)));
        let counted = count.clone();
        let engine = Check::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(()) }
        });
        health.add_ready("engine", engine);
        for (uri, runs) in [
            ("/readyz?exclude=engine", 0),
            ("/readyz/database", 0),
            ("/readyz/engine", 1),
        ] {
            get(&health, uri).await;
            assert_eq!(count.load(Ordering::SeqCst), runs, "{uri}");
        }
    }

    #[tokio::test]
    async fn a_check_can_be_excluded() {
        let health = troubled();
        check(&health, "/readyz?exclude=database", 200, "ok").await;
        let text = "[+]cache-Captain ok: not complete\n\
                    warn: there is no check `unknown` to exclude\nreadyz check passed\n";
        let uri = "/readyz?verbose&exclude=database&exclude=unknown";
        check(&health, uri, 200, text).await;
    }
}
