//! The one place where requests of the operator leave: here they are refused, lost or delayed, and here its process ends.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tower::{BoxError, Service};

use super::{
    faults::{Failover, Refusal, error, status},
    fields::changed_fields,
    network::{How, Network, Subscriber},
    plan::What,
    trace::{Happened, Write},
    who::controller,
};
use crate::server::{Call, Content, line, response};

/// What operators write about what they do, rather than to do it.
const NOT_COUNTED: [&str; 2] = ["events", "leases"];

/// Watches that are asked for so long go on until their client ends them.
const SHORT: Duration = Duration::from_secs(60);

/// A replica of the operator, as its client sees the API server.
#[derive(Clone)]
pub(super) struct Replica {
    pub(super) network: Network,
    pub(super) number: usize,
}

impl Service<Request<Body>> for Replica {
    type Response = Response<Content>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Content>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().serve(request))
    }
}

impl Replica {
    /// The next replica of the operator.
    pub(super) fn start(network: &Network) -> Self {
        let mut state = network.lock();
        state.replicas.started += 1;
        let number = state.replicas.started;
        state.replicas.running.insert(number);
        let started = Happened::Started {
            number,
            one_of_two: network.plan.has_replicas(),
        };
        network.record(&mut state, started);
        Self {
            network: network.clone(),
            number,
        }
    }

    async fn serve(self, request: Request<Body>) -> Result<Response<Content>, BoxError> {
        let call = match self.network.api.receive(request).await {
            Ok(call) => call,
            Err(error) => return Ok(response(error.body())),
        };
        let has_replicas = self.network.plan.has_replicas();
        if has_replicas && is_counted(&call) {
            self.check_leads(&call);
        }
        self.travel().await;
        if call.oldest().is_some() {
            self.network.lock().lag.is_allowed = true;
        }
        let answer = if let Some(answer) = self.denied(&call) {
            Ok(answer)
        } else if call.watches() {
            Ok(self.watch(&call))
        } else if has_replicas && call.path.plural == "leases" {
            self.elect(&call).await
        } else if is_counted(&call) {
            self.write(&call).await
        } else {
            self.ask(&call);
            Ok(self.network.api.answer(&call))
        };
        self.travel().await;
        answer
    }

    /// The answer of a request that the role does not allow.
    fn denied(&self, call: &Call) -> Option<Response<Content>> {
        let permissions = self.network.scenario.permissions.as_ref()?;
        let (path, api) = (call.path.object(), &self.network.api);
        let exists = api.change_quietly(|objects| objects.get(&path).is_some());
        let needed = permissions.missing(call, exists)?;
        let (who, asked) = (self.who(controller(call)), self.request(call));
        let mut state = self.network.lock();
        state.requests += 1;
        let what = format!("the role does not allow the operator {needed}");
        state.denied.get_or_insert(what);
        self.network
            .record(&mut state, Happened::Denied(who, asked));
        Some(error(StatusCode::FORBIDDEN, "Forbidden"))
    }

    /// Takes the time of the way, and never arrives if the process has ended.
    pub(super) async fn travel(&self) {
        let delay = {
            let mut state = self.network.lock();
            let random = state.latency.as_mut();
            random.map(|random| Duration::from_millis(random.below(40) as u64))
        };
        if let Some(delay) = delay {
            sleep(delay).await;
        }
        let running = {
            let state = self.network.lock();
            // In a loop without a pause, no time passes in which it would be noticed.
            state.replicas.reaches(self.number) && !self.network.is_flooded(state.requests)
        };
        if !running {
            std::future::pending::<()>().await;
        }
    }

    fn watch(&self, call: &Call) -> Response<Content> {
        let kind = call.path.resource();
        let (first, watch) = match self.network.api.begin(call) {
            Ok(begun) => begun,
            Err(error) => return response(error.body()),
        };
        let (sender, lines) = mpsc::unbounded_channel();
        let is_short = watch.limit() < SHORT;
        let end = is_short.then(|| Instant::now() + watch.limit());
        if let Some(end) = end {
            tokio::spawn(self.network.clone().end_watch(end));
        }
        for event in &first {
            // The receiver still exists here.
            let _ = sender.send(line(event));
        }
        {
            let mut state = self.network.lock();
            self.network
                .record(&mut state, Happened::Asked(format!("watch {kind}")));
            state.kinds.insert(kind.clone());
            state.watches.push(Subscriber {
                replica: self.number,
                is_dead: false,
                end,
                kind,
                watch,
                lines: sender,
                bookmarked: Instant::now(),
                lags: call.oldest().is_some(),
            });
        }
        self.network.deliver();
        Response::new(Content(lines))
    }

    /// Records a request that writes nothing; its object may be gone when it arrives.
    fn ask(&self, call: &Call) {
        let is_read = is_read(call);
        let number = {
            let mut state = self.network.lock();
            state.requests += 1;
            state.reads += usize::from(is_read);
            state.reads
        };
        let what = if is_read {
            let (kind, object) = (call.path.resource(), call.path.object());
            if self.network.plan.vanishes_at_read(number) {
                self.network.lock().faults += 1;
                self.vanish(&object);
            }
            let api = &self.network.api;
            let is_missing = api.change_quietly(|objects| objects.get(&object).is_none());
            let object = call.path.to_string();
            Happened::Read {
                number,
                kind,
                object,
                is_missing,
            }
        } else {
            Happened::Asked(format!("{} {}", call.method, call.path))
        };
        self.network.tell(what);
    }

