//! The webhooks of `Home`, version `v2`.

use api::ajd::v2::Home;

use api::ajd::v1::Home as HomeV1;
use manager::Manager;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.spoke::<Home, HomeV1>();
    // +kbr:scaffold:register
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_testing::{FakeApi, round_trip};
    use serde_json::{Value, json};

    const V1: &str = "ajd.my.domain/v1";
    const V2: &str = "ajd.my.domain/v2";

    /// Where an object of `v1` keeps what only `v2` has.
    const KEPT: &str = "/metadata/annotations/ajd.my.domain~1v2";

    #[test]
    fn nothing_is_lost_between_v1_and_v2() {
        round_trip::<Home, HomeV1>();
    }

    /// A home of `v2` with more than `v1` has fields for.
    fn home() -> Value {
        json!({
            "apiVersion": V2,
            "kind": "Home",
            "metadata": { "name": "sample" },
            "spec": {
                "owners": ["ann", "bob", "carl"],
                "address": { "street": "Flat 3, 1 Mill Lane", "city": "Cork" },
                "rooms": [
                    { "name": "kitchen", "temperature": "21.5" },
                    { "name": "bedroom", "temperature": "17" },
                    { "name": "hall" },
                ],
                "temperature": "20",
            },
        })
    }

    async fn convert(object: &Value, version: &str) -> Value {
        let objects = std::slice::from_ref(object);
        let mut converted = FakeApi::new()
            .convert(register, objects, version)
            .await
            .unwrap();
        converted.remove(0)
    }

    #[tokio::test]
    async fn v1_has_the_first_owner_the_whole_address_and_the_names_of_the_rooms() {
        let spec = convert(&home(), V1).await["spec"].take();
        let expected = json!({
            "owner": "ann",
            "address": "Flat 3, 1 Mill Lane, Cork",
            "rooms": ["kitchen", "bedroom", "hall"],
            "temperature": "20",
        });
        assert_eq!(spec, expected);
    }

    #[tokio::test]
    async fn v2_is_the_same_again_after_v1() {
        let there = convert(&home(), V1).await;
        let back = convert(&there, V2).await;
        assert_eq!(back["spec"], home()["spec"]);
        assert!(there.pointer(KEPT).is_some());
        assert!(back.pointer(KEPT).is_none());
    }

    #[tokio::test]
    async fn a_change_in_v1_keeps_what_only_v2_has() {
        let mut changed = convert(&home(), V1).await;
        changed["spec"]["owner"] = "bob".into();
        changed["spec"]["rooms"] = json!(["attic", "bedroom"]);
        let spec = convert(&changed, V2).await["spec"].take();
        assert_eq!(spec["owners"], json!(["bob", "carl"]));
        let rooms = json!([{ "name": "attic" }, { "name": "bedroom", "temperature": "17" }]);
        assert_eq!(spec["rooms"], rooms);
    }

    /// All objects of a list are converted together, so one error would fail the list.
    #[tokio::test]
    async fn an_annotation_that_a_user_broke_is_ignored() {
        let mut broken = convert(&home(), V1).await;
        *broken.pointer_mut(KEPT).unwrap() = "{".into();
        let home = convert(&broken, V2).await;
        assert_eq!(home["spec"]["owners"], json!(["ann"]));
        assert!(home.pointer(KEPT).is_none());
    }

    // +kbr:scaffold:tests
}
