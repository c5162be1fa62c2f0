# Runs in the project `rust` beside `captains`, with an API server and its kubectl. $1 is the folder of both, $2 the number of objects.
set -uo pipefail
work=$1
objects=$2
system=captains-system
account=system:serviceaccount:$system:captains-controller-manager
all=captains.crew.example.com,configmaps,deployments.apps

is() {
  test "$1" = "$2" || { echo "\`$1\` is not \`$2\`"; exit 1; }
}

# Waits for a command to succeed.
eventually() {
  for again in $(seq 600); do
    if "$@" > "$work/output" 2>&1; then return 0; fi
    test -z "$running" || kill -0 $running || break
    sleep 0.5
  done
  cat "$work/output"
  echo "never: $*"
  exit 1
}

# A running operator means that something has failed.
running=
ended() {
  test -n "$running" || return 0
  kill -KILL $running
  tail -50 "$work/operator.log"
}
trap ended EXIT

# Starts an operator as the account of the Deployment; the arguments are the program and its flags.
start() {
  kubectl config view --raw --flatten > "$work/kubeconfig"
  token=$(kubectl create token --namespace $system captains-controller-manager --duration 2h)
  kubectl --kubeconfig "$work/kubeconfig" config set-credentials deployed --token="$token" > "$work/output"
  kubectl --kubeconfig "$work/kubeconfig" config set-context --current --user=deployed --namespace $system > "$work/output"
  KUBECONFIG=$work/kubeconfig POD_NAMESPACE=$system "$@" --leader-elect --health-probe-bind-address 0 \
    --metrics-bind-address 0 > "$work/operator.log" 2>&1 &
  running=$!
}

# With its roles: those of the project in Rust lack `update`.
deploy_go() {
  kubectl kustomize "$work/captains/config/default" | kubectl apply --server-side --force-conflicts --filename - > "$work/output"
}

deploy_rust() {
  make deploy > "$work/output" 2>&1 || { cat "$work/output"; exit 1; }
}

start_go() {
  start "$work/captains/bin/manager"
}

start_rust() {
  start "$work/bin/captains" --log-format text
}

stop() {
  kill $running
  wait $running || true
  running=
}

# Lines with what identifies the objects of a kind and changes with each write.
versions() {
  kubectl get "$1" --namespace crew --output go-template='{{range .items}}{{.metadata.name}} {{.metadata.uid}} {{.metadata.generation}} {{.metadata.resourceVersion}}{{"\n"}}{{end}}'
}

# All objects as data, without versions, which change with the owners of fields.
contents() {
  kubectl get $all --namespace crew --output json | grep -v '"resourceVersion": '
}

# How many entries of managed fields of children are those of a field manager.
entries() {
  kubectl get configmaps,deployments.apps --namespace crew --show-managed-fields --output json | grep -c "\"manager\": \"$1\"" || true
}

# How many captains are ready.
ready() {
  kubectl get captains --namespace crew --output go-template='{{range .items}}{{range .status.conditions}}{{.status}}{{"\n"}}{{end}}{{end}}' | grep -c True
}

all_ready() {
  test "$(ready)" = "$1"
}

no_entries() {
  test "$(entries "$1")" = 0
}

# The requests of the operator since line $1 of the audit log, without those about its Lease: how often which verb, resource and status.
requests() {
  tail -n "+$(($1 + 1))" "$work/audit.log" | grep "\"username\":\"$account\"" | grep -v '"resource":"leases"' |
    sed -E 's/[^,]*force=true[^,]*,"verb":"patch"/"verb":"apply"/; s/"objectRef":\{"resource":"([^"]*)"([^}]*),"subresource":"([^"]*)"/"objectRef":{"resource":"\1\/\3"\2/' |
    sed -nE 's/.*"verb":"([^"]*)".*"objectRef":\{"resource":"([^"]*)"[^}]*\}.*"code":([0-9]*)\}.*/\1 \2 \3/p' | sort | uniq -c
}

lines() {
  wc -l < "$work/audit.log"
}

# Waits until the operator has made no request for three seconds, except about its Lease.
quiet() {
  calm=0
  before=
  while test $calm -lt 6; do
    now=$(grep "\"username\":\"$account\"" "$work/audit.log" | grep -vc '"resource":"leases"')
    if test "$now" = "$before"; then calm=$((calm + 1)); else calm=0; fi
    before=$now
    sleep 0.5
  done
}

