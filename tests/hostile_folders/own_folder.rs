//! Folders `.kbr` of a stranger: parts of it, records of commits and of upgrades.

use std::fs;

use crate::odd::{Choice, odd};
use crate::sent::Sent;

/// Everything below `.kbr` that kbr acts on.
pub const OWN: [&str; 7] = [
    "commit",
    "undo",
    "draft",
    "staged",
    "before",
    "upgrade",
    "upgrade-draft",
];

pub fn own_folder(sent: &Sent, choice: &mut Choice) -> String {
    odd(sent, ".kbr", choice)
}

/// A part of `.kbr`, or a file in one; the mark is right in half of the folders.
pub fn own_part(sent: &Sent, choice: &mut Choice) -> String {
    if !sent.clear(".kbr/x") {
        return "no .kbr".to_owned();
    }
    let name = choice.of(&OWN);
    let path = match choice.below(3) {
        0 => format!(".kbr/{name}"),
        1 => format!(".kbr/{name}/{}", choice.below(3)),
        _ => format!(".kbr/{name}/record"),
    };
    let done = odd(sent, &path, choice);
    marked(sent, choice, done)
}

fn marked(sent: &Sent, choice: &mut Choice, done: String) -> String {
    match choice.below(2) {
        0 if fs::symlink_metadata(sent.root.join(".kbr")).is_ok_and(|it| it.is_dir()) => {
            sent.mark();
            done + ", marked"
        }
        _ => done,
    }
}

/// A path that leads out of the project, or into what is not the project's.
pub fn path_out(sent: &Sent, choice: &mut Choice) -> String {
    let victim = sent.victim();
    match choice.below(8) {
        0 => "../victim/tree/0".to_owned(),
        1 => format!("{}", victim.join("key").display()),
        2 => "../victim/empty".to_owned(),
        3 => ".git/hooks/post-checkout".to_owned(),
        4 => "src/../../victim/key".to_owned(),
        5 => "\u{1b}[2J\u{1b}]0;title\u{7}".to_owned(),
        6 => "../ran/by-record".to_owned(),
        _ => "notes".to_owned(),
    }
}

/// A record of an unfinished commit, with all it needs.
pub fn own_record(sent: &Sent, choice: &mut Choice) -> String {
    if !sent.clear(".kbr/staged") || !sent.clear(".kbr/before/x") {
        return "no .kbr".to_owned();
    }
    sent.write(".kbr/staged/0", "hostile");
    sent.write(".kbr/before/0", "hostile");
    let name = choice.of(&["commit", "undo"]);
    let [file, folder, emptied] = [(); 3].map(|()| path_out(sent, choice));
    // The hash of `hostile`.
    let hash = "after = \"8f383ccddc6f17eb57a96c711523e4a8072d8e791b4a773ea0153e0d993d03e1\"\n";
    let after = choice.of(&["", hash]);
    let record = format!(
        "format = 3\nfolders = [{folder:?}]\nemptied = [{emptied:?}]\n\n[[file]]\npath = {file:?}\nmode = 2541\n{after}"
    );
    if sent.clear(&format!(".kbr/{name}")) {
        // Rust writes other escapes than TOML.
        let record = record
            .replace("\\u{1b}", "\\u001b")
            .replace("\\u{7}", "\\u0007");
        sent.write(&format!(".kbr/{name}"), record);
    }
    marked(
        sent,
        choice,
        format!("{name}: {file:?} {folder:?} {emptied:?}"),
    )
}

/// An upgrade that is unfinished.
pub fn own_upgrade(sent: &Sent, choice: &mut Choice) -> String {
    if !sent.clear(".kbr/upgrade") {
        return "no .kbr".to_owned();
    }
    let [file, unresolved] = [(); 2].map(|()| path_out(sent, choice));
    let index = format!("100644 {} 0\\t../victim/key\\n", "0".repeat(40));
    let record = format!(
        "format = 1\nfrom = \"0.2.9\"\nto = \"0.3.0\"\nunresolved = [{unresolved:?}]\nindex = \"{index}\"\n\n[[file]]\npath = {file:?}\nexisted = true\nafter = \"x\"\n"
    );
    let record = record
        .replace("\\u{1b}", "\\u001b")
        .replace("\\u{7}", "\\u0007");
    sent.write(".kbr/upgrade/record", record);
    let copy = if choice.below(2) == 0 {
        odd(sent, ".kbr/upgrade/0", choice)
    } else {
        sent.write(".kbr/upgrade/0", "hostile");
        String::new()
    };
    marked(
        sent,
        choice,
        format!("upgrade: {file:?} {unresolved:?} {copy}"),
    )
}
