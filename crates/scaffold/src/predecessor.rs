//! A release before this one, made up of today's templates and library, so that tests can upgrade a project before there is a second
//! release. No release of kbr knows it.

use crate::library;
use crate::project::KBR;
use crate::quote;
use crate::release::{Archive, Release};
use crate::upgrade::changes::{Changes, Held, Noted, Renamed, Span};

/// Its version.
pub const VERSION: &str = "0.2.9";

/// The upgrade from it to this release.
pub const SPAN: Span<'_> = Span {
    from: VERSION,
    to: KBR,
};

/// What has changed since, in the user's code as well.
pub const CHANGES: Changes = Changes {
    renamed: &[Renamed {
        release: KBR,
        module: "webhook",
        from: "Refusal",
        to: "Rejection",
    }],
    noted: &[Noted {
        release: KBR,
        pattern: ".wake(",
        with: "Trigger",
        note: "`Trigger::wake` is now `Trigger::enqueue`",
    }],
    held: &[Held {
        release: KBR,
        path: "k8s_openapi::api::apps",
        files: &["config/manager/manager.yaml"],
        switch: &[(
            "terminationGracePeriodSeconds: 30",
            "terminationGracePeriodSeconds: 45",
        )],
        note: "the operator still has 30 s to stop: to give it 45 s, write that here",
    }],
};

/// What has changed in the files of an archive.
const CHANGED: &str = include_str!("predecessor.txt");

/// The release before `current`, whose library may be left out.
///
/// # Panics
/// A template or the library no longer has what `predecessor.txt` says of it.
pub fn of(current: &Release) -> Release {
    let mut files = current.archive();
    let has_library = !current.library.is_empty();
    let mut change = |path: &str, before: &str, now: &str| {
        if has_library || !path.starts_with("library/") {
            change(&mut files, path, before, now);
        }
    };
    for entry in CHANGED.split("\n\n") {
        let entry = entry.split_once('\n');
        // Anything else is a sentence for readers.
        if let Some((path, lines)) = entry.filter(|(_, lines)| lines.starts_with(['-', '+'])) {
            let [before, now] = ['-', '+'].map(|sign| {
                let lines = lines.lines().filter_map(|line| line.strip_prefix(sign));
                lines.collect::<Vec<_>>().join("\n")
            });
            change(path, &before, &now);
        }
    }
    for package in library::packages() {
        let lines = |version| {
            let [name, version] = [package, version].map(quote::toml);
            format!("name = {name}\nversion = {version}\n")
        };
        for path in [
            "scaffolds/Cargo.lock",
            &format!("library/{package}/Cargo.toml"),
        ] {
            change(path, &lines(VERSION), &lines(KBR));
        }
    }
    Release::from_archive(VERSION, files).expect("checksums are text")
}

fn change(files: &mut Archive, path: &str, before: &str, now: &str) {
    let text = files.remove(path);
    let text = match (before, now) {
        ("", _) => return assert!(text.is_some(), "no `{path}`: change `predecessor.txt`"),
        (_, "") => {
            assert!(text.is_none(), "`{path}` exists: change `predecessor.txt`");
            format!("{before}\n")
        }
        _ => {
            let text = text.filter(|text| text.contains(now));
            let text =
                text.unwrap_or_else(|| panic!("`{path}` has no `{now}`: change `predecessor.txt`"));
            text.replace(now, before)
        }
    };
    files.insert(path.to_owned(), text);
}