captain() {
  printf -- "---\napiVersion: crew.example.com/v1\nkind: Captain\nmetadata: { name: $1, namespace: crew }\nspec: { ship: $2, crew: 3 }\n"
}

cd "$work/rust"
echo "# the operator in Go is deployed, and runs $objects objects"
deploy_go
kubectl wait --for condition=Established --timeout 60s crd/captains.crew.example.com > "$work/output"
kubectl create namespace crew > "$work/output"
for number in $(seq "$objects"); do captain "captain-$number" nautilus; done > "$work/captains.yaml"
kubectl create --filename "$work/captains.yaml" > "$work/output"
start_go
eventually all_ready "$objects"
quiet
stop
is "$(entries manager)" $((2 * objects))
contents > "$work/contents"
for kind in captains configmaps deployments.apps; do versions $kind > "$work/of-$kind"; done

echo '# the check finds what will be taken over, and each trap that is set'
# With `sed $1`, the file $2 is wrong, and the check prints $3.
trapped() {
  cp "$2" "$work/before"
  sed -i "$1" "$2"
  if kbr import --check > "$work/output" 2>&1; then echo "not found: $3"; exit 1; fi
  grep -F "$3" "$work/output" || { cat "$work/output"; exit 1; }
  cp "$work/before" "$2"
}
kbr import --check > "$work/output" 2>&1 || { cat "$work/output"; exit 1; }
cat "$work/output"
grep -F "$objects children of the kind configmaps have fields of \`manager\`" "$work/output" > "$work/found"
trapped '/take_over/d' src/main.rs 'add `manager.take_over("manager");`'
trapped 's|crew.example.com/captain"|crew.example.com/other"|' src/controllers/captain.rs 'and no controller removes it'
trapped 's|^      control-plane: .*|      control-plane: other|' config/manager/manager.yaml 'and cannot change'

echo '# the imported project is deployed in its place'
deploy_rust
is "$(kubectl get deployments --namespace $system --output name)" deployment.apps/captains-controller-manager

echo '# the operator in Rust takes over: all children change their owner once, and nothing else changes'
at=$(lines)
start_rust
eventually no_entries manager
quiet
requests "$at"
stop
versions captains | diff "$work/of-captains" -
contents | diff "$work/contents" -
is "$(entries captains.example.com/captain)" $((2 * objects))
for kind in configmaps deployments.apps; do
  versions $kind > "$work/of-$kind.after"
  is "$(cut -d' ' -f1-3 "$work/of-$kind.after")" "$(cut -d' ' -f1-3 "$work/of-$kind")"
done

echo '# it starts again, and writes nothing'
for kind in captains configmaps deployments.apps; do versions $kind > "$work/of-$kind"; done
at=$(lines)
start_rust
eventually grep leading "$work/operator.log"
quiet
requests "$at"
stop
for kind in captains configmaps deployments.apps; do versions $kind | diff "$work/of-$kind" -; done

echo '# the operator in Go takes over again, and writes nothing'
deploy_go
at=$(lines)
start_go
eventually grep 'Starting workers' "$work/operator.log"
quiet
requests "$at"
for kind in captains configmaps deployments.apps; do versions $kind | diff "$work/of-$kind" -; done

echo '# it works: a captain changes, one comes, and one goes'
ship() { test "$(kubectl get configmap --namespace crew "$1" --output 'jsonpath={.data.ship}')" = "$2"; }
kubectl patch captain captain-1 --namespace crew --type merge --patch '{"spec":{"ship":"beagle"}}' > "$work/output"
captain new hispaniola | kubectl create --filename - > "$work/output"
kubectl delete captain captain-2 --namespace crew --timeout 60s > "$work/output"
eventually ship captain-1 beagle
eventually ship new hispaniola
quiet
stop

echo '# and so does the operator in Rust after it'
deploy_rust
start_rust
eventually no_entries manager
kubectl patch captain captain-3 --namespace crew --type merge --patch '{"spec":{"ship":"beagle"}}' > "$work/output"
kubectl delete captain captain-1 --namespace crew --timeout 60s > "$work/output"
eventually ship captain-3 beagle
eventually all_ready $((objects - 1))
quiet
stop
echo done
