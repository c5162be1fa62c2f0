//! Validates the name of a controller, and the number of objects that it reconciles at once.

use crate::manager::Manager;

/// The longest field manager that the API server accepts, in bytes.
const LONGEST_FIELD_MANAGER: usize = 128;

/// Reports mistakes in the registration of a controller.
pub(crate) fn check(
    manager: &Manager,
    name: &str,
    field_manager: &str,
    concurrency: usize,
) -> Result<(), String> {
    if name.is_empty() || manager.controllers.iter().any(|other| other.name() == name) {
        return Err(format!(
            "there are two controllers `{name}`, or one without a name\n\
             help: each needs a name of its own, as metrics and field managers carry it"
        ));
    }
    if field_manager.len() > LONGEST_FIELD_MANAGER {
        return Err(format!(
            "`{field_manager}` is too long for a field manager: {} bytes, {LONGEST_FIELD_MANAGER} at most\n\
             help: give controller `{name}` a shorter name",
            field_manager.len()
        ));
    }
    if concurrency == 0 {
        return Err(format!(
            "controller `{name}` may reconcile nothing: `max_concurrent_reconciles` is 0\n\
             help: let it be 1 or more"
        ));
    }
    Ok(())
}
