//! Names that two APIs of a project must not share, and names that they must.

use super::*;

#[test]
fn apis_with_a_shared_name_are_rejected() {
    let at = |group, version, kind| resource(group, "example.com", version, kind);
    let captain = at("crew", "v1", "Captain");
    for (new, reason) in [
        (
            at("crew", "v1", "CAPTAIN"),
            "`CAPTAIN` and `Captain` differ only in case",
        ),
        (
            at("crew", "v2", "CapTain"),
            "`CapTain` and `Captain` differ only in case",
        ),
        (
            at("crew", "v1", "CaptainSpec"),
            "the type `CaptainSpec` is the spec of the kind `Captain`",
        ),
        (
            at("crew", "v1", "CaptainStatus"),
            "the type `CaptainStatus` is the status of the kind `Captain`",
        ),
        (
            at("crew", "v1", "Captains"),
            "`captains.crew.example.com` is already a name of the kind `Captain`",
        ),
        (
            resource("crew", "other.io", "v1", "Captain"),
            "the groups `crew.other.io` and `crew.example.com` would share one module",
        ),
    ] {
        let error = clash(&new, &captain);
        assert!(error.starts_with(reason), "{error}");
    }
    assert!(
        clash(&captain, &at("crew", "v1", "CaptainSpec")).starts_with("the type `CaptainSpec`")
    );
    let (dots, dashes) = (at("a.b", "v1", "A"), at("a-b", "v1", "B"));
    assert!(clash(&dots, &dashes).ends_with("help: use another `--group`"));
    let error = clash(&resource("crew", "other.io", "v1", "Captain"), &captain);
    assert!(
        error.ends_with("module is `crew_other_io`: `--group crew.other.io --domain ''`"),
        "{error}"
    );
    for fine in [
        at("crew", "v2", "Captain"),
        at("crew", "v2", "CaptainSpec"),
        at("crew", "v1", "Ship"),
        at("other", "v1", "Captain"),
        captain.clone(),
    ] {
        assert_eq!(clash(&fine, &captain), "");
    }
}

#[test]
fn all_versions_of_a_kind_share_names_and_scope() {
    let old = resource("crew", "example.com", "v1", "Captain");
    let mut new = resource("crew", "example.com", "v2", "Captain");
    new.namespaced = false;
    new.plural = "captain".to_owned();
    let error = clash(&new, &old);
    assert!(error.starts_with("2 problems"), "{error}");
    assert!(
        error.contains("`Captain` v1 has plural `captains`, not `captain`"),
        "{error}"
    );
    assert!(error.contains("help: leave `--namespaced` out"), "{error}");
}

fn clash(new: &Resource, old: &Resource) -> String {
    new.check_among(std::iter::once(old))
        .map_or_else(|error| error.to_string(), |()| String::new())
}
