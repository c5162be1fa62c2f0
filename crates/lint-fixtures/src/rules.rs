//! CEL rules that do not compile, or that cost too much.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::fixtures!(
    RuleSyntax,
    RuleUnknownField,
    RuleUnknownFunction,
    RuleMixedTypes,
    RuleNotBool,
    RuleUnknownName,
    RuleCostly,
    RuleMessage,
    RuleFieldPath,
    RuleLines,
    RuleOldItem,
    RuleTwoObjects,
    RuleDuration,
    RuleOptionalOld,
    RuleReason
);

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleSyntax",
    plural = "rulesyntaxs",
    namespaced
)]
pub struct RuleSyntaxSpec {
    #[x_kube(validation = "self.size( > 3")]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleUnknownField",
    plural = "ruleunknownfields",
    namespaced
)]
pub struct RuleUnknownFieldSpec {
    #[x_kube(validation = Rule::new("self.nmae == self.image"))]
    pub container: Container,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Container {
    pub name: String,
    pub image: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleUnknownFunction",
    plural = "ruleunknownfunctions",
    namespaced
)]
pub struct RuleUnknownFunctionSpec {
    #[x_kube(validation = "self.sizes() > 3")]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleMixedTypes",
    plural = "rulemixedtypess",
    namespaced
)]
pub struct RuleMixedTypesSpec {
    #[x_kube(validation = "self > 3")]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleNotBool",
    plural = "rulenotbools",
    namespaced
)]
pub struct RuleNotBoolSpec {
    #[x_kube(validation = "self.size()")]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleUnknownName",
    plural = "ruleunknownnames",
    namespaced
)]
pub struct RuleUnknownNameSpec {
    #[x_kube(validation = "this.size() > 3")]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleCostly",
    plural = "rulecostlys",
    namespaced
)]
pub struct RuleCostlySpec {
    #[x_kube(validation = "self.all(a, self.all(b, a == b || a.contains(b)))")]
    pub names: Vec<String>,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleMessage",
    plural = "rulemessages",
    namespaced
)]
pub struct RuleMessageSpec {
    #[x_kube(validation = Rule::new("self != ''").message(Message::Expression("1 + 1".into())))]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleFieldPath",
    plural = "rulefieldpaths",
    namespaced
)]
pub struct RuleFieldPathSpec {
    #[x_kube(validation = Rule::new("self.name != ''").field_path(".nmae"))]
    pub container: Container,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleLines",
    plural = "ruleliness",
    namespaced
)]
pub struct RuleLinesSpec {
    #[x_kube(validation = "self != 'a' &&\nself != 'b'")]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleOldItem",
    plural = "ruleolditems",
    namespaced
)]
pub struct RuleOldItemSpec {
    pub names: Vec<Item>,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Item {
    #[x_kube(validation = "self == oldSelf")]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleTwoObjects",
    plural = "ruletwoobjectss",
    namespaced
)]
pub struct RuleTwoObjectsSpec {
    #[x_kube(validation = "self.first == self.second")]
    pub pair: Pair,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Pair {
    pub first: Container,
    pub second: Container,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleDuration",
    plural = "ruledurations",
    namespaced
)]
pub struct RuleDurationSpec {
    #[x_kube(validation = "duration(self) < duration('1d')")]
    pub wait: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleOptionalOld",
    plural = "ruleoptionalolds",
    namespaced
)]
pub struct RuleOptionalOldSpec {
    #[x_kube(validation = Rule::new("self != ''").optional_old_self(true))]
    pub name: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuleReason",
    plural = "rulereasons",
    namespaced
)]
pub struct RuleReasonSpec {
    #[x_kube(validation = Rule::new("self != ''").message("two\nlines"))]
    pub name: String,
}
