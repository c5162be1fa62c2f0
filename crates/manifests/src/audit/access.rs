//! One verb on one resource or URL: what a rule grants, and what a request needs.

use std::collections::BTreeSet;

use apiserver_rules::rbac;

/// Verbs that the API server checks while it handles a request for something else, so that no log contains them.
const UNLOGGED: [&str; 7] = [
    "approve",
    "attest",
    "bind",
    "escalate",
    "impersonate",
    "sign",
    "use",
];

/// One verb on one resource or URL. As part of a rule, each value except the name may contain `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// Empty for the core group, and for a URL.
    pub group: String,
    /// `pods`, `pods/status`; empty for a URL.
    pub resource: String,
    /// The name of the only object; empty for all, and for a request that names none.
    pub name: String,
    /// `/metrics`; empty for a resource.
    pub url: String,
    /// `get`.
    pub verb: String,
}

impl Access {
    /// Whether RBAC allows the request `asked` by this part of a rule.
    pub fn covers(&self, asked: &Access) -> bool {
        if !rbac::allows_verb(&self.verb, &asked.verb) {
            return false;
        }
        if asked.resource.is_empty() {
            return !self.url.is_empty() && rbac::allows_url(&self.url, &asked.url);
        }
        let names = Some(&self.name).filter(|name| !name.is_empty());
        rbac::allows_group(&self.group, &asked.group)
            && rbac::allows_resource(&self.resource, &asked.resource)
            && rbac::allows_name(names, &asked.name)
    }

    /// Whether it may cover more than one verb on one resource or URL.
    pub fn is_wide(&self) -> bool {
        let any = |text: &str| text == "*";
        any(&self.verb)
            || any(&self.group)
            || any(&self.resource)
            || self.resource.starts_with("*/")
            || self.url.ends_with('*')
    }

    /// Whether the API server checks it, but never logs it: as a part of other requests.
    pub fn is_unlogged(&self) -> bool {
        let blocks_deletion = self.verb == "update" && self.resource.ends_with("/finalizers");
        blocks_deletion || UNLOGGED.contains(&self.verb.as_str())
    }

    /// The same for objects of any name.
    pub fn unnamed(&self) -> Self {
        Self {
            name: String::new(),
            ..self.clone()
        }
    }

    /// Whether it differs in nothing but the verb.
    pub fn is_on_the_same(&self, other: &Access) -> bool {
        self.object() == other.object()
    }

    /// Everything but the verb.
    fn object(&self) -> [&str; 4] {
        [&self.group, &self.resource, &self.name, &self.url]
    }
}

/// The arguments of an RBAC marker for these: `groups=core,resources=pods,verbs=get;list`, one for each resource or URL.
pub fn arguments(accesses: &BTreeSet<&Access>) -> Vec<String> {
    let all: Vec<&Access> = accesses.iter().copied().collect();
    let same = |a: &&Access, b: &&Access| a.is_on_the_same(b);
    let one = |those: &[&Access]| {
        let verbs: Vec<&str> = those.iter().map(|access| access.verb.as_str()).collect();
        let [group, resource, name, url] = those[0].object();
        let mut text = if resource.is_empty() {
            format!("urls={url}")
        } else {
            let group = if group.is_empty() { "core" } else { group };
            format!("groups={group},resources={resource}")
        };
        if !name.is_empty() {
            text = format!("{text},resourceNames={name}");
        }
        format!("{text},verbs={}", verbs.join(";"))
    };
    all.chunk_by(same).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `group resource verb name` or `/url verb`.
    fn access(text: &str) -> Access {
        let words: Vec<&str> = text.split(' ').collect();
        let word = |at: usize| words.get(at).copied().unwrap_or_default().to_owned();
        if text.starts_with('/') || words.len() == 2 {
            return Access {
                url: word(0),
                verb: word(1),
                ..Access::default()
            };
        }
        Access {
            group: word(0).replace("core", ""),
            resource: word(1),
            verb: word(2),
            name: word(3),
            url: String::new(),
        }
    }

    #[test]
    fn a_rule_covers_what_rbac_allows_by_it() {
        for (granted, asked, expected) in [
            ("core pods get", "core pods get a", true),
            ("core pods get", "core pods list", false),
            ("core pods get", "apps pods get", false),
            ("core pods get", "core pods/status get a", false),
            ("core pods/status get", "core pods/status get a", true),
            ("core pods/status get", "core pods get a", false),
            ("core * get", "core pods/status get a", true),
            ("core */status get", "core pods/status get a", true),
            ("core */status get", "core pods/log get a", false),
            ("core */status get", "core pods get a", false),
            ("* pods *", "apps pods delete a", true),
            ("core pods get a", "core pods get a", true),
            ("core pods get a", "core pods get b", false),
            ("core pods create a", "core pods create", false),
            ("* * *", "/metrics get", false),
            ("/metrics get", "/metrics get", true),
            ("/metrics get", "/metrics/a get", false),
            ("/metrics/* get", "/metrics/a get", true),
            ("/metrics/* get", "/metrics get", false),
            ("/metrics get", "/metrics post", false),
            ("* *", "/metrics get", true),
            ("* *", "core pods get", false),
        ] {
            let covers = access(granted).covers(&access(asked));
            assert_eq!(covers, expected, "{granted}: {asked}");
        }
    }

    #[test]
    fn wide_and_unlogged_permissions_are_known() {
        let check = |text: &str, wide: bool, unlogged: bool| {
            let access = access(text);
            let found = (access.is_wide(), access.is_unlogged());
            assert_eq!(found, (wide, unlogged), "{text}");
        };
        check("core pods get", false, false);
        check("core pods *", true, false);
        check("* pods get", true, false);
        check("core * get", true, false);
        check("core */scale get", true, false);
        check("/a/* get", true, false);
        check("/a get", false, false);
        check("a.b c/finalizers update", false, true);
        check("a.b c/finalizers patch", false, false);
        check("core users impersonate", false, true);
        check("rbac.authorization.k8s.io roles escalate", false, true);
    }

    #[test]
    fn arguments_are_those_of_a_marker() {
        let all = [
            "core pods list",
            "core pods get",
            "core pods get a",
            "/b get",
            "a.b c/status patch",
        ];
        let all = all.map(access);
        let expected = [
            "urls=/b,verbs=get",
            "groups=core,resources=pods,verbs=get;list",
            "groups=core,resources=pods,resourceNames=a,verbs=get",
            "groups=a.b,resources=c/status,verbs=patch",
        ];
        assert_eq!(arguments(&all.iter().collect()), expected);
    }
}
