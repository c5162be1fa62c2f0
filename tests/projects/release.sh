# Functions for releases of an operator's chart: for scripts that set $helm, $operator, $name, $system and $cluster.

step() {
  echo "# $1"
}

is() {
  test "$1" = "$2" || { echo "\`$1\` is not \`$2\`"; exit 1; }
}

# Helm must succeed.
run() {
  echo "helm $*"
  "$helm" "$@" > target/output 2>&1 || { cat target/output; echo "failed: helm $*"; exit 1; }
}

# Generates and packages the chart of `config` in this version.
packaged() {
  sed -i "s/^version = \".*\"\$/version = \"$1\"/" Cargo.toml
  kbr chart
  run package dist/chart --destination target/charts
}

# start RELEASE NAMESPACE PREFIX FLAG…: runs the operator on this machine as the ServiceAccount of a release, with the flags of its Deployment.
running=
start() {
  release=$1 namespace=$2 prefix=$3
  shift 3
  kubeconfig=target/$release.kubeconfig
  kubectl config view --raw --flatten > "$kubeconfig"
  token=$(kubectl create token --namespace "$namespace" "$prefix-controller-manager")
  kubectl --kubeconfig "$kubeconfig" config set-credentials deployed --token="$token"
  kubectl --kubeconfig "$kubeconfig" config set-context --current --user=deployed --namespace "$namespace"
  # Its readers see the old file or the new one.
  port=$((9500 + ${#services}))
  services="$services$namespace/$prefix-webhook=$port "
  listed=$(for service in $services; do echo "\"${service%=*}\": ${service#*=},"; done)
  echo "{ ${listed%,} }" > target/services.json
  cp target/services.json "$cluster/services.json.new"
  mv "$cluster/services.json.new" "$cluster/services.json"
  containers='{range .spec.template.spec.containers[0]'
  kubectl get --namespace "$namespace" "deployment/$prefix-controller-manager" -o jsonpath="$containers"'.args[*]}{@}{"\n"}{end}' |
    grep -v -e --.*-bind-address > "target/$release.flags"
  watched=$(kubectl get --namespace "$namespace" "deployment/$prefix-controller-manager" -o \
    jsonpath='{.spec.template.spec.containers[0].env[?(@.name=="WATCH_NAMESPACE")].value}' | sed "s/\$(POD_NAMESPACE)/$namespace/")
  # shellcheck disable=SC2046 # a flag has no blanks
  KUBECONFIG=$kubeconfig POD_NAMESPACE=$namespace POD_NAME=$release WATCH_NAMESPACE=$watched "$operator" $(cat "target/$release.flags") "$@" \
    --webhook-host 127.0.0.1 --webhook-port "$port" --log-format text --health-probe-bind-address 0 --metrics-bind-address 0 \
    --shutdown-delay 0s > "target/$release.log" 2>&1 &
  running="$running $!"
}
services=

# Ends all operators, as a kubelet does.
stop() {
  for process in $running; do
    kill "$process"
    wait "$process" || { cat target/*.log; exit 1; }
  done
  running= services=
  if grep -i forbidden target/*.log; then exit 1; fi
}

# A running operator means that something has failed.
ended() {
  test -n "$running" || return 0
  # shellcheck disable=SC2086 # processes
  kill -KILL $running
  cat target/*.log
}
trap ended EXIT

# The CA bundles of all webhooks and CRDs, with the Services that they are for.
bundles() {
  config='{.service.namespace}/{.service.name} {.caBundle}{"\n"}{end}'
  kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o jsonpath='{range .items[*].webhooks[*].clientConfig}'"$config"
  kubectl get crds -o jsonpath='{range .items[?(@.spec.conversion.strategy=="Webhook")].spec.conversion.webhook.clientConfig}'"$config"
}

# trusted NAMESPACE PREFIX: waits until each CA bundle for the Service of a release has its CA alone.
trusted() {
  called=$(bundles | grep --count "^$1/$2-webhook " || true)
  test "$called" != 0 || return 0
  for _ in $(seq 600); do
    ca=$(kubectl get secret --namespace "$1" "$2-webhook-certificate" --ignore-not-found -o jsonpath='{.data.ca\.crt}')
    test -z "$ca" || test "$(bundles | grep --count --fixed-strings "$1/$2-webhook $ca")" != "$called" || return 0
    sleep 0.1
  done
  bundles
  echo "the webhooks of $1/$2 are not trusted"
  exit 1
}

# What was added to the second version: the category of all CRDs, and the rule.
added() {
  for crd in $(kubectl get crds -o name); do
    is "$(kubectl get "$crd" -o jsonpath='{.spec.names.categories[*]}')" "$1"
  done
  is "$(kubectl get "clusterrole/$name-manager-role" -o jsonpath='{.rules[?(@.apiGroups[0]=="example.com")].resources[0]}')" "$1"
}

# objects NAMESPACE: applies the samples there, and waits until the operator has reconciled them.
objects() {
  for _ in $(seq 600); do
    if kubectl apply --namespace "$1" --kustomize config/samples > target/output 2>&1; then break; fi
    sleep 0.1
  done
  kubectl apply --namespace "$1" --kustomize config/samples
  # What shows that an object has been reconciled: the status of a kind may have no conditions.
  case $name in
    ecsbinding) sign='jsonpath={.metadata.labels.hopegi\.com/ecsbinding}=true' ;;
    *) sign=condition=Ready ;;
  esac
  groups=$(kubectl get crds -o jsonpath='{.items[*].spec.group}')
  for object in $(kubectl apply --namespace "$1" --kustomize config/samples -o name --dry-run=client); do
    kind=${object%%/*}
    # Samples may use kinds of Kubernetes, too.
    case " $groups " in *" ${kind#*.} "*) kubectl wait --namespace "$1" --for="$sign" --timeout 3m "$object" ;; esac
  done
}

reconciled() {
  objects default
}

# Objects whose names begin with the project's, without what the operator has created in its namespace.
left() {
  cluster_scoped=clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations
  cluster_scoped=$cluster_scoped,validatingadmissionpolicies,validatingadmissionpolicybindings
  kubectl get "$cluster_scoped" -o name | grep "/$name-" || true
  kubectl get --namespace "$system" deployments,services,serviceaccounts,roles,rolebindings,poddisruptionbudgets,networkpolicies -o name | grep "/$name-" || true
}
