//! Random edits of projects of a release before this one, which differs from it at random, too: an upgrade loses no line of the user, and
//! merges as git does.
//!
//! `KBR_UPGRADES` sets the number of edited projects (200), `KBR_SEED` the first seed (1).

#![allow(clippy::disallowed_types, reason = "a test asks git")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::*;

/// Pseudo-random numbers, the same for the same seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % end.max(1) as u64).unwrap()
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

/// Edits a text of a user, who has their own words for everything.
fn edit(random: &mut Random, path: &str, text: &str) -> String {
    let mut lines = edited(random, path, text, "mine");
    // Another formatter, or an editor on Windows.
    match random.below(12) {
        0 => lines
            .iter_mut()
            .for_each(|line| *line = line.replace("    ", "\t")),
        1 => lines.iter_mut().for_each(|line| *line = format!("{line} ")),
        2 => lines.iter_mut().for_each(|line| line.push('\r')),
        _ => {}
    }
    let end = if random.below(10) == 0 { "" } else { "\n" };
    lines.join("\n") + end
}

/// The lines of a text that `whose` has edited.
fn edited(random: &mut Random, path: &str, text: &str, whose: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len());
        let own = format!("{} {whose} {}", sign(path), random.below(1_000_000));
        match random.below(5) {
            0 if !lines.is_empty() => lines[at] = own,
            1 if !lines.is_empty() => drop(lines.remove(at)),
            2 if !lines.is_empty() => lines[at].extend([" ", &own]),
            3 => lines
                .splice(at..at, [own.clone(), String::new(), own])
                .for_each(drop),
            _ => lines.insert(at, own),
        }
    }
    lines
}

fn sign(path: &str) -> &'static str {
    if crate::rust::is_rust(path) {
        "//"
    } else {
        "#"
    }
}

/// The lines of `text` that `earlier` does not have, with their numbers; white space at the end does not count.
fn added<'a>(text: &'a str, earlier: &str) -> BTreeMap<&'a str, usize> {
    let mut own = BTreeMap::new();
    for line in text.lines().map(str::trim_end) {
        *own.entry(line).or_default() += 1;
    }
    for line in earlier.lines().map(str::trim_end) {
        if let Some(number) = own.get_mut(line) {
            *number = usize::saturating_sub(*number, 1);
        }
    }
    own.retain(|line, number| *number > 0 && !line.is_empty());
    own
}

#[test]
fn random_edits_lose_no_line_and_merge_as_git_does() {
    let (first, upgrades) = (number("KBR_SEED", 1), number("KBR_UPGRADES", 200));
    let trees = trees();
    let folder = tempfile::tempdir().unwrap();
    let (mut compared, mut verbs) = ([0; 5], BTreeMap::<_, usize>::new());
    for seed in first..first + upgrades {
        let mut random = Random(seed);
        let (mut ancestor, new) = trees[random.below(trees.len())].clone();
        for file in 0..ancestor.len() {
            if random.below(3) == 0 {
                let (path, file) = ancestor.iter_mut().nth(file).unwrap();
                file.text = edited(&mut random, path, &file.text, "theirs").join("\n") + "\n";
            }
        }
        let (ancestor, new) = (&ancestor, &new);
        let mut disk: Disk = ancestor
            .iter()
            .map(|(path, file)| (path.clone(), file.text.clone().into_bytes()))
            .collect();
        let own: Vec<&String> = ancestor.keys().collect();
        for _ in 0..=random.below(6) {
            let path = own[random.below(own.len())];
            match random.below(10) {
                0 => drop(disk.remove(path)),
                1 => {
                    let content = disk.remove(path).unwrap_or_default();
                    disk.insert(format!("moved/{path}"), content);
                }
                _ => {
                    let text = edit(&mut random, path, &ancestor[path].text);
                    disk.insert(path.clone(), text.into_bytes());
                }
            }
        }
        let before = disk.clone();
        let plan = upgraded(ancestor, new, &disk);
        apply(&plan, &mut disk);
        check_kept(seed, ancestor, &before, &disk);
        for change in &plan.changes {
            *verbs.entry(format!("{:?}", change.verb)).or_default() += 1;
            let sides = (
                ancestor.get(&change.path),
                &change.before,
                new.get(&change.path),
            );
            if let (Some(ancestor), Some(ours), Some(new)) = sides
                && [Verb::Merge, Verb::Conflict].contains(&change.verb)
            {
                let git = git(folder.path(), [&ancestor.text, &new.text], ours);
                let outcome = compare(change, &plan, git);
                compared[outcome] += 1;
            }
        }
    }
    eprintln!(
        "{verbs:?}; as git, by entries or user's code, git merges and we do not, elsewhere, differs: {compared:?}"
    );
    assert!(compared[0] > 50 || upgrades < 200, "{compared:?}");
    assert!(compared[4] == 0, "{compared:?}");
}

