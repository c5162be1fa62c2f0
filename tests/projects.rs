//! Generated projects are formatted, free of warnings, tested, rendered, deployed and run, in every state that commands leave them in.
//!
//! All are built into one target folder, so that only the first one pays for the third-party crates.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use support::{KBR, repository};

/// Where all of them are built.
fn build() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("build")
}

/// A project in a folder of its own, empty at first.
struct Project(PathBuf);

impl Project {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("a removable folder");
        }
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// Runs a command in the project; what it prints is shown when it fails.
    fn run(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program, args).stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run `{program}`: {error}"));
        self.succeeded(&format!("{program} {}", args.join(" ")), &output)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let kbr = Path::new(KBR)
            .parent()
            .expect("the binary lies in a folder");
        let path = std::env::var("PATH").expect("there is a PATH");
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.0)
            .env("PATH", format!("{}:{path}", kbr.display()))
            .env("CARGO_TARGET_DIR", build())
            .env_remove("MAKEFLAGS");
        command
    }

    fn succeeded(&self, what: &str, output: &Output) -> String {
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "`{what}` in {}:\n{out}\n{err}",
            self.0.display()
        );
        out
    }

    fn kbr(&self, words: &str) {
        let words: Vec<_> = words.split(' ').collect();
        self.run(KBR, &words);
    }

    fn create_api(&self, words: &str) {
        self.kbr(&format!("create api {words}"));
    }

    /// What every state must stand: manifests, formatting, clippy.
    fn lint(&self) {
        self.run("cargo", &["metadata", "--locked", "--format-version", "1"]);
        self.run("make", &["manifests", "lint"]);
        self.run(KBR, &["manifests", "--check"]);
    }

    /// Unit tests, and integration tests in which the operator brings each sample to `Ready` on a real API server.
    fn test(&self) {
        self.run("make", &["test"]);
    }

    /// Runs a shell script that has a cluster, and its `kubectl`.
    fn cluster(&self, script: &str) -> String {
        self.run(KBR, &["envtest", "run", "--", "sh", "-e", "-c", script])
    }
}

#[test]
fn a_project_holds_in_every_state_that_it_grows_through() {
    let project = Project::new("captains");
    project.kbr("init --domain example.com");
    project.lint();
    project.test();

    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    project.lint();
    project.test();

    let crates = project.run(
        "cargo",
        &[
            "tree",
            "--package",
            "captains-api",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ],
    );
    assert!(crates.contains("kube-core v"), "{crates}");
    for heavy in ["tokio v", "hyper v", "rustls v", "kube-client v"] {
        assert!(
            !crates.contains(heavy),
            "whoever uses the types does not get {heavy}:\n{crates}"
        );
    }

    project.create_api("--group crew --version v2 --kind Captain --resource --controller=false");
    project.lint();
    project.create_api("--group crew --version v1 --kind Ship --namespaced=false --short-name sh --resource --controller");
    project.lint();
    project.create_api("--group galley --version v1alpha1 --kind Captain --resource --controller");
    project.lint();
    project.create_api("--group apps --version v1 --kind Deployment --resource=false --controller");
    project.create_api("--group core --version v1 --kind Namespace --resource=false --controller");
    project.lint();
    project.create_api("--group crew --version v1 --kind Captain --controller-name captain-backup --resource=false --controller");
    project.create_api("--group crew --version v1 --kind Log --resource --controller=false");
    project.lint();
    project.test();

    // tests/makefile has the rest of this.
    project.cluster(
        "make install deploy IMG=registry.example.com/captains:v1
         kubectl apply -k config/samples
         kubectl get deployment -n captains-system captains-controller-manager -o yaml | grep registry.example.com/captains:v1",
    );
}

