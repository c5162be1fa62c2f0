//! The webhooks of `Captain`, version `v2`.

use api::crew::v2::Captain;

use api::crew::v1::Captain as CaptainV1;
use manager::Manager;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.spoke::<Captain, CaptainV1>();
    // +kbr:scaffold:register
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_testing::round_trip;

    #[test]
    fn nothing_is_lost_between_v1_and_v2() {
        round_trip::<Captain, CaptainV1>();
    }

    // +kbr:scaffold:tests
}
