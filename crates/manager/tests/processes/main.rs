//! Fault tests with real processes: a real API server, replicas of an operator, and a proxy in front of each.
//!
//! `cargo test -p kbr-manager --test processes -- WORD…` runs the tests whose names contain one of these words.
//! `KBR_FAULTS=long` runs the long form. Each test reports its measurements.

#![allow(missing_docs, reason = "tests")]

mod access;
mod audit;
mod caches;
mod certificates;
mod clock;
mod ending;
mod http;
mod journal;
mod leading;
mod objects;
mod operator;
mod outage;
mod plane;
mod proxy;
mod replica;
mod servers;
#[path = "../support/tls.rs"]
mod tls;
mod webhooks;
mod world;

use std::{
    os::unix::process::CommandExt as _, panic::AssertUnwindSafe, process::ExitCode, time::Duration,
};

use anyhow::Context as _;
use futures_util::{FutureExt as _, future::LocalBoxFuture};

use tokio::time::timeout;

use self::world::World;

type Test = for<'a> fn(&'a mut World) -> LocalBoxFuture<'a, anyhow::Result<String>>;

/// Lists functions to call as tests, with their names.
macro_rules! tests {
    ($($module:ident: $($name:ident)*;)*) => {
        &[$($((stringify!($name), |world| Box::pin($module::$name(world))),)*)*]
    };
}

const TESTS: &[(&str, Test)] = tests! {
    access:
        metrics_are_for_those_whom_the_api_server_allows;
    caches:
        a_leader_whose_crd_is_missing_says_so_once_and_ends;
    servers:
        servers_serve_others_whatever_some_clients_do
        lines_at_start_come_in_the_order_that_people_know;
    leading:
        when_the_leader_is_killed_the_other_takes_over
        of_replicas_that_are_cut_off_at_random_no_two_reconcile_at_once
        a_leader_that_was_stopped_does_nothing_when_it_goes_on
        a_leader_whose_threads_are_all_blocked_ends_before_another_begins
        a_leader_whose_connections_freeze_goes_on_leading_and_writing;
    clock:
        a_clock_that_is_an_hour_off_changes_nothing;
    ending:
        at_sigterm_all_that_is_under_way_ends_and_the_lease_is_free_at_once
        at_the_deadline_what_is_under_way_is_cancelled_and_the_lease_is_left_to_expire;
    objects:
        objects_that_fail_panic_and_hang_delay_no_others
        a_second_writer_loses_nothing_and_starts_no_endless_loop
        while_nothing_changes_nothing_is_written_but_the_lease
        what_is_edited_by_hand_is_put_right_once
        no_change_of_a_child_is_lost_between_a_read_and_an_apply;
    outage:
        watches_that_are_dropped_every_second_miss_nothing_and_list_nothing
        after_an_outage_all_converge_and_during_it_little_is_tried
        what_etcd_forgot_during_a_watch_is_listed_anew;
    webhooks:
        an_api_server_is_answered_by_webhooks
        objects_of_three_versions_are_read_in_each
        an_operator_under_test_is_called_as_soon_as_it_is_started
        objects_that_the_type_cannot_read_are_listed_repaired_and_deleted
        certificates_need_nobody
        replicas_that_are_called_by_different_names_share_one_certificate
        each_right_of_the_certificates_is_needed
        no_call_fails_while_replicas_are_replaced
        what_is_no_review_is_refused_by_a_process_that_goes_on
        what_an_api_server_lets_through_is_answered
        many_large_bodies_at_once_stay_within_bounds;
};

fn main() -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    match std::env::args().nth(1).as_deref() {
        Some("operator") => Ok(operator::main()),
        Some("webhooks") => webhooks::main().map(|()| ExitCode::SUCCESS),
        Some("lodges") => webhooks::lodges_main().map(|()| ExitCode::SUCCESS),
        Some("cluster-test") => webhooks::test_main().map(|()| ExitCode::SUCCESS),
        Some("exec") => exec(),
        _ => run(),
    }
}

/// Replaces this process with another program. That is killed when the process that started it ends; on Linux, however
/// that ends.
fn exec() -> anyhow::Result<ExitCode> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let mut arguments = std::env::args_os().skip(2);
    let program = arguments.next().unwrap_or_default();
    Err(std::process::Command::new(program)
        .args(arguments)
        .exec()
        .into())
}

/// Runs the tests one after the other, because each needs the whole machine.
#[tokio::main]
async fn run() -> anyhow::Result<ExitCode> {
    let words: Vec<_> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wanted =
        |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let tests: Vec<_> = TESTS.iter().filter(|(name, _)| wanted(name)).collect();
    if tests.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if std::env::args().any(|flag| flag == "--list") {
        for (name, _) in tests {
            println!("{name}: test");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let count = tests.len();
    let mut world = World::start().await?;
    let mut failed = Vec::new();
    for (name, test) in tests {
        let started = std::time::Instant::now();
        let limit = Duration::from_secs(world.either(600, 3600));
        let limited = async {
            let result = timeout(limit, test(&mut world)).await;
            result.context("it does not end")?
        };
        let result = AssertUnwindSafe(limited).catch_unwind().await;
        let took = started.elapsed().as_secs();
        match result {
            Ok(Ok(report)) => println!("test {name} ... ok ({took} s): {report}"),
            Ok(Err(error)) => {
                println!("test {name} ... FAILED ({took} s)\n{error:#}\n");
                failed.push(name);
            }
            Err(_) => {
                println!("test {name} ... FAILED ({took} s)\n");
                failed.push(name);
            }
        }
    }
    let passed = count - failed.len();
    if failed.is_empty() {
        println!("test result: ok. {passed} passed; 0 failed");
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "test result: FAILED. {passed} passed; {} failed",
        failed.len()
    );
    println!(
        "failures: {failed:#?}\nfiles of the run: {}",
        world.keep().display()
    );
    Ok(ExitCode::FAILURE)
}
