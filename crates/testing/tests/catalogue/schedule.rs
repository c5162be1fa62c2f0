//! Operators that act on a schedule.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kbr_testing::Simulation;
use manager::{Action, Context, Manager};

use crate::kinds::{Reconciled, Ship, done, flag, map, name, pair, pair_in, ships, voyage};

const MINUTE: Duration = Duration::from_secs(60);

/// One that writes something in each minute.
fn hourglass(register: fn(&mut Manager)) -> Simulation {
    voyage(register).every(MINUTE)
}

/// Starts a watch in each minute, and ends those from before the last minute.
async fn watch<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    let now = cx.now().as_second();
    let minute = now / 60;
    let last = ship.status.as_ref().map(|status| i64::from(status.count));
    if last.is_none_or(|last| last < minute) {
        let begun = if BUGGY { now } else { minute * 60 };
        let watch = map(&name(&ship, &begun.to_string()), "flag", &flag(&ship));
        cx.apply(&watch).await?;
        cx.status(|status| status.count = u32::try_from(minute).unwrap_or_default());
    }
    for watch in cx.children::<ConfigMap>()? {
        let name = watch.metadata.name.as_deref().unwrap_or_default();
        let begun = name
            .rsplit_once('-')
            .and_then(|(_, at)| at.parse::<i64>().ok());
        if begun.is_none_or(|begun| begun / 60 < minute - 1) {
            cx.delete(&*watch).await?;
        }
    }
    Ok(Action::requeue_at(Timestamp::from_second(
        (minute + 1) * 60,
    )?))
}

/// Names what it starts by the current second: if the process ends before it has recorded that, it starts another one.
#[test]
fn what_is_due_is_named_by_the_current_time() {
    pair_in(
        |manager| ships(manager).reconcile(watch::<true>),
        |manager| ships(manager).reconcile(watch::<false>),
        hourglass,
    );
}

/// Relies on never missing a minute, as it does until another replica takes over.
#[test]
fn it_panics_if_it_is_late() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let minute = cx.now().as_second() / 60;
        let last = ship.status.as_ref().map(|status| i64::from(status.count));
        let missed = last
            .filter(|last| *last > 0)
            .map_or(0, |last| minute - last - 1);
        if BUGGY {
            assert!(missed <= 0, "{missed} minutes were missed");
        }
        cx.status(|status| status.count = u32::try_from(minute).unwrap_or_default());
        Ok(Action::requeue_at(Timestamp::from_second(
            (minute + 1) * 60,
        )?))
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        hourglass,
    );
}

/// Sails ten seconds after it was asked to, and takes for granted that this is never much later.
#[test]
fn it_panics_if_a_requeue_is_late() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let now = cx.now().as_second();
        let status = ship.status.clone().unwrap_or_default();
        let waited = match i64::from(status.count) {
            0 => {
                cx.status(|status| status.count = u32::try_from(now).unwrap_or_default());
                return Ok(Action::requeue(Duration::from_secs(10)));
            }
            asked => now - asked,
        };
        if waited < 10 {
            return Ok(Action::requeue(Duration::from_secs(10)));
        }
        if BUGGY && status.phase.is_empty() {
            assert!(waited < 300, "it waited for {waited} s");
        }
        cx.status(|status| "Sailed".clone_into(&mut status.phase));
        done()
    }
    pair(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
    );
}

/// Removes its log after a day, and asks to be called again in time, or does not.
#[test]
fn what_is_due_in_a_day_is_forgotten() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    fn ended(register: fn(&mut Manager)) -> Simulation {
        kbr_testing::simulate(register)
            .object(&crate::kinds::ship("argo"))
            .user("waits for a day", |api| api.advance(DAY))
    }
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let created = ship.metadata.creation_timestamp.as_ref();
        let end = created.map_or_else(|| cx.now(), |it| it.0) + DAY;
        let log = name(&ship, "log");
        if cx.now() >= end {
            if let Some(log) = cx.get::<ConfigMap>(&*log)? {
                cx.delete(&*log).await?;
            }
            return done();
        }
        cx.apply(&map(&log, "flag", &flag(&ship))).await?;
        if BUGGY {
            return done();
        }
        Ok(Action::requeue_at(end))
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        ended,
    );
}
