# Checks of the deployed project `harbor`, which run in it with an API server and its kubectl.
system=harbor-system
account=system:serviceaccount:$system:harbor-controller-manager
mutating=mutatingwebhookconfiguration/harbor-mutating-webhook-configuration
validating=validatingwebhookconfiguration/harbor-validating-webhook-configuration
crd=crd/captains.crew.example.com
default=config/default/kustomization.yaml
captain=src/webhooks/crew_v1_captain.rs
ship=src/webhooks/crew_v1_ship.rs
mkdir -p target
apply="kubectl apply --server-side --force-conflicts --field-manager=harbor-make"

# `make` must succeed.
works() {
  echo "# make $*"
  make "$@" > target/output 2>&1 || { cat target/output; echo "failed: make $*"; exit 1; }
}

is() {
  test "$1" = "$2" || { echo "\`$1\` is not \`$2\`"; exit 1; }
}

# Runs the operator on this machine with the permissions of its service account; the arguments are flags.
start() {
  kubectl config view --raw --flatten > target/deployed.kubeconfig
  token=$(kubectl create token --namespace $system harbor-controller-manager)
  kubectl --kubeconfig target/deployed.kubeconfig config set-credentials deployed --token="$token"
  kubectl --kubeconfig target/deployed.kubeconfig config set-context --current --user=deployed
  # Ignore the output of an earlier operator.
  rm -f target/operator.log
  KUBECONFIG=target/deployed.kubeconfig POD_NAMESPACE=$system "$operator" "$@" --webhook-host 127.0.0.1 --webhook-port 0 \
    --log-format text --health-probe-bind-address 0 --metrics-bind-address 0 > target/operator.log 2>&1 &
  running=$!
}

stop() {
  kill -KILL $running
  wait $running || true
  running=
}

# A running operator means that something has failed.
running=
others=
ended() {
  test -z "$others" || kill $others
  test -n "$running" || return 0
  kill -KILL $running
  cat target/operator.log
}
trap ended EXIT

# The path of a webhook's CA bundle, by its name; without a name, that of a CRD.
place() {
  if test -n "$1"; then
    echo "{.webhooks[?(@.name==\"$1\")].clientConfig.caBundle}"
  else
    echo '{.spec.conversion.webhook.clientConfig.caBundle}'
  fi
}

bundle() {
  kubectl get "$1" --output jsonpath="$(place "$2")"
}

# answers ANSWER VERB OBJECT: whether the operator may do that. The API server notices new roles a moment later.
answers() {
  wanted=$1
  shift
  for _ in $(seq 300); do
    answer=$(kubectl auth can-i "$@" --as $account 2> target/output) || true
    test "$answer" != "$wanted" || return 0
    sleep 0.1
  done
  is "$* $answer" "$* $wanted"
}

# Checks that the operator has all permissions for its certificate, or none.
permissions() {
  for object in $mutating $validating $crd "secret/harbor-webhook-certificate --namespace $system"; do
    for verb in get list watch patch; do
      answers "$1" $verb $object
    done
  done
  answers "$1" create secret/harbor-webhook-certificate --namespace $system
}

# All rendered objects are valid, and have no placeholders.
valid() {
  kubectl kustomize target/deploy > target/rendered.yaml
  if grep --extended-regexp 'SERVICE_NAME|CERTIFICATE_|ISSUER_|PLACEHOLDER|TODO|name: any$' target/rendered.yaml; then exit 1; fi
  $apply --dry-run=server --filename target/rendered.yaml > target/output
  is "$(grep --count serverside-applied target/output)" "$(grep --count '^kind: ' target/rendered.yaml)"
}

names() {
  kubectl get "$1" --output jsonpath='{.webhooks[*].name}'
}

arguments() {
  kubectl get deployment --namespace $system harbor-controller-manager --output jsonpath='{.spec.template.spec.containers[0].args}'
}
