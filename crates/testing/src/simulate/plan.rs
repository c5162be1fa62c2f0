//! The faults of a history, and how they are written.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::faults::{Failover, Refusal};

/// The patterns, as the summary names them.
pub(super) const PATTERNS: [&str; 17] = [
    "by hand",
    "converted",
    "crash",
    "explored",
    "failover",
    "gone",
    "lagging",
    "late",
    "latency",
    "neighbour",
    "refused",
    "resync",
    "stale",
    "undone",
    "unobserved",
    "user",
    "world",
];

/// The faults of a history; none in the reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan(pub(super) Vec<Fault>);

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: What,
    /// The write of the operator at which it happens, from 1; 0 for what happens at rest, or always.
    pub(super) at: usize,
}

/// A fault without its time. It is written like its variant here: `crash-before`, `hold:pods`, or `429`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum What {
    /// The process ends before the write reaches the API server.
    CrashBefore,
    /// The process ends once the write is stored, before its answer arrives.
    CrashAfter,
    /// The same, and the clock of the machine on which it starts again is behind.
    CrashBehind,
    /// A second replica stands by from the beginning, and the one that writes no longer leads.
    Failover(Failover),
    /// The watches of this kind deliver nothing until everything else is idle.
    Hold(String),
    /// The same, and then they must list again: what was created and deleted meanwhile is never seen.
    Miss(String),
    /// From the beginning, the watches of this kind deliver one event at a time, whenever everything else is idle.
    Trickle(String),
    /// Until everything else is idle, reads that may be out of date see what is stored now.
    Lag,
    /// The user deletes the objects.
    Delete,
    /// The user deletes the objects and creates them again.
    Recreate,
    /// The user takes this step, from 1, before the operator is idle.
    Step(usize),
    /// The user takes all steps at once, before the operator sees the objects.
    AtOnce,
    /// At rest, the user takes this step back, and leaves it at that.
    Undo(usize),
    /// Instead of its steps, the user makes this change of a spec, from 1.
    Explore(usize),
    /// All objects are reconciled again.
    Resync,
    /// At rest, the process ends and starts again.
    Restart,
    /// At rest, someone deletes the object at this path.
    ChildDeleted(String),
    /// At rest, someone changes a field of the operator's: the path of the object, `#`, and the JSON pointer of the field.
    ChildEdited(String),
    /// At rest, someone labels the object at this path.
    ChildLabeled(String),
    /// At rest, an autoscaler changes the number of replicas of the object at this path, which the operator does not set.
    ChildScaled(String),
    /// At rest, the Job or Pod at this path, which has ended, is removed.
    Expired(String),
    /// At rest, someone else changes what a service outside the cluster holds: the change with this number, from 1.
    Drift(usize),
    /// The object that the write changes or deletes is gone when that arrives.
    Vanish,
    /// The same for this read of an object, from 1.
    VanishAtRead(usize),
    /// At rest, the user reads the object at this path, which has another version than the stored one, and writes it back.
    WriteBack(String),
    /// At rest, someone changes the object of the world at this path, and changes it back.
    WorldEdited(String),
    /// At rest, someone deletes the object of the world at this path.
    WorldDeleted(String),
    /// At rest, someone creates an object like each of the user's, and deletes it.
    Neighbour,
    /// At rest, someone creates each of the user's objects in another namespace, where they outlive the user's.
    Namesake,
    /// Requests take a while, which depends on this number.
    Latency(u64),
    /// The write is on its way until everything else is idle.
    SlowRequest,
    /// The write is stored, and its answer is on its way until everything else is idle.
    SlowAnswer,
    /// Everything due, such as a requeue, happens late by so many seconds.
    Late(u64),
    /// The API server, or the network, does not do or does not confirm what is asked.
    #[serde(untagged)]
    Refused(Refusal),
}

impl Plan {
    /// The faults that happen at this write.
    pub(super) fn at(&self, write: usize) -> impl Iterator<Item = &What> {
        let here = self.0.iter().filter(move |fault| fault.at == write);
        here.map(|fault| &fault.what)
    }

    /// How requests are delayed.
    pub(super) fn latency(&self) -> Option<u64> {
        self.0.iter().find_map(|fault| match fault.what {
            What::Latency(seed) => Some(seed),
            _ => None,
        })
    }