/// What `make deploy` grants is enough, in the whole cluster and in one namespace: the operator runs with the token of its service account.
#[test]
fn the_operator_needs_no_more_rights_than_it_is_deployed_with() {
    let project = Project::new("crew");
    project.kbr("init --domain example.com");
    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    project.create_api(
        "--group crew --version v1 --kind Ship --namespaced=false --resource --controller",
    );
    project.run("make", &["build"]);
    let operator = build().join("debug/crew");
    let as_deployed = format!(
        r#"
        make deploy IMG=registry.example.com/crew:v1
        cp "$KUBECONFIG" deployed.kubeconfig
        token=$(kubectl create token crew-controller-manager -n crew-system)
        kubectl --kubeconfig deployed.kubeconfig config set-credentials deployed --token="$token"
        kubectl --kubeconfig deployed.kubeconfig config set-context --current --user=deployed
        KUBECONFIG=deployed.kubeconfig POD_NAMESPACE=crew-system {} --leader-elect \
            --health-probe-bind-address 127.0.0.1:0 --metrics-bind-address 127.0.0.1:0 >operator.log 2>&1 &
        trap 'kill $!; cat operator.log' EXIT
        kubectl apply -n crew-system -f config/samples/crew_v1_captain.yaml
        kubectl wait -n crew-system --for=condition=Ready --timeout=60s captain/captain-sample
        kubectl get lease -n crew-system crew.example.com
        "#,
        operator.display()
    );
    let ship = "kubectl apply -f config/samples/crew_v1_ship.yaml
        kubectl wait --for=condition=Ready --timeout=60s ship/ship-sample";
    let log = project.cluster(&format!("{as_deployed}\n{ship}"));
    assert!(!log.contains("orbidden"), "nothing is refused: {log}");

    let default = project.0.join("config/default/kustomization.yaml");
    let text = fs::read_to_string(&default).expect("readable");
    let text = text.replace("components:\n", "components:\n  - ../namespaced\n");
    fs::write(&default, text).expect("writable");
    let confined = as_deployed.replace(
        "POD_NAMESPACE=",
        "WATCH_NAMESPACE=crew-system POD_NAMESPACE=",
    );
    project.cluster(&confined);
}

#[test]
fn names_that_rust_or_rustfmt_might_trip_over_compile() {
    let project = Project::new("odd-names");
    project.kbr("init --project-name o2-odd-names --domain example.com");
    let kinds = [
        "--group crew --version v1 --kind IPPool",
        "--group crew --version v1 --kind A",
        "--group crew --version v1 --kind Type",
        "--group crew --version v1 --kind Match",
        "--group crew --version v1 --kind Context",
        "--group crew --version v1 --kind Condition",
        "--group crew --version v1 --kind Clone",
        "--group crew --version v1 --kind Result",
        "--group v1 --version v1 --kind Box",
        "--group bin --version v1 --kind Serialize",
        "--group crew --version v1 --kind K8S2GoX",
        "--group crew --version v1 --kind Abcdefghijklmnopqrstuvwx",
        "--group type --version v1beta1 --kind Captain",
        "--group 3scale --version v2alpha13 --kind Captain",
        "--group sea-creatures.deep --version v12 --kind Captain",
        "--group foo.policy --version v1 --kind HealthCheckPolicy",
        "--group kube --version v1 --kind Kube",
        "--group std --version v1 --kind Std",
        "--group serde --version v1 --kind Serde",
        "--group abcdefghijklmnopqrstuvwx --version v12345678alpha1234567890 --kind Zbcdefghijklmnopqrstuvwx",
    ];
    for words in kinds {
        project.create_api(&format!("{words} --resource --controller"));
    }
    project.lint();
    project.test();
}

