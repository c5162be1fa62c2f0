//! The bug of `docs/simulation.md`: its stories are in that page, and its timeline is in a picture.

use std::{fs, path::Path, sync::Arc, thread};

use k8s_openapi::api::{batch::v1::Job, core::v1::Container};
use kbr_testing::{Failure, Oracle, Simulation, simulate};
use kube::{CustomResource, CustomResourceExt as _};
use manager::{Action, Context, Manager, kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kinds::{Reconciled, done};

#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Captain",
    namespaced,
    status = "CaptainStatus",
    derive = "Default"
)]
pub struct CaptainSpec {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptainStatus {
    phase: Option<String>,
}

/// How much of the bug is repaired.
const NOTHING: u8 = 0;
const ORDER: u8 = 1;
const ALL: u8 = 2;

async fn reconcile<const REPAIRED: u8>(captain: Arc<Captain>, cx: Context<Captain>) -> Reconciled {
    let status = captain.status.as_ref();
    let has_sailed = status.is_some_and(|status| status.phase.is_some());
    let sailed = |status: &mut CaptainStatus| status.phase = Some("Sailed".to_owned());
    match cx.get::<Job>(&*format!("{}-voyage", cx.name()))? {
        None if !has_sailed => drop(cx.apply(&voyage(&cx)).await?),
        Some(job) if has_ended(&job) && REPAIRED == NOTHING => {
            cx.delete(&*job).await?;
            cx.status(sailed);
        }
        Some(job) if has_ended(&job) && has_sailed => cx.delete(&*job).await?,
        Some(job) if has_ended(&job) => {
            cx.status(sailed);
            if REPAIRED == ALL {
                return Ok(Action::requeue(std::time::Duration::from_secs(1)));
            }
        }
        _ => {}
    }
    done()
}

fn voyage(cx: &Context<Captain>) -> Job {
    let mut job = Job::default();
    job.metadata.name = Some(format!("{}-voyage", cx.name()));
    let template = &mut job.spec.get_or_insert_default().template;
    let sail = Container {
        name: "sail".to_owned(),
        ..Container::default()
    };
    template.spec.get_or_insert_default().containers = vec![sail];
    job
}

fn has_ended(job: &Job) -> bool {
    let status = job.status.as_ref();
    status.is_some_and(|status| status.completion_time.is_some())
}

fn simulation<const REPAIRED: u8>() -> Simulation {
    let register = |manager: &mut Manager| {
        let captains = manager.controller::<Captain>("captain");
        captains
            .owns(kind::<Job>())
            .reconcile(reconcile::<REPAIRED>);
    };
    let mut captain = Captain::default();
    captain.metadata.name = Some("nemo".to_owned());
    let simulation = simulate(register).define(&Captain::crd());
    simulation.object(&captain).kubelet()
}

/// How the test of the page fails, which has a name of its own.
fn failure<const REPAIRED: u8>() -> Failure {
    let test = thread::Builder::new().name("a_captain_sails_once".to_owned());
    let failing = test.spawn(|| simulation::<REPAIRED>().check().unwrap_err());
    failing.unwrap().join().unwrap()
}

fn docs(file: &str) -> std::path::PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    docs.join(file)
}

#[test]
fn the_stories_of_the_page_are_those_of_its_bug() {
    let page = fs::read_to_string(docs("simulation.md")).unwrap();
    let first = failure::<NOTHING>();
    assert_eq!(first.oracle, Some(Oracle::Counts));
    let timeline = "\ntimeline: target/simulate/a_captain_sails_once.html\n```";
    assert!(
        page.contains(&format!("```text\n{first}{timeline}")),
        "{first}"
    );

    let second = failure::<ORDER>();
    assert_eq!((second.oracle, &*second.plan), (Some(Oracle::Stable), ""));
    let (told, _) = second.story.split_once("replay: ").unwrap();
    assert!(page.contains(&format!("```text\n{told}```")), "{told}");

    let replayed = simulation::<ALL>().histories(20).replay(&first.plan);
    replayed.check().unwrap();
}

#[test]
fn the_picture_of_the_page_is_the_timeline_of_its_bug() {
    let timeline = failure::<NOTHING>().timeline.unwrap();
    let (_, drawn) = timeline.split_once("<svg ").unwrap();
    let (drawn, _) = drawn.split_once("</svg>").unwrap();
    // As a file, it says what it is.
    let drawn = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {drawn}</svg>\n");
    let file = docs("pictures/timeline.svg");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &drawn).unwrap();
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(found == drawn, "`make update` draws it again");
}
