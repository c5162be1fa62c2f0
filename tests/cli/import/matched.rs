//! Which reconcilers and webhooks of the project in Go belong to which kind.

use tempfile::TempDir;

use super::safe::{contains, write};
use super::{change, folder, has, import_whole as printed};

const RECONCILE: &str =
    "Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n}\n";

/// A Go file with a reconciler of this name, for a kind that it imports.
fn reconciler(folder: &TempDir, path: &str, name: &str, import: &str, kind: &str) {
    let text = format!(
        "package controller\n\nimport (\n\t{import}\n)\n\nfunc (r *{name}) {RECONCILE}\nfunc (r *{name}) SetupWithManager(mgr ctrl.Manager) error {{\n\treturn ctrl.NewControllerManagedBy(mgr).\n\t\tFor(&{kind}{{}}, builder.WithPredicates(p)).\n\t\tComplete(r)\n}}\n"
    );
    write(folder, path, &text);
}

#[test]
fn reconcilers_that_the_project_file_does_not_name_get_controllers_of_their_kinds() {
    let folder = folder();
    change(
        &folder,
        "PROJECT",
        "  controllers:\n  - name: captain\n",
        "",
    );
    let crew = "crewv1 \"example.com/captains/api/v1\"";
    let backup = "internal/controller/backup.go";
    reconciler(
        &folder,
        backup,
        "CaptainBackupReconciler",
        crew,
        "crewv1.Captain",
    );
    let nodes = "internal/node/setup.go";
    let core = "corev1 \"k8s.io/api/core/v1\"";
    reconciler(&folder, nodes, "Reconciler", core, "corev1.Node");
    let issuers = "internal/issuer.go";
    let certs = "\"github.com/cert-manager/cert-manager/pkg/apis/v1\"";
    reconciler(&folder, issuers, "ReconcileIssuer", certs, "v1.Issuer");
    reconciler(&folder, "test/helper.go", "Helper", crew, "crewv1.Captain");
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "imported captains: 1 version, 4 controllers",
            "`src/controllers/captain.rs` | `internal/controller/captain_controller.go`",
            "`src/controllers/captain_backup.rs` | `internal/controller/backup.go`",
            "`src/controllers/node.rs` | `internal/node/setup.go`",
            "the reconciler `ReconcileIssuer` in `internal/issuer.go`, for `Issuer` of `github.com/cert-manager/cert-manager/pkg/apis/v1`, because",
        ],
    );
}

#[test]
fn versions_of_one_kind_have_one_controller() {
    let folder = folder();
    super::safe::second_version(&folder);
    let v2 = "resources:\n- api: {crdVersion: v1}\n  controller: true\n  domain: example.com\n  group: crew\n  kind: Captain\n  version: v2\n";
    change(&folder, "PROJECT", "resources:\n", v2);
    let text = printed(&folder, &[]);
    let note =
        "`PROJECT` names several controllers of `Captain`, of which there is one here, for `v1`";
    contains(&text, &["2 versions, 2 controllers", note]);
    has(
        &folder,
        "src/controllers/captain.rs",
        &["crew::v1::Captain"],
    );
}

#[test]
fn webhooks_that_only_their_comments_name_come_with_all_of_these_and_their_go() {
    let folder = folder();
    let said = "  webhooks:\n    defaulting: true\n    validation: true\n    webhookVersion: v1\n";
    change(&folder, "PROJECT", said, "");
    let go = "internal/webhook/v1/captain_webhook.go";
    let check = "path=/check,mutating=false,failurePolicy=fail";
    let second = "// +kubebuilder:webhook:path=/check,mutating=false,failurePolicy=ignore,sideEffects=None,groups=crew.example.com,resources=captains,verbs=delete,versions=v1,name=dcaptain-v1.kb.io,admissionReviewVersions=v1\n";
    let first = format!("// +kubebuilder:webhook:{check}");
    change(&folder, go, &first, &format!("{second}{first}"));
    let pods = "// +kubebuilder:webhook:path=/mutate-pods,mutating=true,failurePolicy=ignore,sideEffects=None,groups=\"\",resources=pods,verbs=create,versions=v1,name=mpod.kb.io,admissionReviewVersions=v1\n// +kubebuilder:rbac:groups=core,resources=pods,verbs=get\n";
    write(&folder, "internal/pods.go", pods);
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "1 version, 2 controllers, 2 webhooks",
            "`src/webhooks/crew_v1_captain.rs` | `internal/webhook/v1/captain_webhook.go`",
        ],
    );
    assert!(!text.contains("not taken over: the webhook"), "{text}");
    has(
        &folder,
        "src/webhooks/crew_v1_captain.rs",
        &[
            "path=/mutate-crew-example-com-v1-captain,mutating=true",
            "verbs=delete,versions=v1,name=dcaptain-v1.kb.io,admissionReviewVersions=v1\n// +kbr:webhook:path=/check,mutating=false,failurePolicy=fail",
            "// The webhook or conversion in Go, to port step by step: `internal/webhook/v1/captain_webhook.go`",
            "\n// package v1\n",
        ],
    );
    has(
        &folder,
        "src/webhooks/core_v1_pod.rs",
        &["path=/mutate-pods,"],
    );
    let permission = "// +kbr:rbac:groups=core,resources=pods,verbs=get\n";
    has(&folder, "src/main.rs", &[permission]);
}

