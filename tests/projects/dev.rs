//! `kbr dev` on a generated project.

use std::{fs, path::Path};

use super::{place::place, project::Project, screen::Screen, support::KBR};

/// The common part of both scripts: `kbr dev` as a job, its output, and an object that shows which code runs.
const TOOLS: &str = r#"
code=src/webhooks/crew_v1_captain.rs
dev=
end() {
  test -z "$dev" || { kill "$dev"; wait "$dev"; }
  dev=
}
trap 'end; cat dev.log' EXIT
start() {
  setsid kbr dev "$@" > dev.log 2>&1 &
  dev=$!
}
# printed TEXT TIMES: waits until kbr has printed the text that many times.
printed() {
  for _ in $(seq 6000); do
    if test "$(grep -c -e "$1" dev.log)" -ge "$2"; then return; fi
    sleep 0.1
  done
  echo "not printed $2 times: $1"
  exit 1
}
# The API server notices a configuration with some delay.
defaulted() {
  for _ in $(seq 1800); do
    if kubectl create --dry-run=server -o jsonpath='{.spec.message}' -f object.yaml | grep -x "$1"; then return; fi
    sleep 0.1
  done
  echo "not defaulted: $1"
  exit 1
}
cat > object.yaml <<END
{ "apiVersion": "crew.my.domain/v1", "kind": "Captain", "metadata": { "name": "a" }, "spec": {} }
END
"#;

const OWN: &str = r#"
start --cluster --samples
printed 'installed 2 webhooks' 1
kubectl() { "$(kbr envtest path)/kubectl" "$@"; }
export KUBECONFIG=$(sed -n 's/.*export KUBECONFIG=//p' dev.log)
folder=$(dirname "$KUBECONFIG")
defaulted ahoy

# The samples are applied once the webhooks are served.
printed 'applied 1 sample' 1
kubectl wait --for=condition=Ready --timeout=3m captain/captain-sample
kubectl create namespace crew
kubectl --namespace crew create -f object.yaml
kubectl --namespace crew wait --for=condition=Ready --timeout=3m captain/a

# Only this machine can reach the operator.
grep 'serving health probes.*127.0.0.1:' dev.log

# The new code runs, on the same API server.
sed -i 's/ahoy/avast/' $code
printed 'started captains' 2
defaulted avast

# A failed build leaves the operator running.
cp $code before
echo 'fn' >> $code
printed 'waiting for a change; the operator keeps running' 1
defaulted avast

# A changed type updates the CRD.
cp before $code
sed -i 's|^    pub message: Option<String>,|&\n\n    /// Another one.\n    pub another: Option<String>,|' api/src/crew/v1/captain.rs
printed 'installed 1 CRD' 2
printed 'started captains' 3
# The API server publishes the schema some time after it has accepted the CRD.
for _ in $(seq 1800); do
  if kubectl explain captains.spec.another; then break; fi
  sleep 0.1
done
kubectl explain captains.spec.another
defaulted avast

# A change to a file that is not compiled restarts nothing.
runs=$(grep -c 'Finished' dev.log)
touch config/samples/crew_v1_captain.yaml
printed 'Finished' $((runs + 1))
test "$(grep -c 'started captains' dev.log)" = 3

# A changed sample is applied again.
sed -i 's/^spec:.*/spec:\n  message: aweigh/' config/samples/crew_v1_captain.yaml
printed 'applied 1 sample' 2
test "$(kubectl get captain captain-sample -o jsonpath='{.spec.message}')" = aweigh

# The end of the operator is reported, and a change restarts it.
operator=
for process in $(cat /proc/$dev/task/$dev/children); do
  case $(readlink /proc/$process/exe) in */captains) operator=$process ;; esac
done
kill -KILL "$operator"
printed 'ended the operator (signal: 9 (SIGKILL))' 1
sed -i 's/avast/belay/' $code
printed 'started captains' 4
defaulted belay

# The operator has the permissions of its ServiceAccount and no others, also after they have changed.
role=src/controllers/captain.rs
cp $role before
sed -i '/captains.status/d' $role
printed 'installed the permissions' 2
account=system:serviceaccount:captains-system:captains-controller-manager
for _ in $(seq 1800); do
  if ! kubectl auth can-i patch captains --subresource=status --as $account; then break; fi
  sleep 0.1
done
kubectl --namespace crew patch captain a --type=merge -p '{"spec":{"message":"haul"}}'
printed "$account.* cannot patch resource .*captains/status" 1
printed 'kbr:rbac:groups=crew.my.domain,resources=captains/status,verbs=patch' 1
cp before $role
printed 'installed the permissions' 3
# The rebuilt operator reconciles it at once.
kubectl --namespace crew wait --for=jsonpath='{.status.observedGeneration}'=2 --timeout=3m captain/a