    /// By how much everything due is late.
    pub(super) fn lateness(&self) -> Option<Duration> {
        self.0.iter().find_map(|fault| match fault.what {
            What::Late(seconds) => Some(Duration::from_secs(seconds)),
            _ => None,
        })
    }

    /// Whether something happens later than without faults, and may rightly not happen any more.
    pub(super) fn is_late(&self) -> bool {
        let mut faults = self.0.iter();
        faults.any(|fault| matches!(fault.what, What::Late(_) | What::CrashBehind))
    }

    /// Whether each new process starts on a machine whose clock is behind.
    pub(super) fn starts_behind(&self) -> bool {
        self.0.iter().any(|fault| fault.what == What::CrashBehind)
    }

    /// Whether there are two replicas.
    pub(super) fn has_replicas(&self) -> bool {
        let mut faults = self.0.iter();
        faults.any(|fault| matches!(fault.what, What::Failover(_)))
    }

    /// Whether the replica that stands by fills its caches before it leads.
    pub(super) fn is_warm(&self) -> bool {
        let warm = What::Failover(Failover::EndedWarm);
        self.0.iter().any(|fault| fault.what == warm)
    }

    /// The change of a spec that the user makes instead of the steps.
    pub(super) fn explored(&self) -> Option<usize> {
        self.0.iter().find_map(|fault| match fault.what {
            What::Explore(change) => Some(change),
            _ => None,
        })
    }

    /// Whether the user takes all steps at once.
    pub(super) fn at_once(&self) -> bool {
        self.0.iter().any(|fault| fault.what == What::AtOnce)
    }

    /// Whether someone deletes what the operator may need.
    pub(super) fn deletes_world(&self) -> bool {
        let mut faults = self.0.iter();
        faults.any(|fault| matches!(fault.what, What::WorldDeleted(_)))
    }

    /// Whether an object is gone when a read or a write of it arrives.
    pub(super) fn has_vanished(&self) -> bool {
        self.0.iter().any(|fault| fault.what.pattern() == "gone")
    }

    /// Whether the object of this read is gone when that arrives.
    pub(super) fn vanishes_at_read(&self, read: usize) -> bool {
        let gone = What::VanishAtRead(read);
        self.0.iter().any(|fault| fault.what == gone)
    }

    /// Whether the process starts again at rest.
    pub(super) fn restarts(&self) -> bool {
        self.0.iter().any(|fault| fault.what == What::Restart)
    }

    /// Whether the user does the same in another order or rhythm, and nothing else happens.
    pub(super) fn is_another_way(&self) -> bool {
        let is_step =
            |it: &Fault| matches!(it.what, What::AtOnce | What::Step(_) | What::Explore(_));
        self.undone().is_none() && self.0.iter().all(is_step)
    }

    /// The step that the user takes back.
    pub(super) fn undone(&self) -> Option<usize> {
        self.0.iter().find_map(|fault| match fault.what {
            What::Undo(step) => Some(step),
            _ => None,
        })
    }

    /// Whether what happens depends on others than the operator: then it may rightly create and delete more, or less.
    pub(super) fn has_other_actions(&self) -> bool {
        self.0.iter().any(|fault| fault.what.is_an_action())
    }
}

impl What {
    /// Whether others than the operator do something.
    pub(super) fn is_an_action(&self) -> bool {
        matches!(
            self,
            Self::Delete
                | Self::Recreate
                | Self::Step(_)
                | Self::AtOnce
                | Self::Undo(_)
                | Self::ChildDeleted(_)
                | Self::ChildEdited(_)
                | Self::ChildLabeled(_)
                | Self::ChildScaled(_)
                | Self::Expired(_)
                | Self::Drift(_)
                | Self::Vanish
                | Self::VanishAtRead(_)
                | Self::WorldEdited(_)
                | Self::WorldDeleted(_)
                | Self::Neighbour
                | Self::Namesake
                | Self::Failover(Failover::LateWrite)
        )
    }