    /// A write, and the faults that happen at it.
    async fn write(&self, call: &Call) -> Result<Response<Content>, BoxError> {
        let (network, api) = (&self.network, &self.network.api);
        let (number, mut faults) = network.next_write();
        self.overtake_request(number, &self.action(call), &mut faults)
            .await;
        for what in &faults {
            match what {
                What::CrashBefore => self.end_before(number, &self.action(call)).await,
                What::Failover(how @ (Failover::CutOff | Failover::LateWrite)) => {
                    self.cut_off(number, call, *how == Failover::LateWrite);
                    self.act(&faults);
                    std::future::pending::<()>().await;
                }
                What::Refused(Refusal::Conflict) => self.touch(&call.path),
                What::Refused(Refusal::Conflicts) => self.contend(&call.path),
                What::Vanish => self.vanish(&call.path),
                What::Refused(refusal) => {
                    if let Some(answer) = refusal.unapplied() {
                        let text = answer.as_ref().map_or_else(ToString::to_string, status);
                        let write = self.write_of(number, call);
                        self.tell_write(Write {
                            answer: text,
                            ..write
                        });
                        return answer;
                    }
                }
                other => self.disturb(other),
            }
        }
        self.interfere(&call.path);
        let before = api.change_quietly(|objects| objects.version());
        let old = self.stored(&call.path);
        let write = self.write_of(number, call);
        let mut answer = Ok(api.answer_reviewed(call).await);
        let changed = api.change_quietly(|objects| objects.version()) != before;
        let fields = changed_fields(call, old, self.stored(&call.path));
        let mut text = answer
            .as_ref()
            .map_or_else(|_: &BoxError| String::new(), status);
        for what in &faults {
            match what {
                What::Refused(Refusal::TimeoutApplied) => {
                    answer = Ok(error(StatusCode::GATEWAY_TIMEOUT, "Timeout"));
                    text = String::from("it is stored, but the answer is a time-out (504)");
                }
                What::Refused(Refusal::Unanswered) => {
                    answer = Err("the connection was closed".into());
                    text = String::from("it is stored, but the answer is lost");
                }
                _ => {}
            }
        }
        self.tell_write(Write {
            changed,
            fields,
            answer: text,
            ..write
        });
        self.afterwards(number, &faults).await;
        answer
    }

    /// What happens right after a write.
    pub(super) async fn afterwards(&self, number: usize, faults: &[What]) {
        for what in faults {
            match what {
                What::CrashAfter | What::CrashBehind | What::Failover(Failover::Ended) => {
                    self.end(number).await;
                }
                What::Failover(Failover::EndedWarm) => {
                    self.kill_watches();
                    self.release();
                    self.end(number).await;
                }
                What::Failover(Failover::Unrenewed) => self.lose_lease(),
                _ => {}
            }
            self.act(std::slice::from_ref(what));
        }
        if faults.contains(&What::SlowAnswer) {
            self.overtake_answer(number).await;
        }
    }

    /// Disturbs the watches, or the API server, at a write.
    pub(super) fn disturb(&self, what: &What) {
        match what {
            What::Hold(kind) => self.network.hold(kind, How::Stopped),
            What::Miss(kind) => self.network.hold(kind, How::Missed),
            What::Lag => self.network.lag(),
            _ => {}
        }
    }

    /// Does what others do at a write.
    pub(super) fn act(&self, faults: &[What]) {
        let created = self.network.lock().created;
        for what in faults {
            match what {
                What::Delete | What::Recreate | What::Step(_) if !created => {}
                What::Delete => self.network.delete(),
                What::Recreate => self.network.recreate(),
                What::Step(step) if self.network.is_next(*step) => self.network.step(),
                What::Resync => self.network.lock().resync = true,
                _ => {}
            }
        }
    }

    /// Ends the process before a write.
    pub(super) async fn end_before(&self, number: usize, action: &str) {
        let who = self.name();
        self.stop(format!(
            "{who} ends before write {number}, in which it {action}"
        ));
        std::future::pending::<()>().await;
    }

    /// Ends the process right after a write.
    async fn end(&self, number: usize) {
        self.stop(format!("{} ends right after write {number}", self.name()));
        std::future::pending::<()>().await;
    }

    fn stop(&self, what: String) {
        let who = self.who(None);
        let mut state = self.network.lock();
        state.replicas.running.remove(&self.number);
        state.replicas.ended.push(self.number);
        self.network.record(&mut state, Happened::Ended(who, what));
        self.network.crashed.notify_one();
    }
}

impl Network {
    /// Counts a write: its number, and the faults that happen at it.
    pub(super) fn next_write(&self) -> (usize, Vec<What>) {
        let mut state = self.lock();
        state.requests += 1;
        state.writes += 1;
        let number = state.writes;
        let faults: Vec<_> = self.0.plan.at(number).cloned().collect();
        state.faults += faults.len();
        (number, faults)
    }
}

/// Whether a request is a read of one object that faults can happen at.
fn is_read(call: &Call) -> bool {
    let path = &call.path;
    call.method == Method::GET && !path.name.is_empty() && !NOT_COUNTED.contains(&&*path.plural)
}

/// Whether a request is a write that faults can happen at.
fn is_counted(call: &Call) -> bool {
    let plural = call.path.plural.as_str();
    call.method != Method::GET
        && !plural.ends_with("reviews")
        && !NOT_COUNTED.contains(&plural)
        && !call.query.contains_key("dryRun")
}
