//! Pseudo-random commands.

/// Pseudo-random numbers, the same for the same seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % end as u64).expect("a small number")
    }

    pub fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// Some of `all`, in their order.
    pub fn some_of(&mut self, all: &[&str]) -> String {
        let mut some = String::new();
        for text in all {
            if self.below(3) == 0 {
                some += " ";
                some += text;
            }
        }
        some
    }
}

pub fn init(random: &mut Random) -> String {
    let license = random.one_of(&["", " --license mit", " --license none"]);
    let rest = random.some_of(&[
        "--owner 'The \"Crew\"'",
        "--repo github.com/crew/fleet",
        "--project-name fleet-operator",
    ]);
    format!("kbr init --domain example.com{license}{rest}")
}

/// A kind: the project's own, a built-in or an external one.
fn kind(random: &mut Random) -> String {
    match random.below(8) {
        0 => random.one_of(&["--group apps --version v1 --kind Deployment", "--group core --version v1 --kind Pod"]).to_owned(),
        1 => random
            .one_of(&[
                "--group gateway.networking.k8s.io --version v1 --kind HTTPRoute --external-crate gateway-api@0.20 --external-type gateway_api::httproutes::HTTPRoute",
                "--group gateway.networking.k8s.io --version v1 --kind Gateway --external-crate gateway-api@0.20 --external-type gateway_api::gateways::Gateway",
                "--group cert-manager.io --version v1 --kind Certificate --external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate",
            ])
            .to_owned(),
        _ => own_kind(random),
    }
}

fn own_kind(random: &mut Random) -> String {
    let group = random.one_of(&["crew", "crew", "galley"]);
    let version = random.one_of(&["v1", "v1", "v2", "v1alpha1"]);
    let kind = random.one_of(&["Captain", "Captain", "Type", "Context"]);
    format!("--group {group} --version {version} --kind {kind}")
}

pub fn create(random: &mut Random) -> String {
    match random.below(6) {
        0 => {
            let kind = kind(random);
            let name = random.one_of(&[
                "",
                " --controller-name second",
                " --controller-name rollouts",
            ]);
            format!("kbr create api {kind} --resource=false --controller{name}")
        }
        1 | 2 => {
            let kind = kind(random);
            let which =
                random.one_of(&["--defaulting", "--validation", "--defaulting --validation"]);
            let calls = random.some_of(&[
                "--timeout 3",
                "--failure-policy ignore",
                "--namespace-selector 'team in (a,b)'",
                "--object-selector '!old'",
                "--match-condition 'a=true'",
            ]);
            format!("kbr create webhook {kind} {which}{calls}")
        }
        3 => {
            let kind = own_kind(random);
            let which = random.some_of(&["--defaulting"]);
            format!("kbr create webhook {kind} --conversion{which}")
        }
        _ => {
            let kind = own_kind(random);
            let controller = random.one_of(&["--controller", "--controller=false"]);
            let names = random.some_of(&["--short-name cap", "--namespaced=false"]);
            format!("kbr create api {kind} --resource {controller}{names}")
        }
    }
}
