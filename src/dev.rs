//! `kbr dev`: runs the operator on this machine, and generates, builds and restarts it whenever its sources change.

mod cluster;
mod observer;
mod operator;
mod options;
mod samples;
mod screen;
mod service_account;
mod session;
mod webhooks;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;

use self::cluster::Cluster;
pub use self::options::Options;
use self::screen::{Command, Screen, Update};
use self::session::Session;
use crate::output;
use crate::signals::Stop;
use crate::watch::Watch;
use crate::workdir;

/// Runs until a signal ends it: then the exit code is 0, or 128 + n if signal n came before the API server was ready.
///
/// # Errors
/// No project, or no API server. Errors in the code are reported instead, and kbr waits for a change.
pub fn run(options: Options) -> anyhow::Result<ExitCode> {
    let stop = Stop::register()?;
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&folder)?;
    let project = workdir::load(&root)?.head.name;
    let with_screen = !options.plain && output::has_screen();
    let screen = with_screen.then(|| Screen::open(&project, &stop));
    let screen = screen.transpose()?;
    let cluster = if options.use_existing_cluster {
        None
    } else {
        let started = Cluster::start(&options, &root, &stop);
        if stop.requested() {
            return Ok(stop.exit_code());
        }
        Some(started?)
    };
    // Dropped before the screen, which shows how it ends.
    let mut session = Session::new(root, cluster, options.operator, screen.as_ref())?;
    while !stop.requested() {
        let mut watch = Watch::new(&session.root);
        let began = Instant::now();
        session.report(|| Update::Building);
        let updated = session.generate().and_then(|written| {
            for path in &written {
                watch.wrote(path);
            }
            session.update()
        });
        let ok = updated.is_ok();
        match updated {
            // Ctrl-C also ends cargo.
            Err(error) if !stop.requested() => session.wait_after(&error),
            _ => {}
        }
        let took = began.elapsed();
        session.report(|| Update::Built { ok, took });
        while !stop.requested() && !watch.changed() {
            session.notice_its_end();
            match screen.as_ref().and_then(Screen::command) {
                Some(Command::Restart) => {
                    session.stop_operator();
                    break;
                }
                Some(Command::ApplySamples) => session.request_samples(),
                None => {}
            }
            if let Some(cluster) = &mut session.cluster {
                cluster.apply_samples();
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
