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
            "the reconciler `ReconcileIssuer` in `internal/issuer.go`, for `Issuer` of `github.com/cert-manager/cert-manager/pkg/apis/v1`",
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
