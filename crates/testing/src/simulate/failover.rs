//! How a leader loses its Lease.

/// What happens to the leader at a write. The other replica leads once the Lease has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failover {
    /// Its process ends once the write is stored.
    Ended,
    /// The same, but it releases the Lease; and the other replica has filled its caches before, but the connections of its
    /// watches are dead.
    EndedWarm,
    /// Its Lease is not renewed, but it may write.
    Unrenewed,
    /// None of its requests arrives, nor does this write.
    CutOff,
    /// The same, but this write arrives after the other replica has begun to lead.
    LateWrite,
}

impl Failover {
    pub(super) const ALL: [Self; 5] = [
        Self::EndedWarm,
        Self::LateWrite,
        Self::Ended,
        Self::Unrenewed,
        Self::CutOff,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::EndedWarm => "ended-warm",
            Self::Unrenewed => "unrenewed",
            Self::CutOff => "cut-off",
            Self::LateWrite => "late-write",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
