//! CRDs of strangers, with text that would end a literal or a comment: none of it becomes code.

use clap::Parser;
use kbr_host::lines::Lines;
use kbr_scaffold::blueprint::Presence;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::commit;
use kbr_scaffold::imported::SharedFile;
use tempfile::TempDir;

use super::super::super::tests::project;
use super::super::*;
use crate::cli::WriteArgs;
use crate::cli::tests::hostile;
use crate::cli::write::Session;
use crate::fuzz;
use crate::planted::plant;

/// A project without kinds, on disk.
fn written() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let intent = Intent::head(&project("example.com"), Presence::New);
    let plan = session(root.path()).plan(&intent, Lines::default(), Lines::default());
    let lock = commit::lock(root.path()).unwrap();
    commit::commit(&lock, &plan.unwrap().changes).unwrap();
    root
}

fn session(root: &Path) -> Session {
    let args = WriteArgs {
        dry_run: true,
        ..WriteArgs::default()
    };
    write::lock(root.to_owned(), args).unwrap()
}

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

/// What the command would write for a CRD, as a kind of the project's own and as one of another operator.
fn changes(root: &Path, text: &str) -> anyhow::Result<Vec<Change>> {
    let definition = imported::read(text, None)?;
    let args = |more: &[&str]| {
        let usual = ["kbr", "--from-crd", "-", "--controller"];
        Command::parse_from(usual.iter().chain(more)).args
    };
    let project = project("example.com");
    let (own, external) = (args(&[]), args(&["--external"]));
    let import = |args| Import::new(args, &definition, true, &project, root);
    let own = import(&own)?.own()?;
    let external = import(&external)?.external(&TypesCrate::of(None)?)?;
    let mut changes = Vec::new();
    for (intent, notes, next) in [own, external] {
        changes.extend(session(root).plan(&intent, notes, next)?.changes);
    }
    Ok(changes)
}

/// The files of the kind alone, without and with another one that has the same types.
fn types(text: &str) -> anyhow::Result<Vec<Change>> {
    let definition = imported::read(text, None)?;
    let created = |path: &str, text: String| Change {
        path: path.to_owned(),
        verb: Verb::Create,
        before: None,
        after: text.into_bytes(),
    };
    let mut other = definition.clone();
    other.kind = "Other".to_owned();
    let (shared, files) = imported::shared(&[&definition, &other])?;
    let types = [definition.types(), definition.types_beside(&shared)].concat();
    let types = types.into_iter().map(|it| created("types.rs", it.text));
    let mut changes: Vec<_> = types.collect();
    for SharedFile { text, list, .. } in files {
        changes.extend([created("shared_types.rs", text), created("list.yaml", list)]);
    }
    changes.push(created("source.yaml", definition.yaml()?));
    Ok(changes)
}

#[test]
fn nothing_of_a_crd_becomes_code() {
    let root = written();
    let plain = changes(root.path(), &hostile::crd().to_string()).unwrap();
    assert!(plain.len() > 20, "{plain:?}");
    fuzz::made(25, |random| {
        let mut crd = hostile::crd();
        plant(random, 3, &hostile::is_name_of_crd, &mut crd);
        let crd = crd.to_string();
        // Most files are the same each time, and templates are slow.
        let changes = match random.below(10) {
            0 => changes(root.path(), &crd),
            _ => types(&crd),
        };
        // A CRD that kbr cannot read becomes nothing.
        changes.map_or(Ok(()), |changes| hostile::check(&changes))
    });
}
