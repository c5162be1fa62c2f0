//! The name of a controller, and the names derived from it.

use super::*;
use crate::resource::controller::default_names;

#[test]
fn a_built_in_or_external_kind_gets_a_finalizer_of_the_operator() {
    let pod = kubernetes::find("core", "v1", "Pod").unwrap();
    let controller = Controller::new("pod".to_owned(), Target::kubernetes(&pod));
    let target = &controller.target;
    assert_eq!(
        controller.finalizer("captains.example.com"),
        "captains.example.com/pod"
    );
    assert_eq!(
        controller.type_use(),
        "use k8s_openapi::api::core::v1::Pod;"
    );
    assert_eq!(
        (target.group.as_str(), target.full_group.as_str()),
        ("core", "")
    );
}

#[test]
fn a_controllers_name_is_a_label_and_its_field_manager_fits() {
    let captain = resource("crew", "example.com", "v1", "Captain");
    let check = |name: &str, manager_id: &str| {
        let mut problems = Problems::default();
        let controller = Controller::new(name.to_owned(), Target::own(&captain));
        controller.check(manager_id, &mut problems);
        problems.into_result().map_err(|error| error.to_string())
    };
    check("captain-backup", "captains.example.com").unwrap();
    let error = check("Captain_Backup", "captains.example.com").unwrap_err();
    assert!(
        error.ends_with("help: try `--controller-name captain-backup`"),
        "{error}"
    );
    check("a", &"m".repeat(126)).unwrap();
    let error = check("ab", &"m".repeat(126)).unwrap_err();
    assert!(error.contains("is longer than 128 characters"), "{error}");
}

#[test]
fn a_controller_is_named_by_its_kind_then_by_its_group() {
    assert_eq!(
        default_names("crew", "crew.example.com", "Captain"),
        ["captain", "crew-captain", "crew-example-com-captain"]
    );
    assert_eq!(
        default_names("3scale.net", "3scale.net", "Backend"),
        ["backend", "g3scale-net-backend"]
    );
}
