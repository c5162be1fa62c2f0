//! Hostile folders, each made from a number.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::nested::{FORMS, nested};
use crate::sent::Sent;

/// Everything below `.kbr` that kbr acts on.
const OWN: [&str; 7] = [
    "commit",
    "undo",
    "draft",
    "staged",
    "before",
    "upgrade",
    "upgrade-draft",
];

/// Where a link leads.
const TARGETS: [&str; 9] = [
    "victim",
    "victim/tree",
    "victim/empty",
    "victim/key",
    "victim/tree/0",
    "victim/src",
    "victim/src/main.rs",
    "victim/missing",
    "victim/Cargo.toml",
];

/// Files and folders of a project that commands read, write or remove.
const PARTS: [&str; 15] = [
    "PROJECT",
    "Cargo.toml",
    "Cargo.lock",
    "Makefile",
    ".gitignore",
    "src",
    "src/main.rs",
    "src/controllers",
    "api/src/crew/v1/captain.rs",
    "api",
    "config",
    "config/default/kustomization.yaml",
    "third_party/kbr-manager/Cargo.toml",
    "third_party/kbr-testing",
    "manager",
];

/// The way of one number through the choices.
struct Choice(u64);

impl Choice {
    fn below(&mut self, end: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Makes the folder hostile; returns what was done to it.
pub fn attack(sent: &Sent, number: u64) -> Vec<String> {
    let mut choice = Choice((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = 1 + choice.below(4);
    let kinds: [fn(&Sent, &mut Choice) -> String; 10] = [
        repository,
        own_folder,
        own_part,
        own_record,
        own_upgrade,
        project_file,
        part,
        text,
        source,
        every_byte,
    ];
    // One is each kind in turn. A repository comes first: git would be confused by the rest.
    let mut chosen: Vec<usize> = (1..count).map(|_| choice.below(kinds.len())).collect();
    chosen.push(usize::try_from(number).unwrap() % kinds.len());
    chosen.sort_unstable();
    let chosen = chosen.into_iter().map(|at| kinds[at](sent, &mut choice));
    chosen.collect()
}

/// Something else than a small file at `path`.
fn odd(sent: &Sent, path: &str, choice: &mut Choice) -> String {
    let at = sent.root.join(path);
    if !sent.clear(path) {
        return format!("nothing at {path}");
    }
    let what = choice.below(8);
    match what {
        0 => mknodat(CWD, &at, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        1 => device(&at),
        2 => symlink("/dev/zero", &at).unwrap(),
        3 => File::create(&at).unwrap().set_len(1 << 40).unwrap(),
        4 => symlink(sent.outside.path().join(choice.of(&TARGETS)), &at).unwrap(),
        5 => {
            // As a clone carries it.
            let up = "../".repeat(path.matches('/').count() + 1);
            symlink(up + choice.of(&TARGETS), &at).unwrap();
        }
        6 => symlink(".", &at).unwrap(),
        _ => fs::create_dir(&at).unwrap(),
    }
    format!("{path} is odd: {what}")
}

/// `/dev/zero` itself; a link to it where only root may make one.
fn device(path: &Path) {
    let made = mknodat(
        CWD,
        path,
        FileType::CharacterDevice,
        Mode::RWXU,
        makedev(1, 5),
    );
    if made.is_err() {
        symlink("/dev/zero", path).unwrap();
    }
}

fn own_folder(sent: &Sent, choice: &mut Choice) -> String {
    odd(sent, ".kbr", choice)
}

/// A part of `.kbr`, or a file in one; the mark is right in half of the folders.
fn own_part(sent: &Sent, choice: &mut Choice) -> String {
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
fn path_out(sent: &Sent, choice: &mut Choice) -> String {
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
fn own_record(sent: &Sent, choice: &mut Choice) -> String {
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
fn own_upgrade(sent: &Sent, choice: &mut Choice) -> String {
    if !sent.clear(".kbr/upgrade") {
        return "no .kbr".to_owned();
    }
    let [file, unresolved] = [(); 2].map(|()| path_out(sent, choice));
    let index = format!("100644 {} 0\\t../victim/key\\n", "0".repeat(40));
    let record = format!(
        "format = 1\nfrom = \"0.1.0\"\nto = \"0.3.0\"\nunresolved = [{unresolved:?}]\nindex = \"{index}\"\n\n[[file]]\npath = {file:?}\nexisted = true\nafter = \"x\"\n"
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

/// PROJECT with other text.
fn project_file(sent: &Sent, choice: &mut Choice) -> String {
    if !sent.clear("PROJECT") {
        return "no PROJECT".to_owned();
    }
    let old = "layout = \"v1\"\nkbr = \"0.1.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";
    let texts: [Vec<u8>; 8] = [
        (0..=255).collect(),
        [
            old,
            "[[api]]\ngroup = \"../../victim\"\nversion = \"v1\"\nkind = \"../K\"\n",
        ]
        .concat()
        .into(),
        [old, "x = ", &"[".repeat(100_000)].concat().into(),
        old.replace("captains", "\\u001b[2Jcaptains").into(),
        old.replace("captains", "../../victim").into(),
        old.replace("0.1.0", "../../../victim").into(),
        [
            old,
            "repo = \"\\u001b[2J\"\nowner = \"\\u0000\"\nlicense = \"../victim/key\"\n",
        ]
        .concat()
        .into(),
        old.repeat(10_000).into(),
    ];
    let which = choice.below(texts.len());
    sent.write("PROJECT", &texts[which]);
    format!("PROJECT: text {which}")
}

/// A part of the project that is something else.
fn part(sent: &Sent, choice: &mut Choice) -> String {
    let path = choice.of(&PARTS);
    odd(sent, path, choice)
}

/// A planned file whose text takes long to parse or to compare, or fills the stack.
fn text(sent: &Sent, choice: &mut Choice) -> String {
    let path = choice.of(&[
        "src/main.rs",
        "src/controllers/captain.rs",
        "api/src/crew/v1/captain.rs",
        "config/default/kustomization.yaml",
        "Cargo.toml",
        "Makefile",
    ]);
    let form = match path {
        "config/default/kustomization.yaml" => ["a: ", "[", "", "]", ""],
        "Cargo.toml" => ["a = ", "[", "", "]", ""],
        "Makefile" => ["", "$(", "", ")", ""],
        _ => choice.of(&FORMS),
    };
    let [start, open, ..] = form;
    let deep = 20_000;
    let numbers = |count: usize| (0..count).map(|number| format!("{number}\n"));
    let aliases =
        (1..12).map(|at| format!("a{at}: &a{at} [{}]\n", format!("*a{}, ", at - 1).repeat(10)));
    let texts: [String; 5] = [
        nested(form, deep),
        nested([start, open, "", "", ""], deep),
        numbers(200_000).collect(),
        "\0".repeat(1 << 20),
        ["a0: &a0 [x, x]\n".to_owned()]
            .into_iter()
            .chain(aliases)
            .collect(),
    ];
    let which = choice.below(texts.len());
    sent.write(path, &texts[which]);
    format!("{path}: text {which}")
}

/// A source that commands find by themselves.
fn source(sent: &Sent, choice: &mut Choice) -> String {
    let path = choice.of(&[
        "src/found.rs",
        "src/deep/found.rs",
        "api/src/found.rs",
        "config/found/kustomization.yaml",
        "src/.gitignore",
        "third_party/kbr-manager/src/found.rs",
        "third_party/kbr-testing/src/found.rs",
    ]);
    if choice.below(5) > 0 {
        return odd(sent, path, choice);
    }
    let deep = "d/".repeat(1_000);
    if sent.clear("src/d") {
        fs::create_dir_all(sent.root.join("src").join(deep)).unwrap();
    }
    "deep folders".to_owned()
}

/// Files and folders whose names have every byte.
fn every_byte(sent: &Sent, choice: &mut Choice) -> String {
    let folder = choice.of(&[
        ".",
        "src",
        "api/src",
        "config",
        ".kbr",
        ".kbr/staged",
        ".kbr/upgrade",
    ]);
    if !sent.clear(&format!("{folder}/x")) {
        return "no folder for names".to_owned();
    }
    let folder = sent.root.join(folder);
    for byte in (1..=255_u8).filter(|byte| *byte != b'/') {
        let name: PathBuf = OsStr::from_bytes(&[b"a".as_slice(), &[byte], b".rs"].concat()).into();
        fs::write(folder.join(&name), "use manager::webhook::Refusal;\n").unwrap();
        let name = OsStr::from_bytes(&[b"b".as_slice(), &[byte]].concat()).to_owned();
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    format!("names in {}", folder.display())
}

/// A repository that is configured to run programs or to use other folders.
fn repository(sent: &Sent, choice: &mut Choice) -> String {
    let git = |arguments: &str| {
        let script = format!("git -c user.name=a -c user.email=a@b.c {arguments}");
        let mut command = std::process::Command::new("sh");
        let command = command.args(["-c", &script]).current_dir(&sent.root);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.status().unwrap();
    };
    if !sent.clear(".git") {
        return "no .git".to_owned();
    }
    sent.write("tracked", "before");
    git("init --quiet && git add tracked");
    git("commit --quiet --message all");
    // git compares only files that may have changed.
    sent.write("tracked", "changed");
    let run = |name: &str| {
        format!(
            "touch {}",
            sent.outside.path().join("ran").join(name).display()
        )
    };
    let victim = sent.victim();
    let which = choice.below(10);
    match which {
        0 => git(&format!("config core.fsmonitor '{} #'", run("fsmonitor"))),
        1 => {
            sent.write(".gitattributes", "* filter=x\n");
            git(&format!("config filter.x.clean '{}; cat'", run("clean")));
        }
        2 => {
            sent.write(".gitattributes", "* filter=x\n");
            git(&format!("config filter.x.process '{}'", run("process")));
        }
        3 => hooks(sent, ".git/hooks", &run("hook")),
        4 => {
            hooks(sent, "hooks", &run("hooks-path"));
            git("config core.hooksPath hooks");
        }
        5 => git(&format!("config core.worktree {}", victim.display())),
        6 => git("config include.path /dev/zero"),
        7 => {
            git(&format!("config diff.external '{}'", run("diff")));
            git(&format!("config core.pager '{}'", run("pager")));
            git(&format!("config core.sshCommand '{}'", run("ssh")));
        }
        8 => {
            sent.clear(".git");
            sent.write(
                ".git",
                format!("gitdir: {}\n", victim.join("repository/.git").display()),
            );
        }
        _ => {
            return odd(
                sent,
                choice.of(&[".git", ".git/HEAD", ".git/config", ".git/index"]),
                choice,
            );
        }
    }
    format!("git: {which}")
}

fn hooks(sent: &Sent, folder: &str, run: &str) {
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "post-checkout",
        "pre-commit",
    ] {
        let path = format!("{folder}/{hook}");
        sent.write(&path, format!("#!/bin/sh\n{run}\n"));
        fs::set_permissions(sent.root.join(path), PermissionsExt::from_mode(0o755)).unwrap();
    }
}
