//! Fault tests with real processes: a real API server, replicas of an operator, and a proxy in front of each.
//!
//! `cargo test -p kbr-manager --test processes -- WORD…` runs the tests whose names contain one of these words.
//! `KBR_FAULTS=long` runs the long form. Each test reports its measurements.

#![allow(missing_docs, reason = "tests")]

mod access;
mod audit;
mod author;
mod caches;
mod certificates;
mod clock;
mod ending;
mod http;
mod journal;
#[path = "../support/kbr.rs"]
mod kbr;
mod leading;
mod objects;
mod operator;
mod outage;
mod plane;
mod proxy;
mod replica;
mod servers;
mod storage;
mod tenants;
#[path = "../support/tls.rs"]
mod tls;
mod tunnel;
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
        metrics_are_served_only_to_authorized_tokens;
    author:
        what_an_author_adds_works_in_every_replica;
    caches:
        a_leader_whose_crd_is_missing_logs_it_once_and_exits
        an_optional_kind_is_watched_while_its_crd_is_installed
        lists_are_streamed_and_without_that_feature_read_in_pages
        a_child_is_created_once_while_the_watch_delivers_nothing;
    servers:
        misbehaving_clients_do_not_block_others
        startup_log_lines_have_the_order_of_controller_runtime;
    leading:
        another_replica_takes_over_when_the_leader_is_killed
        a_warm_standby_lists_nothing_when_it_takes_over
        randomly_disconnected_replicas_never_reconcile_at_the_same_time
        a_paused_leader_does_nothing_when_it_resumes
        a_leader_with_all_threads_blocked_ends_before_another_leads
        a_leader_whose_connections_freeze_keeps_leading_and_writing;
    clock:
        a_clock_that_is_an_hour_off_does_not_affect_the_election;
    ending:
        sigterm_lets_reconciles_finish_and_then_releases_the_lease
        the_shutdown_timeout_cancels_reconciles_and_lets_the_lease_expire
        a_program_goes_on_after_it_has_dropped_its_manager_while_it_led;
    objects:
        objects_that_fail_panic_or_hang_delay_no_others
        a_second_writer_loses_no_write_and_causes_no_endless_loop
        an_idle_operator_writes_only_the_lease
        manual_edits_are_reverted_once
        no_child_change_is_lost_between_read_and_apply;
    tenants:
        objects_that_hang_in_one_namespace_delay_no_other;
    outage:
        watches_that_drop_every_second_miss_nothing_and_do_not_relist
        an_outage_causes_few_retries_and_all_objects_converge_afterwards
        a_watch_relists_after_etcd_was_compacted;
    storage:
        all_objects_are_stored_in_the_new_version_although_the_operator_is_killed
        kube_controller_manager_migrates_the_objects_where_it_can;
    webhooks:
        webhooks_answer_a_real_api_server
        subresources_connections_and_a_second_validator_are_served
        objects_of_three_versions_can_be_read_in_each_version
        an_operator_under_test_is_called_as_soon_as_it_starts
        no_call_fails_while_tests_start_and_end_their_operators
        tests_that_share_a_cluster_scoped_kind_take_turns_and_begin_with_none_of_its_objects
        unreadable_objects_can_be_listed_repaired_and_deleted
        an_annotation_of_a_tenant_does_not_change_what_is_stored
        stored_objects_are_migrated_by_the_operator_that_converts_them
        certificates_need_no_manual_steps
        replicas_that_are_called_by_different_names_share_one_certificate
        each_permission_of_the_certificate_rotator_is_needed
        no_call_fails_while_replicas_are_replaced
        only_the_certificate_of_the_api_server_admits_objects
        a_request_that_is_not_a_review_is_rejected_and_the_server_keeps_running
        unusual_objects_from_an_api_server_are_answered
        many_large_bodies_at_once_use_bounded_memory
        the_largest_reviews_are_answered_within_the_memory_of_a_pod
        the_largest_lists_of_structs_are_answered_or_rejected_within_the_memory_of_a_pod;
};

fn main() -> anyhow::Result<ExitCode> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    match std::env::args().nth(1).as_deref() {
        Some("operator") => Ok(operator::main()),
        Some("storage") => Ok(storage::main()),
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
                failed.push(format!("{name}: {error:#}"));
            }
            Err(_) => {
                println!("test {name} ... FAILED ({took} s)\n");
                failed.push(format!("{name}: it panicked"));
            }
        }
    }
    let passed = count - failed.len();
    if failed.is_empty() {
        println!("test result: ok. {passed} passed; 0 failed");
        return Ok(ExitCode::SUCCESS);
    }
    println!("failures:");
    for failure in &failed {
        println!("    {}", failure.replace('\n', " "));
    }
    println!();
    println!(
        "test result: FAILED. {passed} passed; {} failed",
        failed.len()
    );
    println!("files of the run: {}", world.keep().display());
    Ok(ExitCode::FAILURE)
}
