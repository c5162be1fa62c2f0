//! The faults of a history, and how they are written.

use std::{fmt, str::FromStr, time::Duration};

use super::failover::Failover;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The process ends before the write reaches the API server.
    CrashBefore,
    /// The process ends once the write is stored, before its answer arrives.
    CrashAfter,
    /// A second replica stands by from the beginning, and the one that writes no longer leads.
    Failover(Failover),
    /// The API server, or the network, does not do or does not confirm what is asked.
    Refused(Refusal),
    /// The watches of this kind deliver nothing until everything else is idle.
    Held(String),
    /// The same, and then they must list again: what was created and deleted meanwhile is never seen.
    Missed(String),
    /// From the beginning, the watches of this kind deliver one event at a time, whenever everything else is idle.
    Trickling(String),
    /// Until everything else is idle, reads that may be out of date see what is stored now.
    Lagging,
    /// The user deletes the objects.
    Deleted,
    /// The user deletes the objects and creates them again.
    Recreated,
    /// The user takes this step, from 1, before the operator is idle.
    Step(usize),
    /// The user takes all steps at once, before the operator sees the objects.
    AtOnce,
    /// At rest, the user takes this step back, and leaves it at that.
    Undone(usize),
    /// Instead of its steps, the user makes this change of a spec, from 1.
    Explored(usize),
    /// All objects are reconciled again.
    Resync,
    /// At rest, the process ends and starts again.
    Restarted,
    /// At rest, someone deletes the object at this path.
    ChildDeleted(String),
    /// At rest, someone changes the object at this path.
    ChildEdited(String),
    /// The object that the write changes or deletes is gone when that arrives.
    Vanished,
    /// The same for this read of an object, from 1.
    VanishedAtRead(usize),
    /// At rest, the user reads the object at this path, which has another version than the stored one, and writes it back.
    WrittenBack(String),
    /// At rest, someone changes the object of the world at this path, and changes it back.
    WorldEdited(String),
    /// At rest, someone deletes the object of the world at this path.
    WorldDeleted(String),
    /// At rest, someone creates an object like each of the user's, and deletes it.
    Neighbour,
    /// Requests take a while, which depends on this number.
    Latency(u64),
    /// The write is on its way until everything else is idle.
    SlowRequest,
    /// The write is stored, and its answer is on its way until everything else is idle.
    SlowAnswer,
    /// Everything due, such as a requeue, happens late by so many seconds.
    Late(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another writer was faster.
    Conflict,
    /// The same, again and again.
    Conflicts,
    TooManyRequests,
    InternalError,
    Unavailable,
    Timeout,
    /// The write is stored in spite of the error.
    TimeoutApplied,
    /// The connection is cut before the request is sent.
    Unsent,
    /// The write is stored, and then the connection is cut.
    Unanswered,
}