/// What users' own documents type, with `kubebuilder` replaced by `kbr`, each in its own folder.
#[test]
fn commands_of_kubebuilder_that_people_have_typed_work() {
    let tsi = Project::new("tsi");
    tsi.kbr("init --domain tiduyun.com --repo git.tiduyun.com/tsi-controller");
    tsi.run(
        "sh",
        &[
            "-c",
            "printf 'y\\ny\\n' | kbr create api --group tsi --version v1alpha1 --kind IPPool",
        ],
    );
    tsi.kbr("manifests");
    let crd = fs::read_to_string(tsi.0.join("config/crd/bases/tsi.tiduyun.com_ippools.yaml"))
        .expect("a CRD");
    assert!(crd.contains("name: ippools.tsi.tiduyun.com"), "{crd}");
    let types = tsi.0.join("api/src/tsi/v1alpha1/ippool.rs");
    let source = fs::read_to_string(&types).expect("types");
    fs::write(&types, source.replace("    namespaced,\n", "")).expect("a writable file");
    tsi.kbr("manifests");
    let crd = fs::read_to_string(tsi.0.join("config/crd/bases/tsi.tiduyun.com_ippools.yaml"))
        .expect("a CRD");
    assert!(
        crd.contains("scope: Cluster"),
        "the types are the truth: {crd}"
    );

    let guestbook = Project::new("guestbook");
    guestbook.kbr("init --repo myk8soperator");
    guestbook.run(
        "sh",
        &[
            "-c",
            "printf 'y\\ny\\n' | kbr create api --group webapp --version v1 --kind Guestbook",
        ],
    );
    guestbook.run(
        "sh",
        &[
            "-c",
            "printf 'y\\ny\\n' | kbr create api --group ajd --version v1 --kind Home",
        ],
    );
    guestbook.lint();
    guestbook.cluster("kubectl get crd homes.ajd.my.domain guestbooks.webapp.my.domain; kubectl apply -k config/samples");
}

/// From an empty folder to a status that follows its Deployment.
#[test]
fn what_the_guide_says_works_word_by_word() {
    let foo = Project::new("myk8soperator");
    let script = repository().join("demo/script");
    let guide = repository().join("docs/guide.md");
    let script = foo.run("awk", &["-f", text(&script), text(&guide)]);
    let shown = foo.run("sh", &["-e", "-c", &script]);
    for expected in [
        "foo.samplecontroller.c9g.io/foo-sample condition met",
        r#""availableReplicas":3"#,
        "deployment.apps/foo-sample   3/5",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in:\n{shown}");
    }
    foo.lint();

    // What the API server knows of a Foo, and what it refuses.
    foo.cluster(
        r#"
        schema() { kubectl get crd foos.samplecontroller.c9g.io -o jsonpath="{.spec.versions[0].schema.openAPIV3Schema.properties.$1}"; }
        test "$(schema spec.required)" = '["image","replicas"]'
        test "$(schema spec.properties.image.type)" = string
        test "$(schema spec.properties.replicas.type)/$(schema spec.properties.replicas.format)" = integer/int32
        test "$(schema status.properties.availableReplicas.type)" = integer
        foo=$(cat config/samples/samplecontroller_v1alpha1_foo.yaml)
        ! echo "$foo" | grep -v replicas | kubectl apply -f - 2>refused
        grep 'spec.replicas: Required value' refused
        "#,
    );

    // An object that was there first is reconciled at start, and the log tells the start in order.
    let shown = foo.cluster(&format!(
        r"
        kubectl apply -f config/samples/samplecontroller_v1alpha1_foo.yaml
        {} --log-format text --health-probe-bind-address 127.0.0.1:0 \
            --metrics-bind-address 127.0.0.1:0 --metrics-secure=false >operator.log 2>&1 &
        trap 'kill $!; wait; cat operator.log' EXIT
        kubectl wait --for=condition=Ready --timeout=60s foo/foo-sample
        ",
        build().join("debug/myk8soperator").display()
    ));
    let at = |line: &str| {
        shown
            .find(line)
            .unwrap_or_else(|| panic!("`{line}` is not in:\n{shown}"))
    };
    let lines = [
        "serving metrics",
        "starting manager",
        "serving health probes",
        "starting event source",
        "starting controller",
        "starting workers",
    ];
    assert!(lines.map(at).is_sorted(), "{shown}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
