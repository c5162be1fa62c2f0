//! Folders that a stranger has sent: whatever is in them, `init`, `create`, `delete`, `upgrade --no-check` and completion write, delete,
//! read and run nothing outside, and end.

#![allow(missing_docs, reason = "tests")]

mod attacks;
mod generator;
mod git;
mod messages;
mod nested;
mod odd;
mod outside;
mod own_folder;
mod programs;
mod repository;
mod sent;

use outside::Outside;
use sent::{COMMANDS, Kind, READING, Sent};

/// The number of commands that are run in each folder, one after another.
const EACH: usize = 4;

/// As many as there are numbers in `KBR_FOLDERS=200:399`.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let text = std::env::var("KBR_FOLDERS").unwrap_or_else(|_| "0:199".to_owned());
    let (first, last) = text.split_once(':').expect("KBR_FOLDERS is FIRST:LAST");
    first.parse().unwrap()..=last.parse().unwrap()
}

#[test]
fn nothing_outside_of_two_hundred_hostile_folders_is_touched() {
    let next = std::sync::Mutex::new(seeds());
    let succeeded = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(seed) = next.lock().unwrap().next() else {
                        return;
                    };
                    succeeded.fetch_add(check(seed), std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    // Otherwise kbr would reject the folders for a reason that has nothing to do with them.
    let (succeeded, all) = (succeeded.into_inner(), seeds().count() * EACH);
    assert!(
        all < 400 || succeeded > all / 20,
        "only {succeeded} of {all} succeeded"
    );
    println!("{succeeded} of {all} commands succeeded");
}

/// Runs every command in the folder with this number; returns how many succeeded.
fn check(seed: u64) -> usize {
    let kind = [Kind::Old, Kind::Current, Kind::Empty][usize::try_from(seed).unwrap() % 3];
    let sent = Sent::new(kind);
    let done = generator::attack(&sent, seed);
    let mut succeeded = 0;
    // Each command comes first in some folders, before another one has changed anything.
    let commands = || COMMANDS.iter().chain(&READING);
    let first = usize::try_from(seed).unwrap() % commands().count();
    for command in commands().cycle().skip(first).take(EACH) {
        let context = format!("KBR_FOLDERS={seed}:{seed}, `{command}` after {done:#?}");
        succeeded += usize::from(sent.run(command, &context).success);
    }
    succeeded
}

#[test]
fn the_watch_notices_what_it_is_for() {
    let outside = Outside::new();
    let victim = outside.path().join("victim");
    let noticed = |act: &dyn Fn()| {
        let watch = outside.watch();
        act();
        watch.end()
    };
    assert_eq!(noticed(&|| {}), "");
    assert!(noticed(&|| drop(std::fs::read(victim.join("key")))).contains("opened"));
    assert!(noticed(&|| drop(std::fs::read_dir(victim.join("tree")))).contains("opened"));
    let write = || std::fs::write(victim.join("tree/new"), "").unwrap();
    assert!(noticed(&write).contains("changed"));
    let remove = || std::fs::remove_dir(victim.join("empty")).unwrap();
    assert!(noticed(&remove).contains("changed"));
    let run = || std::fs::write(outside.path().join("ran/a"), "").unwrap();
    assert!(noticed(&run).contains("ran"));
}
