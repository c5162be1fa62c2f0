//! Names that are derived from group, version and kind.

mod among;
mod controllers;
mod table;
mod validate;

use super::controller::Controller;
use super::*;
use crate::resource::target::Target;

fn wanted(group: &str, domain: &str, version: &str, kind: &str) -> ApiFlags {
    ApiFlags {
        group: group.to_owned(),
        domain: domain.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        namespaced: true,
        ..ApiFlags::default()
    }
}

fn resource(group: &str, domain: &str, version: &str, kind: &str) -> Resource {
    Resource::new(&wanted(group, domain, version, kind)).unwrap()
}

/// Group, domain, version and kind; then full group, plural, file of the type, type, and the controller's file, import and finalizer.
#[test]
fn every_name_is_derived_from_group_version_and_kind() {
    let table = [
        (
            ["crew", "example.com", "v1", "Captain"],
            [
                "crew.example.com",
                "captains",
                "api/src/crew/v1/captain.rs",
                "api::crew::v1::Captain",
                "src/controllers/captain.rs",
                "use api::crew::v1::Captain;",
                "crew.example.com/captain",
            ],
        ),
        (
            ["tsi", "tiduyun.com", "v1alpha1", "IPPool"],
            [
                "tsi.tiduyun.com",
                "ippools",
                "api/src/tsi/v1alpha1/ippool.rs",
                "api::tsi::v1alpha1::IPPool",
                "src/controllers/ippool.rs",
                "use api::tsi::v1alpha1::IPPool;",
                "tsi.tiduyun.com/ippool",
            ],
        ),
        (
            ["cnat.programming-kubernetes.info", "", "v1alpha1", "At"],
            [
                "cnat.programming-kubernetes.info",
                "ats",
                "api/src/cnat_programming_kubernetes_info/v1alpha1/at.rs",
                "api::cnat_programming_kubernetes_info::v1alpha1::At",
                "src/controllers/at.rs",
                "use api::cnat_programming_kubernetes_info::v1alpha1::At;",
                "cnat.programming-kubernetes.info/at",
            ],
        ),
        (
            ["", "hopegi.com", "v1", "EcsBinding"],
            [
                "hopegi.com",
                "ecsbindings",
                "api/src/hopegi_com/v1/ecsbinding.rs",
                "api::hopegi_com::v1::EcsBinding",
                "src/controllers/ecsbinding.rs",
                "use api::hopegi_com::v1::EcsBinding;",
                "hopegi.com/ecsbinding",
            ],
        ),
        (
            ["3scale", "net", "v2beta3", "Type"],
            [
                "3scale.net",
                "types",
                "api/src/g3scale/v2beta3/type_.rs",
                "api::g3scale::v2beta3::Type",
                "src/controllers/type_.rs",
                "use api::g3scale::v2beta3::Type;",
                "3scale.net/type",
            ],
        ),
        (
            ["bin", "my.domain", "v1", "Action"],
            [
                "bin.my.domain",
                "actions",
                "api/src/bin_/v1/action.rs",
                "api::bin_::v1::Action",
                "src/controllers/action.rs",
                "use api::bin_::v1::Action as ActionKind;",
                "bin.my.domain/action",
            ],
        ),
    ];
    for ([group, domain, version, kind], expected) in table {
        let resource = resource(group, domain, version, kind);
        let controller = Controller::new(resource.kind_lower(), Target::own(&resource));
        let names = [
            resource.full_group.clone(),
            resource.plural.clone(),
            resource.path(),
            resource.type_path(),
            controller.path(),
            controller.type_use(),
            controller.finalizer("captains.example.com"),
        ];
        assert_eq!(names, expected);
    }
}