# The log is in a file, but people read it.
grep ' INFO manager' dev.log
if grep '^{' dev.log; then exit 1; fi

# Nothing remains. A background job of a script ignores SIGINT.
kill -TERM $dev
wait $dev
dev=
if kubectl get namespaces; then exit 1; fi
test ! -e "$folder"
"#;

const KEPT: &str = r#"
export KUBEBUILDER_ASSETS=$(kbr envtest path) XDG_DATA_HOME=$PWD/target/data
kubectl() { "$KUBEBUILDER_ASSETS/kubectl" "$@"; }
export KUBECONFIG=$XDG_DATA_HOME/kbr/clusters/dev-captains/kubeconfig
start --cluster --keep
printed 'started captains' 1
kubectl create namespace kept
if kbr dev --cluster --keep 2>error; then exit 1; fi
grep 'the cluster `dev-captains` is already running' error
end
start --cluster --keep
printed 'started captains' 1
kubectl get namespace kept
kubectl create deployment web --image=nginx
kubectl rollout status deployment web --timeout=3m
end
kbr cluster stop dev-captains --delete
test ! -e "$XDG_DATA_HOME/kbr/clusters/dev-captains"
"#;

const EXISTING: &str = r#"
kubectl get crd captains.crew.my.domain
# The deployed operator leads.
kubectl create namespace captains-system
lease() { kubectl get lease captains.my.domain -n captains-system -o jsonpath='{.spec.holderIdentity}'; }
kubectl create -f - <<END
{ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "captains.my.domain", "namespace": "captains-system" },
  "spec": { "holderIdentity": "deployed", "leaseDurationSeconds": 3600, "renewTime": "$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)" } }
END
if echo n | kbr dev --use-existing-cluster 2>error; then exit 1; fi
grep 'deployed leads in the cluster' error
test "$(lease)" = deployed
kubectl patch lease captains.my.domain -n captains-system --type=merge \
  -p '{ "spec": { "leaseDurationSeconds": 3, "renewTime": "'"$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"'" } }'
start --use-existing-cluster --take-lease
printed 'waiting until its leader has ended' 1
printed 'started captains' 1
case $(lease) in kbr-dev-*) ;; *) exit 1 ;; esac
kubectl apply -f object.yaml
kubectl wait --for=condition=Ready --timeout=3m captain/a
sed -i 's/belay/ahoy/' $code
printed 'started captains' 2
if grep installed dev.log; then exit 1; fi
test -z "$(kubectl get mutatingwebhookconfigurations -o name)"
end
test -z "$(lease)"
kubectl get captain a
"#;

/// A Deployment that the sample owns.
const DEPLOYMENT: &str = r#"
kubectl() { "$(kbr envtest path)/kubectl" "$@"; }
uid=$(kubectl get captain captain-sample -o jsonpath='{.metadata.uid}')
kubectl create deployment web --image=nginx
kubectl patch deployment web --type=merge -p '{ "metadata": { "ownerReferences": [{ "apiVersion": "crew.my.domain/v1",
  "kind": "Captain", "name": "captain-sample", "uid": "'"$uid"'", "controller": true }] } }'
"#;

/// An object that waits for its finalizer.
const HELD: &str = r#"
kubectl() { "$(kbr envtest path)/kubectl" "$@"; }
kubectl wait --for=delete --timeout=3m deployment/web
kubectl apply -f - <<END
{ "apiVersion": "crew.my.domain/v1", "kind": "Captain", "metadata": { "name": "held", "finalizers": ["my.domain/f"] }, "spec": {} }
END
"#;

/// An object, and what it owns, exist before `kbr dev` starts.
const BEFORE: &str = r#"
kubectl apply -f object.yaml
kubectl create deployment web --image=nginx
uid=$(kubectl get captain a -o jsonpath='{.metadata.uid}')
kubectl patch deployment web --type=merge -p '{ "metadata": { "ownerReferences": [{ "apiVersion": "crew.my.domain/v1",
  "kind": "Captain", "name": "a", "uid": "'"$uid"'", "controller": true }] } }'
exec kbr dev --use-existing-cluster
"#;

/// The screen with the user's own cluster, where kubectl watches.
fn on_the_users_cluster(captains: &Project) {
    let run = [
        "--ctty", "--wait", KBR, "envtest", "run", "--", "sh", "-e", "-c", BEFORE,
    ];
    let mut screen = Screen::start(captains.command("setsid", &run), 40, 150);
    screen.shows("cluster   that of your kubeconfig");
    screen.shows("operator  running for");
    screen.shows("default/a                         True");
    screen.shows("default/web");
    screen.press("a");
    screen.shows("kbr does not change your own cluster");
    screen.press("q");
    screen.ends();
}

