//! Objects of the examples with random specs, the same in each run.

use serde_json::{Value, json};

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % end as u64).unwrap()
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const NAMESPACES: [&str; 2] = ["navy", "port"];

/// Namespaces, and objects that the operator reconciles.
pub fn specs(example: &str) -> (Vec<Value>, Vec<Value>) {
    let namespaces = NAMESPACES
        .map(|it| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": it } }));
    let mut world = namespaces.to_vec();
    let mut random = Random(52);
    let objects = match example {
        "at" => many(12, &mut random, at),
        "cronjob" => many(12, &mut random, cronjob),
        "ecsbinding" => {
            world.extend(NODES.map(node));
            bindings(&mut random)
        }
        "foo" => many(30, &mut random, foo),
        "guestbook" => many(30, &mut random, guestbook),
        "home" => many(12, &mut random, home),
        "ippool" => pools()
            .into_iter()
            .chain(many(12, &mut random, claim))
            .collect(),
        other => panic!("{other}"),
    };
    (world, objects)
}

/// Objects in both namespaces, some of which have the same name.
fn many(count: usize, random: &mut Random, spec: fn(&mut Random) -> Value) -> Vec<Value> {
    let object = |at: usize| {
        let mut object = spec(random);
        let namespace = NAMESPACES[at % 2];
        object["metadata"] = json!({ "name": format!("nemo-{}", at / 2), "namespace": namespace });
        object
    };
    (0..count).map(object).collect()
}

/// In the past, which is now, or long after the test.
fn at(random: &mut Random) -> Value {
    let mut spec = json!({});
    if random.below(4) > 0 {
        spec["command"] = json!(random.one_of(&["echo hello", "exit 3"]));
    }
    if random.below(3) > 0 {
        let times = ["2019-07-03T02:00:00Z", "2119-07-03T02:00:00Z"];
        spec["schedule"] = json!(random.one_of(&times));
    }
    json!({ "apiVersion": "cnat.programming-kubernetes.info/v1alpha1", "kind": "At", "spec": spec })
}

/// Due once a year at most, so never during the test; some never.
fn cronjob(random: &mut Random) -> Value {
    let schedules = ["0 0 1 1 *", "@yearly", "30 4 29 2 *", "0 0 30 2 *"];
    let container = json!({ "name": "sail", "image": random.one_of(&["sail:1", "sail:2"]) });
    let mut spec = json!({
        "schedule": random.one_of(&schedules),
        "concurrencyPolicy": random.one_of(&["Allow", "Forbid", "Replace"]),
        "suspend": random.below(4) == 0,
        "jobTemplate": { "spec": { "template": { "spec": {
            "restartPolicy": "Never", "containers": [container],
        } } } },
    });
    if random.below(4) == 0 {
        spec["startingDeadlineSeconds"] = json!(60);
    }
    json!({ "apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob", "spec": spec })
}

const NODES: [&str; 4] = ["deck", "helm", "mast", "stern"];

fn node(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "team": "net" } } })
}

/// Some name the same node, and some none that exists.
fn bindings(random: &mut Random) -> Vec<Value> {
    let binding = |at: u8| {
        let mut spec = json!({ "id": format!("i-{at}") });
        if random.below(5) > 0 {
            spec["nodename"] = json!(random.one_of(&["deck", "helm", "mast", "nowhere"]));
        }
        json!({
            "apiVersion": "hopegi.com/v1", "kind": "EcsBinding",
            "metadata": { "name": format!("nemo-{at}") }, "spec": spec,
        })
    };
    (0..12).map(binding).collect()
}

fn foo(random: &mut Random) -> Value {
    let image = random.one_of(&[
        "helm:1.4",
        "ghcr.io/crew/helm@sha256:00",
        "localhost:5000/a",
    ]);
    json!({
        "apiVersion": "samplecontroller.c9g.io/v1alpha1", "kind": "Foo",
        "spec": { "image": image, "replicas": random.below(6) },
    })
}

fn guestbook(random: &mut Random) -> Value {
    let title = random.one_of(&["Leave a note", "", "ä: \"#'", "{{ .title }}"]);
    let mut spec = json!({
        "title": title,
        "replicas": random.below(6),
        "port": 1 + random.below(65535),
        "deletionProtection": random.below(2) == 0,
    });
    if random.below(2) == 0 {
        let image = random.one_of(&["a:v1", "b/c@sha256:00"]);
        spec["image"] = json!(format!("us-docker.pkg.dev/google-samples/{image}"));
    }
    json!({ "apiVersion": "webapp.my.domain/v1", "kind": "Guestbook", "spec": spec })
}

/// In one of its versions.
fn home(random: &mut Random) -> Value {
    let rooms = ["kitchen", "bedroom", "attic"];
    let rooms = &rooms[..random.below(4)];
    let city = random.one_of(&["Galway", "Cork"]);
    let temperature = random.one_of(&["17.5", "20", "5"]);
    if random.below(2) == 0 {
        return json!({
            "apiVersion": "ajd.my.domain/v1", "kind": "Home",
            "spec": { "address": format!("12 Quay Street, {city}"), "rooms": rooms, "temperature": temperature },
        });
    }
    let room = |name: &&str| match random.below(2) {
        0 => json!({ "name": name }),
        _ => json!({ "name": name, "temperature": "18" }),
    };
    let rooms: Vec<Value> = rooms.iter().map(room).collect();
    json!({
        "apiVersion": "ajd.my.domain/v2", "kind": "Home",
        "spec": { "address": { "street": "1 Lighthouse Road", "city": city }, "rooms": rooms, "temperature": temperature },
    })
}

/// The second one is too small for all claims.
fn pools() -> [Value; 2] {
    let pool = |name: &str, cidrs: &[&str]| {
        json!({
            "apiVersion": "tsi.tiduyun.com/v1alpha1", "kind": "IPPool",
            "metadata": { "name": name }, "spec": { "cidrs": cidrs },
        })
    };
    [
        pool("large", &["192.0.2.16/28", "2001:db8::/64"]),
        pool("small", &["198.51.100.0/31"]),
    ]
}

fn claim(random: &mut Random) -> Value {
    let mut spec = json!({ "pool": random.one_of(&["large", "small", "none"]) });
    if random.below(2) == 0 {
        spec["family"] = json!(random.one_of(&["IPv4", "IPv6"]));
    }
    json!({ "apiVersion": "tsi.tiduyun.com/v1alpha1", "kind": "IPClaim", "spec": spec })
}