    /// The URL of the child that others change or remove.
    pub(super) fn child(&self) -> Option<&str> {
        match self {
            Self::ChildEdited(field) => {
                Some(field.split_once('#').map_or(&**field, |(url, _)| url))
            }
            Self::ChildDeleted(url)
            | Self::ChildLabeled(url)
            | Self::ChildScaled(url)
            | Self::Expired(url) => Some(url),
            _ => None,
        }
    }

    /// The pattern that it belongs to.
    pub(super) fn pattern(&self) -> &'static str {
        match self {
            Self::CrashBefore | Self::CrashAfter | Self::CrashBehind | Self::Restart => "crash",
            Self::Failover(_) => "failover",
            Self::Refused(_) => "refused",
            Self::Hold(_) | Self::Trickle(_) => "stale",
            Self::Miss(_) => "unobserved",
            Self::Lag => "lagging",
            Self::Delete | Self::Recreate | Self::Step(_) | Self::AtOnce => "user",
            Self::Undo(_) => "undone",
            Self::Explore(_) => "explored",
            Self::ChildDeleted(_)
            | Self::ChildEdited(_)
            | Self::ChildLabeled(_)
            | Self::ChildScaled(_)
            | Self::Expired(_)
            | Self::Drift(_) => "by hand",
            Self::Vanish | Self::VanishAtRead(_) => "gone",
            Self::WriteBack(_) => "converted",
            Self::WorldEdited(_) | Self::WorldDeleted(_) => "world",
            Self::Neighbour | Self::Namesake => "neighbour",
            Self::Resync => "resync",
            Self::Latency(_) | Self::SlowRequest | Self::SlowAnswer => "latency",
            Self::Late(_) => "late",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        match serde_json::to_value(&self.what).map_err(|_| fmt::Error)? {
            Value::Object(one) => one
                .iter()
                .try_for_each(|(name, value)| write!(f, "{name}:{}", text(value)))?,
            name => f.write_str(&text(&name))?,
        }
        if self.at > 0 {
            write!(f, "@{}", self.at)?;
        }
        Ok(())
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let faults = text.split(',').filter(|fault| !fault.is_empty());
        faults.map(fault).collect::<Result<_, _>>().map(Self)
    }
}

fn fault(text: &str) -> Result<Fault, String> {
    let wrong = || format!("`{text}` is not a fault");
    let (what, at) = text.rsplit_once('@').unwrap_or((text, "0"));
    let what = match what.split_once(':') {
        Some((name, value)) => {
            let number = value.parse::<u64>().map(Value::from);
            json!({ name: number.unwrap_or_else(|_| value.into()) })
        }
        None => what.into(),
    };
    Ok(Fault {
        what: serde_json::from_value(what).map_err(|_| wrong())?,
        at: at.parse().map_err(|_| wrong())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        let text = "crash-before@1,crash-after@2,crash-behind@2,504-applied@3,hold:captains.crew.example.com@4,miss:pods@4,trickle:pods,lag@4,\
                    delete@5,recreate@6,step:2@7,at-once,undo:1,explore:3,resync@8,restart,child-deleted:/api/v1/pods/a,child-edited:/b#/data/a~1b,child-labeled:/c,child-scaled:/c,expired:/c,drift:1,vanish@9,vanish-at-read:2,write-back:/c,world-edited:/d,world-deleted:/d,neighbour,namesake,latency:7,slow-request@9,slow-answer@9,late:90";
        let plan: Plan = text.parse().unwrap();
        assert_eq!(plan.to_string(), text);
        let pattern = |fault: &Fault| fault.what.pattern();
        assert!(plan.0.iter().map(pattern).all(|it| PATTERNS.contains(&it)));
        let refusals = "unanswered,conflict,504-applied,503,429,unsent,500,504,conflicts";
        let plan: Plan = refusals.parse().unwrap();
        let all = Refusal::ALL.map(What::Refused);
        assert!(plan.0.iter().map(|fault| &fault.what).eq(&all));
        assert_eq!(plan.to_string(), refusals);
        for how in ["ended", "ended-warm", "unrenewed", "cut-off", "late-write"] {
            let plan: Plan = format!("failover:{how}@1").parse().unwrap();
            assert!(plan.has_replicas(), "{how}");
        }
        for wrong in ["crash", "crash-before@x", "step:x@1"] {
            assert!(wrong.parse::<Plan>().is_err(), "{wrong}");
        }
    }
}
