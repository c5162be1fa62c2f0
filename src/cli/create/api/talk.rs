//! What `kbr create api` says at the end.

use std::fmt::Write as _;

use super::target::{Added, Chosen, Named};
use crate::project::Project;

impl Chosen {
    /// What the user would not expect.
    pub fn notes(&self, project: &Project) -> String {
        let mut text = String::new();
        if let Some(api) = &self.api
            && !project.is_storage(&api.value)
        {
            let _ = writeln!(
                text,
                "note: `{}` {} is served and not stored, and nothing converts between its versions yet: keep their fields alike, `kbr manifests` says where they differ",
                api.value.kind, api.value.version
            );
        }
        if let Some(Named {
            value,
            recorded: false,
        }) = &self.controller
        {
            let kind = value.kind.to_lowercase();
            let other = project.controllers.iter().find(|known| known.name == kind);
            if let Some(other) = other.filter(|other| other.full_group != value.full_group) {
                let _ = writeln!(
                    text,
                    "note: the controller is called `{}`: `{kind}` is the one for `{}` of `{}`",
                    value.name,
                    other.kind,
                    other.group_shown()
                );
            }
        }
        if let Some(added) = &self.added {
            text += &added_crate(added);
        }
        text
    }

    /// What to type next.
    pub fn next_steps(&self) -> String {
        let mut text = "next:\n".to_owned();
        if let Some(api) = &self.api {
            let _ = writeln!(text, "  edit {}", api.value.path());
        }
        if let Some(controller) = &self.controller {
            let _ = writeln!(text, "  edit {}", controller.value.path());
        }
        text + "  make manifests\n  make test\n"
    }
}

/// What a crate that is new to the manifest asks of the machine and of the image.
fn added_crate(Added { line, folder }: &Added) -> String {
    let Some(folder) = folder else {
        return format!(
            "note: `Cargo.lock` does not have `{line}`: the next cargo command looks it up, once, and needs the network\n"
        );
    };
    let lock = format!(
        "note: `Cargo.lock` does not have `{line}`: the next cargo command adds it, once\n"
    );
    let image = if folder.starts_with("..") || folder.starts_with('/') {
        format!(
            "note: an image is built from the project's folder alone, and `{folder}` lies outside: move the crate into the project before `make docker-build`\n"
        )
    } else {
        format!(
            "note: an image needs the crate too: add `COPY {folder} {folder}` to `Dockerfile`, below `COPY manager manager`\n"
        )
    };
    lock + &image
}