impl Refusal {
    pub(super) const ALL: [Self; 9] = [
        Self::Unanswered,
        Self::Conflict,
        Self::TimeoutApplied,
        Self::Unavailable,
        Self::TooManyRequests,
        Self::Unsent,
        Self::InternalError,
        Self::Timeout,
        Self::Conflicts,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Conflicts => "conflicts",
            Self::TooManyRequests => "429",
            Self::InternalError => "500",
            Self::Unavailable => "503",
            Self::Timeout => "504",
            Self::TimeoutApplied => "504-applied",
            Self::Unsent => "unsent",
            Self::Unanswered => "unanswered",
        }
    }
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
            What::Explored(change) => Some(change),
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
        let gone = What::VanishedAtRead(read);
        self.0.iter().any(|fault| fault.what == gone)
    }

    /// Whether the process starts again at rest.
    pub(super) fn restarts(&self) -> bool {
        self.0.iter().any(|fault| fault.what == What::Restarted)
    }

    /// The step that the user takes back.
    pub(super) fn undone(&self) -> Option<usize> {
        self.0.iter().find_map(|fault| match fault.what {
            What::Undone(step) => Some(step),
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
            Self::Deleted
                | Self::Recreated
                | Self::Step(_)
                | Self::AtOnce
                | Self::Undone(_)
                | Self::ChildDeleted(_)
                | Self::ChildEdited(_)
                | Self::Vanished
                | Self::VanishedAtRead(_)
                | Self::WorldEdited(_)
                | Self::WorldDeleted(_)
                | Self::Neighbour
                | Self::Failover(Failover::LateWrite)
        )
    }

    /// The pattern that it belongs to.
    pub(super) fn pattern(&self) -> &'static str {
        match self {
            Self::CrashBefore | Self::CrashAfter | Self::Restarted => "crash",
            Self::Failover(_) => "failover",
            Self::Refused(_) => "refused",
            Self::Held(_) | Self::Trickling(_) => "stale",
            Self::Missed(_) => "unobserved",
            Self::Lagging => "lagging",
            Self::Deleted | Self::Recreated | Self::Step(_) | Self::AtOnce => "user",
            Self::Undone(_) => "undone",
            Self::Explored(_) => "explored",
            Self::ChildDeleted(_) | Self::ChildEdited(_) => "by hand",
            Self::Vanished | Self::VanishedAtRead(_) => "gone",
            Self::WrittenBack(_) => "converted",
            Self::WorldEdited(_) | Self::WorldDeleted(_) => "world",
            Self::Neighbour => "neighbour",
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
        match &self.what {
            What::CrashBefore => f.write_str("crash-before")?,
            What::CrashAfter => f.write_str("crash-after")?,
            What::Failover(how) => write!(f, "failover:{}", how.name())?,
            What::Refused(refusal) => f.write_str(refusal.name())?,
            What::Held(kind) => write!(f, "hold:{kind}")?,
            What::Missed(kind) => write!(f, "miss:{kind}")?,
            What::Trickling(kind) => write!(f, "trickle:{kind}")?,
            What::Lagging => f.write_str("lag")?,
            What::Deleted => f.write_str("delete")?,
            What::Recreated => f.write_str("recreate")?,
            What::Step(step) => write!(f, "step:{step}")?,
            What::AtOnce => f.write_str("at-once")?,
            What::Undone(step) => write!(f, "undo:{step}")?,
            What::Explored(change) => write!(f, "explore:{change}")?,
            What::Resync => f.write_str("resync")?,
            What::Restarted => f.write_str("restart")?,
            What::ChildDeleted(path) => write!(f, "child-deleted:{path}")?,
            What::ChildEdited(path) => write!(f, "child-edited:{path}")?,
            What::Vanished => f.write_str("vanish")?,
            What::VanishedAtRead(read) => write!(f, "vanish-at-read:{read}")?,
            What::WrittenBack(path) => write!(f, "write-back:{path}")?,
            What::WorldEdited(path) => write!(f, "world-edited:{path}")?,
            What::WorldDeleted(path) => write!(f, "world-deleted:{path}")?,
            What::Neighbour => f.write_str("neighbour")?,
            What::Latency(seed) => write!(f, "latency:{seed}")?,
            What::SlowRequest => f.write_str("slow-request")?,
            What::SlowAnswer => f.write_str("slow-answer")?,
            What::Late(seconds) => write!(f, "late:{seconds}")?,
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
    let at = at.parse().map_err(|_| wrong())?;
    let (name, value) = what.split_once(':').unwrap_or((what, ""));
    let number = || value.parse().map_err(|_| wrong());
    let refusal = || Refusal::ALL.into_iter().find(|one| one.name() == name);
    let what = match name {
        "crash-before" => What::CrashBefore,
        "crash-after" => What::CrashAfter,
        "hold" => What::Held(value.to_owned()),
        "miss" => What::Missed(value.to_owned()),
        "trickle" => What::Trickling(value.to_owned()),
        "failover" => What::Failover(Failover::of(value).ok_or_else(wrong)?),
        "lag" => What::Lagging,
        "delete" => What::Deleted,
        "recreate" => What::Recreated,
        "step" => What::Step(value.parse().map_err(|_| wrong())?),
        "at-once" => What::AtOnce,
        "undo" => What::Undone(value.parse().map_err(|_| wrong())?),
        "explore" => What::Explored(value.parse().map_err(|_| wrong())?),
        "resync" => What::Resync,
        "restart" => What::Restarted,
        "child-deleted" => What::ChildDeleted(value.to_owned()),
        "child-edited" => What::ChildEdited(value.to_owned()),
        "vanish" => What::Vanished,
        "vanish-at-read" => What::VanishedAtRead(value.parse().map_err(|_| wrong())?),
        "write-back" => What::WrittenBack(value.to_owned()),
        "world-edited" => What::WorldEdited(value.to_owned()),
        "world-deleted" => What::WorldDeleted(value.to_owned()),
        "neighbour" => What::Neighbour,
        "latency" => What::Latency(number()?),
        "slow-request" => What::SlowRequest,
        "slow-answer" => What::SlowAnswer,
        "late" => What::Late(number()?),
        _ => What::Refused(refusal().ok_or_else(wrong)?),
    };
    Ok(Fault { what, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        let text = "crash-before@1,crash-after@2,504-applied@3,hold:captains.crew.example.com@4,miss:pods@4,trickle:pods,lag@4,\
                    delete@5,recreate@6,step:2@7,at-once,undo:1,explore:3,resync@8,restart,child-deleted:/api/v1/pods/a,child-edited:/b,vanish@9,vanish-at-read:2,write-back:/c,world-edited:/d,world-deleted:/d,neighbour,latency:7,slow-request@9,slow-answer@9,late:90";
        let plan: Plan = text.parse().unwrap();
        assert_eq!(plan.to_string(), text);
        let pattern = |fault: &Fault| fault.what.pattern();
        assert!(plan.0.iter().map(pattern).all(|it| PATTERNS.contains(&it)));
        for refusal in Refusal::ALL {
            let plan: Plan = refusal.name().parse().unwrap();
            assert_eq!(plan.0[0].what, What::Refused(refusal));
        }
        for how in Failover::ALL {
            let plan: Plan = format!("failover:{}@1", how.name()).parse().unwrap();
            assert_eq!(plan.0[0].what, What::Failover(how));
        }
        for wrong in ["crash", "crash-before@x", "step:x@1"] {
            assert!(wrong.parse::<Plan>().is_err(), "{wrong}");
        }
    }
}