#[test]
fn conversions_come_with_their_go() {
    let folder = folder();
    super::safe::second_version(&folder);
    let webhooks = "    defaulting: true\n    validation: true\n";
    change(&folder, "PROJECT", webhooks, "    conversion: true\n");
    let convert = "package v2\n\nfunc (src *Captain) ConvertTo(dst conversion.Hub) error {\n\treturn nil\n}\n";
    write(&folder, "api/v2/conversion.go", convert);
    printed(&folder, &[]);
    let text = "`api/v2/conversion.go` of the project";
    has(
        &folder,
        "src/webhooks/crew_v1_captain.rs",
        &[text, "ConvertTo(dst"],
    );
}

#[test]
fn the_crds_that_go_deploys_decide_which_kinds_are_converted() {
    let folder = folder();
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    change(&folder, crd, "    subresources:\n      status: {}\n", "");
    super::safe::second_version(&folder);
    // PROJECT names no conversion, and not the hub.
    let hub = "package v2\n\nfunc (*Captain) Hub() {}\n";
    write(&folder, "api/v2/captain_conversion.go", hub);
    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: captains.crew.example.com}, spec: {conversion: {strategy: Webhook}}}";
    let kustomization = |patch: &str| {
        format!("resources: [bases/crew.example.com_captains.yaml]\npatches:\n- patch: '{patch}'\n")
    };
    let crds = "config/crd/kustomization.yaml";
    write(&folder, crds, &kustomization(crd));
    let all = "resources: [../crd, ../webhook, ../manager]\n";
    write(&folder, "config/default/kustomization.yaml", all);
    printed(&folder, &[]);
    let spoke = "manager.spoke::<Captain, CaptainV1>();";
    has(&folder, "src/webhooks/crew_v2_captain.rs", &[spoke]);
    // The kind has no status, so neither has its conversion.
    let conversion = folder
        .path()
        .join("new/api/src/crew/v1/captain_conversion.rs");
    let conversion = std::fs::read_to_string(conversion).unwrap();
    assert!(!conversion.contains("object.status"), "{conversion}");

    // PROJECT names one, and Go deploys none.
    std::fs::remove_dir_all(folder.path().join("new")).unwrap();
    write(
        &folder,
        crds,
        &kustomization(&crd.replace("Webhook", "None")),
    );
    let webhooks = "    validation: true\n";
    change(
        &folder,
        "PROJECT",
        webhooks,
        "    validation: true\n    conversion: true\n",
    );
    let text = printed(&folder, &[]);
    let note = "conversions that `PROJECT` names, and that the CRDs in Go do not have: `Captain`";
    contains(&text, &[note, "2 controllers, 1 webhook"]);
}

#[test]
fn the_hub_is_the_version_whose_go_has_it_although_the_project_file_names_an_older_one() {
    let folder = folder();
    super::safe::second_version(&folder);
    let webhooks = "    defaulting: true\n    validation: true\n";
    change(&folder, "PROJECT", webhooks, "    conversion: true\n");
    let newer = "resources:\n- {api: {crdVersion: v1}, domain: example.com, group: crew, kind: Captain, version: v2}\n";
    change(&folder, "PROJECT", "resources:\n", newer);
    let hub = "package v2\n\nfunc (*Captain) Hub() {}\n";
    write(&folder, "api/v2/captain_conversion.go", hub);
    let convert = "package v1\n\nfunc (src *Captain) ConvertTo(dst conversion.Hub) error {\n\treturn nil\n}\n";
    write(&folder, "api/v1/captain_conversion.go", convert);
    printed(&folder, &[]);
    let go = "`api/v1/captain_conversion.go` of the project";
    let spoke = "manager.spoke::<Captain, CaptainV1>();";
    has(&folder, "src/webhooks/crew_v2_captain.rs", &[spoke, go]);
}

#[test]
fn the_entry_point_of_the_image_is_a_field_manager_and_flags_of_main_are_a_note() {
    let folder = folder();
    let manager = "config/manager/manager.yaml";
    let path = folder.path().join("captains").join(manager);
    let text = std::fs::read_to_string(path).unwrap();
    let command = text.lines().find(|line| line.contains("command:"));
    if let Some(command) = command {
        change(&folder, manager, &format!("{command}\n"), "");
    }
    write(&folder, "Dockerfile", "FROM a\nENTRYPOINT [\"/bin/sea\"]\n");
    let flags =
        "\tflag.StringVar(&tide, \"tide\", \"\", \"\")\n\tflag.IntVar(&n, \"depth\", 1, \"\")\n";
    change(
        &folder,
        "cmd/main.go",
        "package main\n",
        &format!("package main\n\nfunc init() {{\n{flags}}}\n"),
    );
    let text = printed(&folder, &[]);
    has(&folder, "src/main.rs", &["manager.take_over(\"sea\");"]);
    contains(
        &text,
        &["`main.go` has flags that the new operator does not have: `depth`, `tide`;"],
    );
}
