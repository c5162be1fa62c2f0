//! Whether lists are streamed where the API server can do it.

/// The switch of this feature in client-go, which reads its features from the environment.
const SWITCH: &str = "KUBE_FEATURE_WatchListClient";

/// Whether lists are streamed, which is the default.
pub(super) fn is_on() -> bool {
    !is_off(std::env::var(SWITCH).unwrap_or_default().trim())
}

/// Whether the switch has this value, in any form that Go accepts for `false`.
fn is_off(value: &str) -> bool {
    ["0", "f", "F", "false", "False", "FALSE"].contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_false_switches_streamed_lists_off() {
        assert_eq!(
            ["false", "0", "", "true", "1", "no"].map(is_off),
            [true, true, false, false, false, false]
        );
    }
}