/// Each line of the user is still there, in its file or where the user moved it.
fn check_kept(seed: u64, ancestor: &Tree, before: &Disk, after: &Disk) {
    let renewed =
        |path: &str, text: &str| renames::renewed(path, text, SPAN, &predecessor::CHANGES);
    for (path, content) in before {
        // With the names of the library that the upgrade changes in the user's code, too.
        let text = renewed(path, &String::from_utf8_lossy(content));
        let pristine = ancestor.get(path).map_or("", |file| &file.text);
        let pristine = renewed(path, pristine);
        let own = added(&text, &pristine);
        if own.is_empty() {
            continue;
        }
        let result = after
            .get(path)
            .map(|content| String::from_utf8_lossy(content).into_owned());
        let result = result.unwrap_or_default();
        let result = renewed(path, &result);
        let kept = added(&result, "");
        for (line, number) in own {
            let found = kept.get(line).copied().unwrap_or_default();
            assert!(
                found >= number,
                "seed {seed}: `{path}` lost `{line}`:\n{result}"
            );
        }
    }
}

/// The merge of git, and whether it is without conflicts.
fn git(folder: &std::path::Path, [ancestor, new]: [&str; 2], ours: &[u8]) -> (bool, String) {
    let is_windows = ours.windows(2).any(|pair| pair == b"\r\n");
    let ours = if is_windows {
        String::from_utf8_lossy(ours)
            .replace("\r\n", "\n")
            .into_bytes()
    } else {
        ours.to_vec()
    };
    for (name, content) in [
        ("ancestor", ancestor.as_bytes()),
        ("ours", &ours),
        ("new", new.as_bytes()),
    ] {
        fs::write(folder.join(name), content).unwrap();
    }
    let (from, to) = (format!("kbr {}", SPAN.from), format!("kbr {}", SPAN.to));
    let arguments = [
        "merge-file",
        "-p",
        "--diff3",
        "-L",
        "yours",
        "-L",
        &from,
        "-L",
        &to,
        "ours",
        "ancestor",
        "new",
    ];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// 0: the same; 1: merged by entries, or in the user's favour, where git has conflicts; 2: git merges more; 3: the same lines, a few of them elsewhere, as they fit in two places; 4: different.
fn compare(change: &Change, plan: &Plan, (is_clean, merged): (bool, String)) -> usize {
    let text = String::from_utf8_lossy(&change.after).replace("\r\n", "\n");
    let is_unmerged = plan.unmerged.iter().any(|it| it.path == change.path);
    match (change.verb, is_clean) {
        _ if text == merged => 0,
        (Verb::Merge, false) => 1,
        (Verb::Merge, true) if is_unmerged => 2,
        (Verb::Conflict, true) => 2,
        (Verb::Conflict, false) => 0,
        // The user's line stays next to a comment that has other words now.
        (Verb::Merge, true) if code(&change.path, &text) == code(&change.path, &merged) => 2,
        _ if sorted(&text) == sorted(&merged) => 3,
        _ => {
            let diff = similar::TextDiff::from_lines(&merged, &text);
            eprintln!("{}: git and kbr:\n{}", change.path, diff.unified_diff());
            4
        }
    }
}

/// The lines that are not comments.
fn code<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.starts_with(sign(path))).collect()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
