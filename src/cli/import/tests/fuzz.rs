//! Go projects of strangers, with text that would end a literal or a comment: none of it becomes code.

use clap::Parser;
use kbr_host::lines::Lines;
use kbr_scaffold::changes::Change;
use kbr_scaffold::golang::Files;
use kbr_scaffold::yaml;
use serde_json::{Value, json};

use super::super::*;
use crate::cli::tests::hostile;
use crate::fuzz::{self, Random};
use crate::planted::{breakout, plant, visible};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

/// What the command would write for a project.
fn changes(files: &Files, root: &Path) -> anyhow::Result<Vec<Change>> {
    let args = Command::parse_from(["kbr", "go", "--dry-run"]).args;
    let mut found = golang::read(files)?;
    let (imported, _) = imported(&args, &mut found)?;
    let session = write::lock(root.to_owned(), args.write)?;
    let plan = session.plan(&imported.intent, Lines::default(), Lines::default())?;
    Ok(plan.changes)
}

/// The file that kubebuilder calls PROJECT.
fn project() -> Value {
    json!({
        "version": "3", "layout": ["go.kubebuilder.io/v4"], "domain": "example.com", "repo": "github.com/sea/tides", "projectName": "tides",
        "resources": [
            { "api": { "crdVersion": "v1" }, "controller": true, "domain": "example.com", "group": "sea", "kind": "Tide", "version": "v1",
              "webhooks": { "defaulting": true, "validation": true, "conversion": true, "spoke": ["v1beta1"] } },
            { "group": "apps", "kind": "Deployment", "version": "v1", "controllers": [{ "name": "deployment" }], "external": true },
            { "group": "certs", "domain": "other.io", "kind": "Cert", "version": "v1", "controller": true, "external": true },
        ],
    })
}

/// The objects in `config`, apart from CRDs.
fn config() -> [(&'static str, Value); 3] {
    let container = json!({
        "name": "manager", "command": ["/manager"], "args": ["--leader-elect", "--tide=high"],
        "env": [{ "name": "A", "value": "b" }, { "name": "C", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } }],
        "resources": { "limits": { "memory": "1Gi" }, "requests": { "cpu": "1" } },
    });
    [
        (
            "config/manager/manager.yaml",
            json!({
                "kind": "Deployment",
                "spec": { "replicas": 3, "selector": { "matchLabels": { "control-plane": "tides", "app": "x" } }, "template": { "spec": { "containers": [container] } } },
            }),
        ),
        (
            "config/samples/sea_v1_tide.yaml",
            json!({
                "apiVersion": "sea.example.com/v1", "kind": "Tide", "metadata": { "name": "t", "labels": { "a": "b" } }, "spec": { "color": "Red", "k": [1] },
            }),
        ),
        (
            "config/manifests/bases/tides.clusterserviceversion.yaml",
            json!({
                "kind": "ClusterServiceVersion",
                "metadata": { "annotations": { "categories": "Sea, Crew", "capabilities": "Basic Install" } },
                "spec": { "displayName": "Tides", "description": "Runs tides.", "provider": { "name": "Sea" }, "maturity": "alpha", "minKubeVersion": "1.30.0",
                    "keywords": ["k"], "maintainers": [{ "name": "n", "email": "e@x" }], "links": [{ "name": "l", "url": "https://x" }] },
            }),
        ),
    ]
}

/// Kustomizations, with `§` where text is planted.
const KUSTOMIZATIONS: [(&str, &str); 4] = [
    (
        "config/default/kustomization.yaml",
        "namespace: tides§\nnamePrefix: t-§\nresources: [../manager, ../other, ../§]\ncommonLabels: {a§: b§}\ncommonAnnotations: {c§: d§}\n\
         patches:\n- {path: ../§}\n- target: {kind: §}\n  patch: §\n- target: {kind: Deployment}\n  patch: '[{op: add, path: /metadata/§, value: §}]'\n\
         patchesStrategicMerge: [patch.yaml]\nreplicas: [{name: §, count: §}]\nreplacements: [{targets: [{select: {kind: Deployment}, fieldPaths: [§]}]}]\n§: §\n",
    ),
    (
        "config/default/patch.yaml",
        "kind: Deployment\nmetadata: §\nspec: {template: {spec: {tolerations: [{key: §}], containers: [{name: manager, lifecycle: §}]}}}\n",
    ),
    (
        "config/manager/kustomization.yaml",
        "resources: [manager.yaml]\n",
    ),
    (
        "config/other/kustomization.yaml",
        "resources: [all.yaml]\nconfigMapGenerator: [{name: §}]\n",
    ),
];

