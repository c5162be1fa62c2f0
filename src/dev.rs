//! `kbr dev`: runs the operator on this machine, and generates, builds and restarts it whenever its sources change.

mod api_server;
mod deletion;
mod lease;
mod observer;
mod operator;
mod options;
mod samples;
mod screen;
mod service_account;
mod session;
mod webhooks;

use std::process::ExitCode;

use anyhow::Context;

use self::api_server::ApiServer;
use self::lease::Lease;
pub use self::options::{Agrees, Options};
use self::screen::{Command, Screen};
use self::session::Session;
use crate::watch::Watch;
use kbr_host::output;
use kbr_host::signals::Stop;
use kbr_scaffold::workdir;

/// Runs until a signal ends it: then the exit code is 0, or 128 + n if signal n came before the API server was ready.
///
/// # Errors
/// No project, or no API server. Errors in the code are reported instead, and kbr waits for a change.
pub fn run(mut options: Options) -> anyhow::Result<ExitCode> {
    let stop = Stop::register()?;
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&folder)?;
    let head = workdir::load(&root)?.head;
    // Dropped last: the deployed operator goes on once this one has ended.
    let lease = match options.agrees.take() {
        Some(agrees) if options.use_existing_cluster => {
            let names = head.names();
            let name = lease::Name {
                namespace: names.namespace,
                name: names.lease,
            };
            lease::take(name, agrees, &stop)?
        }
        _ => None,
    };
    let project = head.name;
    let with_screen = !options.plain && output::has_screen();
    let screen = with_screen.then(|| Screen::open(&project, &stop));
    let screen = screen.transpose()?;
    let server = if options.use_existing_cluster {
        None
    } else {
        let started = ApiServer::start(&mut options, &root, &stop);
        if stop.requested() {
            return Ok(stop.exit_code());
        }
        Some(started?)
    };
    // Dropped before the screen, which shows how it ends.
    let mut session = Session::new(root, server, options.operator, screen.as_ref())?;
    let is_lost = || lease.as_ref().is_some_and(Lease::is_lost);
    while !stop.requested() && !is_lost() {
        let watch = session.run_once(&stop);
        wait_for_a_change(&mut session, screen.as_ref(), &watch, || {
            stop.requested() || is_lost()
        });
    }
    let discarded = session.discarded();
    drop(session);
    drop(screen);
    if let Some(discarded) = discarded {
        output::problem("warning", &discarded);
    }
    anyhow::ensure!(
        !is_lost(),
        "the Lease is lost, and two operators would write the same objects"
    );
    Ok(ExitCode::SUCCESS)
}

/// Obeys the keys of the screen meanwhile.
fn wait_for_a_change(
    session: &mut Session,
    screen: Option<&Screen>,
    watch: &Watch,
    is_over: impl Fn() -> bool,
) {
    while !is_over() && !watch.changed() {
        session.notice_its_end();
        let commands = screen.map(Screen::commands).unwrap_or_default();
        if commands.contains(&Command::ApplySamples) {
            session.request_samples();
        }
        if commands.contains(&Command::Delete) {
            session.request_deletion();
        }
        session.finish_deletion();
        if commands.contains(&Command::Restart) {
            return session.request_restart();
        }
        session.apply_samples();
    }
}