/// A day's work on the screen of `kbr dev`.
fn on_a_terminal(captains: &Project) {
    let code = "src/webhooks/crew_v1_captain.rs";
    let api = "api/src/crew/v1/captain.rs";
    let command = captains.command("setsid", &["--ctty", "--wait", KBR, "dev", "--cluster"]);
    let mut screen = Screen::start(command, 40, 150);

    // A sample is applied by a key, and its Captain is shown.
    screen.shows("operator  running for");
    screen.press("a");
    screen.shows("1 of 1 ready");
    screen.shows("default/captain-sample            True");

    // So is what it owns, until the Deployment is available.
    let export = screen.line("export KUBECONFIG=");
    let script = format!("{export}\n{DEPLOYMENT}");
    captains.run("bash", &["-e", "-c", &script]);
    screen.shows("MinimumReplicasAvailable");
    screen.shows("ScalingReplicaSet");

    // Broken code is shown, and the operator keeps running.
    let whole = fs::read_to_string(captains.0.join(code)).expect("a file");
    captains.replace(code, "get_or_insert_with", "sail");
    screen.shows("first error");
    screen.shows("failed");
    screen.shows("operator  running for");
    screen.press("b");
    screen.shows("error: could not compile");
    screen.press("\x1b");
    screen.shows("first error");
    fs::write(captains.0.join(code), whole).expect("a writable file");
    screen.shows("build     took");

    // A changed type updates the CRD.
    captains.replace(api, "/// Another one.", "/// One more.");
    screen.press("l");
    screen.press("/");
    screen.press("installed 1 CRD");
    screen.press("\r");
    screen.shows("log, 2 lines");
    screen.press("\x1b");
    screen.hides("filter:");
    screen.press("\x1b");
    screen.shows("build     took");
    screen.shows(" events ");

    // A filter hides the rest, on a smaller terminal too.
    screen.press("/Minimum\r");
    screen.hides("default/captain-sample ");
    screen.shows("MinimumReplicasAvailable");
    screen.press("\x1b");
    screen.resize(16, 70);
    screen.shows("a apply samples");
    screen.shows("default/captain-sample ");

    // No key is lost while the size changes.
    screen.press("/");
    let mut typed = String::from("filter: ");
    for _ in 0..50 {
        screen.resize(30, 180);
        screen.press("a");
        typed.push('a');
        screen.shows(&typed);
        screen.press("b");
        screen.resize(20, 190);
        typed.push('b');
        screen.shows(&typed);
    }
    screen.press("\x1b");
    screen.resize(16, 70);
    screen.shows("a apply samples");

    // A key restarts the operator: its log has one more such line. Unfiltered, later lines soon displace it.
    screen.press("l");
    screen.press("/shutting down");
    screen.shows("type to filter");
    screen.press("\r");
    screen.shows("arrows");
    let before = screen.line("log, ");
    screen.press("r");
    screen.hides(&before);
    screen.press("\x1b");
    screen.hides("filter:");
    screen.press("q");
    screen.shows("a apply samples");

    // A key deletes the sample, and the garbage collector what it owned.
    screen.press("d");
    screen.shows("Captain                             none");

    // An object that the operator has not cleaned up after is named when it is discarded.
    let script = format!("{export}\n{HELD}");
    captains.run("bash", &["-e", "-c", &script]);
    screen.shows("default/held");
    screen.press("q");
    screen.shows("discarded without a clean-up: captains default/held");
    screen.ends();
    let folder = export
        .trim_start_matches("export KUBECONFIG=")
        .trim_end_matches("/kubeconfig");
    assert!(!Path::new(folder).exists(), "{folder}");
}

#[test]
fn an_operator_is_rebuilt_and_restarted_whenever_its_sources_change() {
    let place = place();
    let captains = place.project("captains");
    captains.kbr("init --domain my.domain");
    let kind = "--group crew --version v1 --kind Captain";
    captains.create_api(&format!("{kind} --yes"));
    captains.kbr(&format!("create webhook {kind} --defaulting --validation"));
    captains.implement(
        "src/webhooks/crew_v1_captain.rs",
        "default",
        "        let _ = cx;
        object.spec.message.get_or_insert_with(|| \"ahoy\".to_owned());",
    );
    captains.run("bash", &["-e", "-c", &format!("{TOOLS}{OWN}")]);
    captains.run("bash", &["-e", "-c", &format!("{TOOLS}{KEPT}")]);
    on_a_terminal(&captains);
    on_the_users_cluster(&captains);
    captains.run(
        "kbr",
        &[
            "envtest",
            "run",
            "--",
            "bash",
            "-e",
            "-c",
            &format!("{TOOLS}{EXISTING}"),
        ],
    );
}