/// Objects beside the operator, with `§` where text is planted.
const OTHERS: &str = "kind: ServiceAccount\nmetadata: {name: tides, annotations: {a§: b§}}\nimagePullSecrets: [{name: §}]\n---\n\
    kind: ClusterRole\nmetadata: {name: role§}\nrules: [{apiGroups: [§], resources: [pods§], verbs: [get§]}]\n---\n\
    kind: ClusterRoleBinding\nmetadata: {name: §}\nroleRef: {kind: ClusterRole, name: role}\nsubjects: [{kind: ServiceAccount, name: tides}]\n---\n\
    kind: ConfigMap\nmetadata: {name: c§, namespace: §}\ndata: {a§: b§}\n---\nkind: K§\nmetadata: {name: §}\n---\nkind: Secret\nmetadata: {name: s§}\n";

/// What tells an object of `config`.
fn is_name_in_config(path: &str) -> bool {
    path.ends_with("/kind") || path == "/apiVersion" || path == "/spec"
}

/// A Go file with `§` where text is planted.
const GO: &str = "// §\npackage controller\n\n/*\n§\n*/\n
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;§
// +kubebuilder:rbac:groups=x§,resources=§,verbs=list,namespace=§
// +kubebuilder:webhook:path=/mutate-sea-example-com-v1-tide,mutating=true,failurePolicy=§,groups=sea.example.com,resources=tides,versions=v1,name=§
// +kubebuilder:webhook:path=/validate§,mutating=false,groups=sea.example.com,resources=others,versions=v1
const tideFinalizer = \"sea.example.com/§\"
var owner = client.FieldOwner(\"tides§\")
\tLeaderElectionID: \"3f7a.example.com§\",
\tLeaderElectionID: \"3f7a.example.com\",
func (r *TideReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
\ts := `§`
}
func (r *§Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {}
\tFor(&v1.Tide{}).§
§";

/// A project; text is planted in one of `share` places.
fn files(random: &mut Random, share: usize) -> Files {
    let text = |value: &Value| yaml::render(std::slice::from_ref(value)).unwrap();
    let mut all = Files::new();
    let mut add = |path: &str, text: String| all.insert(path.to_owned(), text);
    let mut head = project();
    plant(random, share, &|_| true, &mut head);
    add("PROJECT", text(&head));
    let mut crd = hostile::crd();
    plant(random, share * 2, &hostile::is_name_of_crd, &mut crd);
    add("config/crd/bases/sea.example.com_tides.yaml", text(&crd));
    for (path, mut object) in config() {
        plant(random, share, &is_name_in_config, &mut object);
        add(path, text(&object));
    }
    let mut planted = |text: &str, what: fn(&mut Random) -> String| {
        let mut parts = text.split('§');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let is_planted = random.below(share) == 0;
            text + &if is_planted {
                what(random)
            } else {
                String::new()
            } + part
        })
    };
    add(
        "internal/controller/tide_controller.go",
        planted(GO, breakout),
    );
    add(
        &planted("internal/a§/b§.go", visible),
        planted(GO, breakout),
    );
    add(&planted("config/a§.yaml", visible), "a: 1\n".to_owned());
    add(
        "Makefile",
        planted("IMG ?= example.com/tides:v1§\n", breakout),
    );
    add("LICENSE", planted("Apache License§\n", breakout));
    // In JSON, which is YAML, a planted text stays a text or becomes another value.
    let mut quoted = |text: &str| {
        planted(text, |random| {
            serde_json::to_string(&breakout(random)).unwrap_or_default()
        })
    };
    for (path, text) in KUSTOMIZATIONS {
        add(path, quoted(text));
    }
    add("config/other/all.yaml", quoted(OTHERS));
    let sample = "config/samples/sea_v1_tide.yaml";
    let comment = format!(
        "# {}\n",
        planted("§", breakout)
            .replace("\r\n", " ")
            .replace('\n', "\n# ")
    );
    all.entry(sample.to_owned())
        .and_modify(|text| *text = comment + text);
    all
}

#[test]
fn nothing_of_a_go_project_becomes_code() {
    let root = tempfile::tempdir().unwrap();
    let plain = changes(&files(&mut Random(1), 1 << 40), root.path()).unwrap();
    assert!(plain.len() > 60, "{plain:?}");
    fuzz::made(25, |random| {
        // A project that kbr cannot read becomes nothing.
        let changes = changes(&files(random, 3), root.path());
        changes.map_or(Ok(()), |changes| hostile::check(&changes))
    });
}
