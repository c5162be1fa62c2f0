//! Which markers become one rule, and in which role.

use super::check;

#[test]
fn a_project_without_rules_has_an_empty_role() {
    check(&[], &["= /manager-role"]);
}

#[test]
fn verbs_of_the_same_resource_are_united() {
    check(
        &[
            "groups=g,resources=a,verbs=get;list",
            "groups=g,resources=a,verbs=watch;get",
        ],
        &["= /manager-role", "g / a /  /  : get;list;watch"],
    );
}

#[test]
fn resources_with_the_same_verbs_are_one_rule() {
    check(
        &[
            "groups=g,resources=b,verbs=get",
            "groups=g,resources=a,verbs=get",
            "groups=g,resources=c,verbs=list",
        ],
        &[
            "= /manager-role",
            "g / a;b /  /  : get",
            "g / c /  /  : list",
        ],
    );
}

#[test]
fn resources_of_one_marker_are_separated_when_their_verbs_differ() {
    check(
        &[
            "groups=g,resources=a;b,verbs=get",
            "groups=g,resources=b,verbs=list",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : get",
            "g / b /  /  : get;list",
        ],
    );
}

#[test]
fn rules_that_differ_only_in_their_group_are_merged() {
    check(
        &[
            "groups=g1.x.io,resources=a,verbs=get",
            "groups=g2.x.io;g2.x.io,resources=a,verbs=get",
        ],
        &["= /manager-role", "g1.x.io;g2.x.io / a /  /  : get"],
    );
}

#[test]
fn urls_with_the_same_verbs_are_one_rule_and_come_first() {
    check(
        &[
            "groups=core,resources=pods,verbs=get",
            "urls=/b,verbs=get",
            "urls=/a,verbs=get",
        ],
        &[
            "= /manager-role",
            " /  /  / /a;/b : get",
            " / pods /  /  : get",
        ],
    );
}

#[test]
fn core_is_the_empty_group_before_anything_is_merged() {
    check(
        &[
            "groups=core,resources=pods,verbs=list",
            "groups=\"\",resources=secrets,verbs=list",
            "groups=core;\"\";x.io,resources=secrets,verbs=list;get",
        ],
        &[
            "= /manager-role",
            " / pods;secrets /  /  : list",
            ";x.io / secrets /  /  : get;list",
        ],
    );
}

#[test]
fn a_rule_with_resource_names_is_not_merged() {
    check(
        &[
            "groups=g,resources=a,verbs=get",
            "groups=g,resources=a,resourceNames=y;x,verbs=get",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : get",
            "g / a / x;y /  : get",
        ],
    );
}

#[test]
fn all_verbs_are_one_verb_but_do_not_absorb_other_rules() {
    check(
        &[
            "groups=g,resources=a,verbs=get;*",
            "groups=g,resources=b,verbs=*",
            "groups=g,resources=c,verbs=get",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : *",
            "g / b /  /  : *",
            "g / c /  /  : get",
        ],
    );
}

#[test]
fn subresources_are_resources_and_sort_behind_their_resource() {
    check(
        &[
            "groups=g,resources=a/status,verbs=patch",
            "groups=g,resources=a,verbs=get",
        ],
        &[
            "= /manager-role",
            "g / a /  /  : get",
            "g / a/status /  /  : patch",
        ],
    );
}

#[test]
fn equal_merged_groups_lose_no_verb() {
    check(
        &[
            "groups=a;b,resources=r,verbs=get",
            "groups=c,resources=r,verbs=get",
            "groups=a,resources=r,verbs=list",
            "groups=b;c,resources=r,verbs=list",
        ],
        &["= /manager-role", "a;b;c / r /  /  : get;list"],
    );
}

#[test]
fn each_namespace_and_role_name_is_a_separate_role() {
    check(
        &[
            "groups=g,resources=a,verbs=get,namespace=zoo",
            "groups=h,resources=a,verbs=get,namespace=zoo",
            "groups=g,resources=a,verbs=get,namespace=park,roleName=ranger",
            "groups=g,resources=a,verbs=get,roleName=other",
        ],
        &[
            "= /manager-role",
            "= /other",
            "g / a /  /  : get",
            "= park/ranger",
            "g / a /  /  : get",
            "= zoo/manager-role",
            "g;h / a /  /  : get",
        ],
    );
}
