//! The webhooks of `Home`, version `v1`. They serve `v2` as well: the API server converts its objects before it calls, and back.

use api::ajd::v1::Home;

use k8s_openapi::jiff::Timestamp;
use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.defaulter::<Home>(HomeWebhook);
    manager.validator::<Home>(HomeWebhook);
    // +kbr:scaffold:register
}

struct HomeWebhook;

// Sets defaults before an object is stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/mutate-ajd-my-domain-v1-home,mutating=true,failurePolicy=Fail,sideEffects=None,groups=ajd.my.domain,resources=homes,verbs=create;update,versions=v1,name=mhome-v1.ajd.my.domain,admissionReviewVersions=v1
impl webhook::Defaulter<Home> for HomeWebhook {
    /// A home belongs to the user who creates it. Later nobody becomes its owner by accident.
    async fn default(
        &self,
        object: &mut Home,
        cx: &webhook::Request<Home>,
    ) -> Result<(), webhook::Rejection> {
        if cx.operation() == webhook::Operation::Create {
            let owner = &mut object.spec.owner;
            owner.get_or_insert_with(|| cx.user().username.clone());
        }
        Ok(())
    }
}

// Validates objects before they are stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/validate-ajd-my-domain-v1-home,mutating=false,failurePolicy=Fail,sideEffects=None,groups=ajd.my.domain,resources=homes,verbs=create;update;delete,versions=v1,name=vhome-v1.ajd.my.domain,admissionReviewVersions=v1
impl webhook::Validator<Home> for HomeWebhook {
    async fn validate_create(
        &self,
        object: &Home,
        cx: &webhook::Request<Home>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        check_away(object, cx.now())
    }

    async fn validate_update(
        &self,
        old: &Home,
        new: &Home,
        cx: &webhook::Request<Home>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        // What was valid when it was written stays valid: time passes.
        if old.spec.away_until == new.spec.away_until {
            return Ok(webhook::Warnings::new());
        }
        check_away(new, cx.now())
    }

    async fn validate_delete(
        &self,
        object: &Home,
        cx: &webhook::Request<Home>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        if is_away(object, cx.now()) {
            let detail =
                "nobody is at home, and without heating the pipes freeze: remove the field first";
            let error = webhook::FieldError::forbidden("spec.awayUntil", detail);
            return Err(error.into());
        }
        Ok(webhook::Warnings::new())
    }
}

/// Rejects a time in the past. A schema does not know the time.
fn check_away(home: &Home, now: Timestamp) -> Result<webhook::Warnings, webhook::Rejection> {
    let until = home.spec.away_until.as_ref();
    match until.filter(|_| !is_away(home, now)) {
        Some(until) => {
            let detail = "must be in the future";
            let error = webhook::FieldError::invalid("spec.awayUntil", until, detail);
            Err(error.into())
        }
        None => Ok(webhook::Warnings::new()),
    }
}

/// Whether nobody is at home.
fn is_away(home: &Home, now: Timestamp) -> bool {
    let until = home.spec.away_until.as_ref();
    until.is_some_and(|until| until.0 > now)
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kbr_testing::{Admitted, FakeApi, review};
    use serde_json::json;

    fn home(away_until: Option<Timestamp>) -> Home {
        let spec =
            json!({ "address": "12 Quay Street, Galway", "awayUntil": away_until.map(Time) });
        let spec = serde_json::from_value(spec).unwrap();
        Home::new("sample", spec)
    }

    /// A home whose owners come back in an hour.
    fn away() -> Home {
        home(Some(Timestamp::now() + Duration::from_secs(3600)))
    }

    async fn admit(old: Option<&Home>, new: Option<&Home>) -> Admitted {
        FakeApi::new().admit(register, &review(old, new)).await
    }

    #[tokio::test]
    async fn a_new_home_belongs_to_its_creator_and_an_older_one_to_nobody_else() {
        let home = home(None);
        let created = admit(None, Some(&home)).await.object::<Home>();
        assert_eq!(created.spec.owner.as_deref(), Some("somebody"));
        let updated = admit(Some(&home), Some(&home)).await.object::<Home>();
        assert_eq!(updated.spec.owner, None);
    }

    #[tokio::test]
    async fn an_owner_who_is_named_stays() {
        let mut home = home(None);
        home.spec.owner = Some("ann".to_owned());
        let created = admit(None, Some(&home)).await.object::<Home>();
        assert_eq!(created.spec.owner.as_deref(), Some("ann"));
    }

    #[tokio::test]
    async fn nobody_comes_back_in_the_past() {
        assert!(admit(None, Some(&away())).await.allowed);
        let past = home(Some(Timestamp::UNIX_EPOCH));
        for old in [None, Some(&home(None)), Some(&away())] {
            let admitted = admit(old, Some(&past)).await;
            assert!(!admitted.allowed);
            assert_eq!(admitted.causes[0].0, "spec.awayUntil");
        }
    }

    #[tokio::test]
    async fn a_home_whose_owners_are_back_can_be_changed() {
        let back = home(Some(Timestamp::UNIX_EPOCH));
        let mut moved = back.clone();
        moved.spec.address = "1 Mill Lane, Cork".to_owned();
        assert!(admit(Some(&back), Some(&moved)).await.allowed);
    }

    #[tokio::test]
    async fn a_home_is_not_deleted_while_its_owners_are_away() {
        assert!(admit(Some(&home(None)), None).await.allowed);
        let admitted = admit(Some(&away()), None).await;
        assert!(!admitted.allowed);
        assert_eq!(admitted.causes[0].0, "spec.awayUntil");
    }

    // +kbr:scaffold:tests
}
