//! Hostile folders, each made from a number.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::nested::{FORMS, nested};
use crate::odd::{Choice, odd};
use crate::own_folder::{own_folder, own_part, own_record, own_upgrade};
use crate::repository::repository;
use crate::sent::{PLANTED, Sent};

/// Files and folders of a project that commands read, write or remove.
const PARTS: [&str; 18] = [
    "crd.yaml",
    "main.go",
    "config/crd/bases/a.yaml",
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
    "third_party/kbr-testing",
];

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

/// PROJECT with other text.
fn project_file(sent: &Sent, choice: &mut Choice) -> String {
    if !sent.clear("PROJECT") {
        return "no PROJECT".to_owned();
    }
    let old = "layout = \"v1\"\nkbr = \"0.2.9\"\nname = \"captains\"\ndomain = \"example.com\"\n";
    let planted = format!("\\n{PLANTED}\\u202e");
    let texts: [Vec<u8>; 11] = [
        (0..=255).collect(),
        old.replace("captains", &format!("captains{planted}"))
            .into(),
        old.replace("\"v1\"", &format!("\"v1{planted}\"")).into(),
        format!("{old}[[api]]\ngroup = \"crew\"\nversion = \"v1\"\nkind = \"K{planted}\"\n").into(),
        [
            old,
            "[[api]]\ngroup = \"../../victim\"\nversion = \"v1\"\nkind = \"../K\"\n",
        ]
        .concat()
        .into(),
        [old, "x = ", &"[".repeat(100_000)].concat().into(),
        old.replace("captains", "\\u001b[2Jcaptains").into(),
        old.replace("captains", "../../victim").into(),
        old.replace("0.2.9", "../../../victim").into(),
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
    for end in ["", ".rs", ".yaml"] {
        let name = format!("a\n{PLANTED}\u{202e}{end}");
        fs::write(folder.join(name), "use manager::webhook::Refusal;\n").unwrap();
    }
    format!("names in {}", folder.display())
}
