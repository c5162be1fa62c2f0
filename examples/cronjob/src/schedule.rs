//! Schedules in the format of cron, in UTC.

use croner::{Cron, parser::CronParser};
use k8s_openapi::jiff::{Timestamp, Zoned, tz::TimeZone};

pub struct Schedule(Cron);

impl Schedule {
    /// Five fields, or a name such as `@daily`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parser = CronParser::builder()
            .seconds(croner::parser::Seconds::Disallowed)
            .year(croner::parser::Year::Disallowed)
            .build();
        let cron = parser.parse(text).map_err(|error| error.to_string())?;
        Ok(Self(cron))
    }

    /// The last time until `now`, inclusive. `None` if the schedule names no date that exists, such as the 30th of February.
    pub fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let last = self.0.find_previous_occurrence(&utc(now), true).ok()?;
        Some(last.timestamp())
    }

    /// The first time after `now`.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let next = self.0.find_next_occurrence(&utc(now), false).ok()?;
        Some(next.timestamp())
    }
}

fn utc(time: Timestamp) -> Zoned {
    time.to_zoned(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedule: &str, now: &str, last: &str, next: &str) {
        let schedule = Schedule::parse(schedule).unwrap();
        let now = now.parse().unwrap();
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
        assert_eq!(text(schedule.last(now)), last);
        assert_eq!(text(schedule.next(now)), next);
    }

    #[test]
    fn the_last_and_the_next_time_are_in_utc() {
        check(
            "*/5 * * * *",
            "2026-01-01T00:07:30Z",
            "2026-01-01T00:05:00Z",
            "2026-01-01T00:10:00Z",
        );
        check(
            "@daily",
            "2026-01-01T12:00:00Z",
            "2026-01-01T00:00:00Z",
            "2026-01-02T00:00:00Z",
        );
    }

    #[test]
    fn a_time_that_is_reached_is_the_last_and_not_the_next() {
        check(
            "0 * * * *",
            "2026-01-01T01:00:00Z",
            "2026-01-01T01:00:00Z",
            "2026-01-01T02:00:00Z",
        );
    }

    #[test]
    fn a_time_that_never_comes_is_no_error() {
        check("0 0 30 2 *", "2026-01-01T00:00:00Z", "", "");
    }

    #[test]
    fn a_schedule_with_other_fields_is_invalid() {
        for text in ["", "hello", "* * * *", "* * * * * *", "61 * * * *"] {
            assert!(Schedule::parse(text).is_err(), "{text:?}");
        }
    }
}
