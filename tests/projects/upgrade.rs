//! Projects of 0.1.0 with a user's code become projects of this release, which build, lint and pass their tests.

use std::fs;

use super::{
    place::place,
    project::{Project, before_a_release},
    states::external_crate,
    support::{KBR, copy, repository},
};

impl Project {
    /// Makes this a project of 0.1.0 that the same commands created: its PROJECT records them.
    fn becomes_0_1_0(&self) {
        let project = fs::read_to_string(self.0.join("PROJECT")).expect("PROJECT");
        let (head, tables) = project.split_once("kbr = \"").expect("the release");
        let (_, tables) = tables.split_once('"').expect("the release");
        for entry in fs::read_dir(&self.0).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                fs::remove_dir_all(path).expect("a removable folder");
            } else {
                fs::remove_file(path).expect("a removable file");
            }
        }
        let project = format!("{head}kbr = \"0.1.0\"{tables}");
        fs::write(self.0.join("PROJECT"), project).expect("a writable folder");
        self.run(KBR, &["faults-render", "0.1.0", "."]);
    }

    /// Copies the user's files for the case `name`.
    fn add(&self, name: &str) {
        copy(
            &repository().join("tests/projects/upgrade").join(name),
            &self.0,
        );
    }

    /// Upgrades it in a repository of its own, and returns what kbr reports.
    fn upgrade(&self) -> String {
        // The user has built it, so cargo knows the crates that the user has added.
        self.run("cargo", &["fetch"]);
        let git = "git init --quiet . && git add --all && git -c user.name=a -c user.email=a@b.c commit --quiet --message before";
        self.run(
            "sh",
            &["-e", "-c", &format!("{git}; kbr upgrade --yes 2>&1")],
        )
    }

    /// The checks of an upgraded project.
    fn is_as_good_as_new(&self) {
        self.run(KBR, &["upgrade", "--check"]);
        self.lint();
        self.test();
        // What 0.1.0 did not have.
        self.run("make", &["chart", "bundle"]);
        self.run(KBR, &["chart", "--check"]);
    }
}

#[test]
fn a_guestbook_of_0_1_0_is_upgraded_with_its_users_code() {
    let place = place();
    let project = place.project("guestbook");
    project.kbr("init --domain my.domain");
    let kind = "--group webapp --version v1 --kind Guestbook";
    project.create_api(&format!("{kind} --resource --controller"));
    project.kbr(&format!("create webhook {kind} --defaulting --validation"));
    project.becomes_0_1_0();
    project.add("guestbook");
    let api = "api/src/webapp/v1/guestbook.rs";
    project.replace(
        api,
        "    /// An example: put what your users may ask for in its place, and run `make manifests`.\n    #[schemars(length(max = 256))]\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub message: Option<String>,\n",
        "    /// The image that serves the guestbook.\n    #[schemars(length(max = 256))]\n    #[serde(default)]\n    pub image: String,\n",
    );
    project.replace(
        api,
        "pub struct GuestbookStatus {\n",
        "pub struct GuestbookStatus {\n    /// The image that runs.\n    #[serde(default)]\n    pub image: String,\n\n",
    );
    let webhooks = "src/webhooks/webapp_v1_guestbook.rs";
    project.replace(
        webhooks,
        "        // Set what your users may leave out, as in `object.spec.message.get_or_insert_default();`\n        let generation = object.metadata.generation;\n        tracing::debug!(name = cx.name(), generation, \"nothing to default\");\n",
        "        if object.spec.image.is_empty() {\n            let mut name = cx.name();\n            tracing::debug!(name, \"the default image\");\n            \"registry.example.com/guestbook:v1\".clone_into(&mut object.spec.image);\n        }\n",
    );
    project.replace(
        webhooks,
        "// What holds of every object, new or changed.",
        "/// Only our own images.\nfn check_image(object: &Guestbook) -> Result<(), webhook::Refusal> {\n    let image = &object.spec.image;\n    let mut errors = webhook::FieldErrors::default();\n    if !image.is_empty() && !image.starts_with(\"registry.example.com/\") {\n        errors.push(webhook::FieldError::invalid(\n            \"spec.image\",\n            image,\n            \"not ours\",\n        ));\n    }\n    errors.check()\n}\n\n// What holds of every object, new or changed.",
    );
    project.replace(
        webhooks,
        "    errors.check()?;\n    Ok(",
        "    errors.check()?;\n    check_image(object)?;\n    Ok(",
    );
    project.replace(
        webhooks,
        "        assert_eq!(admitted.object, request[\"request\"][\"object\"]);\n",
        "        let image = \"registry.example.com/guestbook:v1\";\n        assert_eq!(admitted.object[\"spec\"][\"image\"], image);\n",
    );
    let dependencies = "# +kbr:scaffold:dependencies";
    let own = format!("jiff = \"0.2\" # dates in notes\n{dependencies}");
    project.replace("Cargo.toml", dependencies, &own);
    project.replace(
        "Makefile",
        "IMG ?= controller:latest",
        "IMG ?= registry.example.com/guestbook:v7",
    );
    project.replace(
        "src/main.rs",
        "//! The operator guestbook.",
        "//! The operator guestbook, of the web team.",
    );

    let report = project.upgrade();
    let what_failed = "the upgrade itself is complete; fix this";
    assert!(!report.contains(what_failed), "{report}");
    assert!(
        report.contains("the project keeps the types of Kubernetes 1.36"),
        "{report}"
    );
    // `cargo fix` has applied the compiler's suggestion.
    assert!(report.contains("does not need to be mutable"), "{report}");
    let upgraded = fs::read_to_string(project.0.join(webhooks)).expect("the webhook");
    assert!(upgraded.contains("let name = cx.name();"), "{upgraded}");
    project.is_as_good_as_new();
}

