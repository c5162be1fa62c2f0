//! Ages, as kubectl prints them.

use std::time::{Duration, SystemTime};

/// The time from `then` to `now`, in one unit.
pub fn age(then: SystemTime, now: SystemTime) -> String {
    let age = now.duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match age {
        0..=119 => format!("{age}s"),
        120..=7199 => format!("{}m", age / 60),
        7200..=172_799 => format!("{}h", age / 3600),
        _ => format!("{}d", age / 86_400),
    }
}
