//! The `at` controller for `At`: at `spec.schedule`, it runs `spec.command` in a Pod, once.
//!
//! The Pod has a finalizer, so that it cannot vanish before the status says that the command has ended. Therefore an
//! `At` that is `PENDING` and has no Pod has never run, at whatever point the operator was killed.

mod pod;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::cnat::v1alpha1::{At, AtSpec, Phase};

use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};
use kube::{Api, ResourceExt};
use manager::{Action, Cleanup, ConditionStatus, Context, Manager, kind};

use self::pod::Outcome;

/// The finalizer of each `At`, and of its Pod until the phase is `DONE`.
const FINALIZER: &str = "cnat.programming-kubernetes.info/at";

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=cnat.programming-kubernetes.info,resources=ats,verbs=get;list;watch;patch;update
// +kbr:rbac:groups=cnat.programming-kubernetes.info,resources=ats/status,verbs=patch
// +kbr:rbac:groups=core,resources=pods,verbs=get;list;watch;create;update;patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    // Every Pod of the cluster is cached, and only its metadata and its status are read.
    manager.cache::<Pod>().transform(|pod| pod.spec = None);
    manager
        .controller::<At>("at")
        .owns(kind::<Pod>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer(FINALIZER, cleanup)
        .reconcile(reconcile);
}

/// Reconciles one `At`. Runs whenever the object or its Pod changes, at the scheduled time, and again after an error.
async fn reconcile(at: Arc<At>, cx: Context<At>) -> anyhow::Result<Action> {
    let status = at.status.as_ref();
    match status.map(|status| status.phase).unwrap_or_default() {
        Phase::Pending => match cached(&cx)? {
            // The operator ended after it had created the Pod.
            Some(pod) => Ok(follow(&cx, &pod)),
            None => start(&at, &cx).await,
        },
        Phase::Running => match find(&at, &cx).await? {
            Some(pod) => Ok(follow(&cx, &pod)),
            None => Ok(end(&cx, &Outcome::lost())),
        },
        Phase::Done => {
            if let Some(pod) = cached(&cx)? {
                release(&cx, &pod).await?;
            }
            cx.ready("Done", "the command has run, and does not run again");
            Ok(Action::await_change())
        }
    }
}

/// Creates the Pod if it is time, and otherwise waits until then.
async fn start(at: &At, cx: &Context<At>) -> anyhow::Result<Action> {
    let (time, command) = match planned(&at.spec) {
        Ok(planned) => planned,
        Err((reason, message)) => {
            cx.not_ready(reason, message);
            return Ok(Action::await_change());
        }
    };
    if cx.now() < time {
        cx.ready("Scheduled", format!("the command runs at {time}"));
        return Ok(Action::requeue_at(time));
    }
    let pod = cx.apply(&pod::running(at, command)?).await?;
    cx.event("Started", format!("runs `{command}`"));
    Ok(follow(cx, &pod))
}

/// The time and the command, or the reason and the message of a condition.
fn planned(spec: &AtSpec) -> Result<(Timestamp, &str), (&'static str, String)> {
    let missing = |field| format!("`spec.{field}` is not set");
    let schedule = spec.schedule.as_deref();
    let schedule = schedule.ok_or_else(|| ("NoSchedule", missing("schedule")))?;
    let command = spec.command.as_deref();
    let command = command.ok_or_else(|| ("NoCommand", missing("command")))?;
    let time = schedule.parse().map_err(|error| {
        let expected = "expected a time such as `2019-07-03T02:00:00Z`";
        (
            "InvalidSchedule",
            format!("`spec.schedule`: {error}; {expected}"),
        )
    })?;
    Ok((time, command))
}

/// Reports how far the Pod is.
fn follow(cx: &Context<At>, pod: &Pod) -> Action {
    if let Some(outcome) = pod::outcome(pod) {
        return end(cx, &outcome);
    }
    cx.status(|status| status.phase = Phase::Running);
    cx.ready(
        "Running",
        format!("the command runs in Pod `{}`", cx.name()),
    );
    Action::await_change()
}

/// Reports the outcome. Once that is stored, the next reconcile releases the Pod.
fn end(cx: &Context<At>, outcome: &Outcome) -> Action {
    cx.status(|status| status.phase = Phase::Done);
    cx.ready("Done", "the command has run, and does not run again");
    cx.condition(
        "Succeeded",
        outcome.succeeded,
        outcome.reason,
        &outcome.message,
    );
    match outcome.succeeded {
        ConditionStatus::True => cx.event(outcome.reason, &*outcome.message),
        _ => cx.warning(outcome.reason, &*outcome.message),
    }
    Action::again()
}

/// Releases the Pod of an `At` that is being deleted: the garbage collector deletes it.
async fn cleanup(at: Arc<At>, cx: Context<At>) -> anyhow::Result<Cleanup> {
    if let Some(pod) = find(&at, &cx).await? {
        release(&cx, &pod).await?;
    }
    Ok(Cleanup::Done)
}

/// Lets the Pod be deleted. It may be gone by now: a cache is a moment behind.
async fn release(cx: &Context<At>, pod: &Pod) -> anyhow::Result<()> {
    let release = |pod: &mut Pod| pod.finalizers_mut().retain(|name| name != FINALIZER);
    cx.update(pod, release).await?;
    Ok(())
}

/// The Pod of the `At` in the cache, which may lack one that was created a moment ago.
fn cached(cx: &Context<At>) -> anyhow::Result<Option<Arc<Pod>>> {
    let mut pods = cx.children::<Pod>()?.into_iter();
    Ok(pods.find(|pod| pod.name_any() == cx.name()))
}

/// The Pod of the `At`. It is looked up if it is not in the cache.
async fn find(at: &At, cx: &Context<At>) -> anyhow::Result<Option<Arc<Pod>>> {
    if let Some(pod) = cached(cx)? {
        return Ok(Some(pod));
    }
    let pods: Api<Pod> = Api::namespaced(cx.client(), cx.namespace().unwrap_or_default());
    let pod = pods.get_opt(cx.name()).await?;
    let is_ours = |pod: &Pod| {
        let mut owners = pod.owner_references().iter();
        owners.any(|owner| Some(&owner.uid) == at.metadata.uid.as_ref())
    };
    Ok(pod.filter(is_ours).map(Arc::new))
}