#[test]
#[ignore = "`make test-release` runs it: it compiles three projects"]
fn projects_of_0_1_0_with_versions_external_kinds_and_many_controllers_are_upgraded() {
    assert!(before_a_release());
    let place = place();
    {
        let project = place.project("captains");
        project.kbr("init --domain example.com");
        for version in ["v1alpha1", "v1beta1", "v1"] {
            let controller = version == "v1alpha1";
            project.create_api(&format!(
                "--group crew --version {version} --kind Captain --resource --controller={controller}"
            ));
        }
        project.kbr("create webhook --group crew --version v1 --kind Captain --conversion");
        project.becomes_0_1_0();
        for version in ["v1alpha1", "v1beta1", "v1"] {
            let path = format!("api/src/crew/{version}/captain.rs");
            project.replace(&path, "    pub message: Option<String>,\n", "    pub message: Option<String>,\n\n    /// The ship.\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    pub ship: Option<String>,\n");
        }
        project.replace(
            "src/controllers/captain.rs",
            "cx.ready(\"Applied\", \"everything is as the spec wants it\");",
            "cx.ready(\"Sailing\", \"the ship sails\");",
        );
        let report = project.upgrade();
        assert!(!report.contains("warning"), "{report}");
        project.is_as_good_as_new();
    }
    {
        let project = place.project("gadgets");
        project.kbr("init --domain example.com");
        external_crate(&project);
        project.create_api(
            "--group widgets.example.org --domain= --version v1 --kind Widget --plural widgets --resource=false --controller \
             --external-crate ./widgets --external-type widgets::Widget",
        );
        project.becomes_0_1_0();
        external_crate(&project);
        project.replace(
            "src/controllers/widget.rs",
            "nothing to do",
            "looked at a widget",
        );
        // As the user's first build did.
        project.run("cargo", &["update", "--workspace"]);
        let report = project.upgrade();
        assert!(!report.contains("warning"), "{report}");
        project.is_as_good_as_new();
    }
    let project = place.project("fleet");
    project.kbr("init --domain example.com");
    let kinds = [
        "Anchor", "Boat", "Captain", "Deck", "Engine", "Flag", "Galley", "Harbor", "Island",
        "Jetty", "Keel", "Lantern", "Mast",
    ];
    for kind in kinds {
        project.create_api(&format!(
            "--group crew --version v1 --kind {kind} --resource --controller"
        ));
    }
    project.becomes_0_1_0();
    for kind in kinds {
        let path = format!("src/controllers/{}.rs", kind.to_lowercase());
        project.replace(
            &path,
            "cx.ready(\"Applied\", \"everything is as the spec wants it\");",
            &format!(
                "cx.ready(\"Applied\", \"the {} is ready\");",
                kind.to_lowercase()
            ),
        );
    }
    let report = project.upgrade();
    assert!(!report.contains("warning"), "{report}");
    project.is_as_good_as_new();
}
