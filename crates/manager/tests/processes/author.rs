//! Test what an author adds to an operator: a user and a proxy of the client, a tracing layer, caches of every replica, a
//! metric, an HTTP handler, and a check that hangs.

use std::{
    fmt::{self, Write as _},
    fs::{File, OpenOptions},
    io::Write as _,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::eventually;
use manager::{
    Manager, Options, User,
    ext::http::Response,
    ext::prometheus_client::metrics::counter::Counter,
    ext::tracing_subscriber::{Layer, Registry, layer::Context},
    kind,
};
use tracing::{
    field::{Field, Visit},
    span::{Attributes, Id},
};

use crate::{
    http,
    operator::{ID, SailorSpec},
    replica::{LONG, Replica, Setup},
    tunnel::Tunnels,
    world::World,
};

/// The variable with the file for the spans; if it is set, the operator has the additions.
pub const SPANS: &str = "SAILORS_SPANS";

/// The variable with the proxy of the operator with the additions.
const PROXY: &str = "SAILORS_PROXY";

/// The path of the handler, which returns the number of cached `ConfigMap`s, and its user.
pub const MAPS: &str = "/debug/maps";

/// The user that the operator impersonates.
const USER: &str = "boatswain";

/// A manager with the additions if they are turned on, and a plain one otherwise.
pub async fn manager(options: Options) -> anyhow::Result<Manager> {
    let Some(path) = std::env::var_os(SPANS) else {
        return Manager::new(options, ID).await;
    };
    let spans = OpenOptions::new().create(true).append(true).open(path)?;
    manager::init_tracing(&options, Spans(spans))?;
    let mut config = options.config().await?;
    config.auth_info.impersonate = Some(USER.to_owned());
    config.auth_info.impersonate_groups = Some(vec!["system:masters".to_owned()]);
    if let Ok(proxy) = std::env::var(PROXY) {
        config.proxy_url = Some(proxy.parse()?);
    }
    let mut manager = Manager::with_config(options, ID, config)?;
    manager.reads(kind::<ConfigMap>());
    let (reader, looks) = (manager.reader(), Counter::<u64>::default());
    manager.metric("sailors_looks", "Requests for the maps", looks.clone());
    manager.serve(MAPS, move |request| {
        looks.inc();
        let user = request.extensions().get::<User>();
        let user = user.map_or_else(|| "anyone".to_owned(), |user| user.username.clone());
        let maps = reader.list::<ConfigMap>().keys();
        async move {
            Ok(Response::new(
                format!("{} maps for {user}", maps?.len()).into_bytes(),
            ))
        }
    });
    manager.ready_check("anchor", std::future::pending);
    Ok(manager)
}

/// Writes each span of a reconcile as a line: its fields, separated by blanks.
struct Spans(File);

impl Layer<Registry> for Spans {
    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, Registry>) {
        let mut fields = Fields(span.metadata().name().to_owned());
        span.record(&mut fields);
        let mut file = &self.0;
        // A single write, so that lines of several threads do not mix.
        let written = file.write_all(format!("{}\n", fields.0).as_bytes());
        written.expect("a file for spans");
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}").replace('"', "");
        // Writing to a string cannot fail.
        let _ = write!(self.0, " {}={text}", field.name());
    }
}

pub async fn what_an_author_adds_works_in_every_replica(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let (mark, count) = (world.plane.audit.mark(), 3);
    let spec = |number: usize| SailorSpec {
        text: number.to_string(),
        ..SailorSpec::default()
    };
    world.make(&namespace, count, spec).await?;
    let spans = world.plane.folder.join(format!("{namespace}-spans"));
    let mut setup = Setup::new(&namespace, &[]);
    setup.flags = world.times().flags();
    // The layer gets the lines although the log has none.
    setup
        .flags
        .push("--log-level=info,manager::controller=off".to_owned());
    let tunnels = Tunnels::start().await?;
    let proxy = format!("http://127.0.0.1:{}", tunnels.port);
    setup.environment = vec![
        (SPANS.to_owned(), spans.display().to_string()),
        (PROXY.to_owned(), proxy),
    ];
    let leader = Replica::start(&world.plane, "a", &setup).await?;
    leader.reconciles(Duration::ZERO, LONG).await?;
    let standby = Replica::start(&world.plane, "b", &setup).await?;
    world.converged(&namespace, LONG, |_| true).await?;

    for replica in [&leader, &standby] {
        eventually(LONG, "it has cached all maps", async || {
            let Ok(port) = replica.port("serving metrics") else {
                return Ok(None);
            };
            let answer = http::get(port, MAPS)?;
            Ok((answer.body == format!("{count} maps for anyone")).then_some(()))
        })
        .await?;
        anyhow::ensure!(replica.metric("sailors_looks_total", "")? >= 1.0);
        let scrape = http::get(replica.port("serving metrics")?, "/metrics")?.body;
        let described = "# HELP sailors_looks_total Requests for the maps.\n# TYPE sailors_looks_total counter\n";
        anyhow::ensure!(scrape.contains(described), "{scrape}");
    }
    anyhow::ensure!(standby.runs()?.is_empty(), "the standby reconciles");

    let began = Instant::now();
    let ready = leader.probe("/readyz")?;
    let took = began.elapsed();
    let late = "[-]anchor failed: it has not ended within 800ms\n";
    anyhow::ensure!(
        ready.status == 503 && ready.body.contains(late),
        "{}",
        ready.body
    );
    anyhow::ensure!(leader.probe("/healthz")?.status == 200, "it is not alive");

    let requests = world.plane.audit.since(mark, &namespace)?;
    let others = requests
        .iter()
        .filter(|one| ["a", "b"].contains(&&*one.user) && one.impersonated != USER);
    let others: Vec<_> = others.collect();
    anyhow::ensure!(others.is_empty(), "not impersonated: {others:?}");
    let of_user = requests
        .iter()
        .filter(|one| one.impersonated == USER)
        .count();
    anyhow::ensure!(of_user > 0, "no request is in the audit log");
    // In this order: each tunnel is counted before its connection.
    let all = leader.proxy.connections() + standby.proxy.connections();
    let opened = tunnels.opened();
    anyhow::ensure!(opened >= all, "{opened} of {all} connections are tunnels");

    let spans = std::fs::read_to_string(spans)?;
    for number in 0..count {
        let fields = format!(
            "reconcile controller=sailor kind=Sailor namespace={namespace} object=s{number} reconcile_id="
        );
        let found = spans.lines().any(|line| line.starts_with(&fields));
        anyhow::ensure!(found, "no `{fields}` in\n{spans}");
    }
    Ok(format!(
        "{of_user} requests impersonated, through {opened} tunnels; {} spans; /readyz with a check that hangs took {took:.1?}",
        spans.lines().count()
    ))
}
