# Runs in an example's project with webhooks and conversion, on a cluster: two releases of its chart, each for a namespace. $1 is Helm, $2 the
# operator, $3 the project's name.
helm=$1 operator=$2 name=$3
system=$name-system
cluster=$(dirname "$KUBECONFIG")
export HELM_CACHE_HOME="$PWD/target/helm/cache" HELM_CONFIG_HOME="$PWD/target/helm/config" HELM_DATA_HOME="$PWD/target/helm/data"
rm -rf target/helm target/charts
mkdir -p target/helm target/charts
. "$(dirname "$0")/release.sh"
# `kbr envtest run` has installed the CRDs.
kubectl delete crds --all
packaged 0.1.0
chart=target/charts/$name-0.1.0.tgz
first="--namespace $system --set rbac.namespaced=true --set webhook.namespaces={$system}"
second='--namespace second-system --set rbac.namespaced=true --set webhook.namespaces={second-system} --set fullnameOverride=second'

step 'a second release with the names of the first, or with its CRDs, is refused'
# shellcheck disable=SC2086 # flags
run install "$name" "$chart" $first --create-namespace --wait --timeout 3m
kubectl create namespace second-system
# shellcheck disable=SC2086
for flags in '--set crd.enabled=false --namespace second-system' "$second"; do
  if "$helm" install second "$chart" $flags > target/output 2>&1; then echo "installed with $flags"; exit 1; fi
  grep --quiet 'cannot be imported into the current release' target/output || { cat target/output; exit 1; }
done

step 'two releases'
# shellcheck disable=SC2086
run install second "$chart" $second --set crd.enabled=false --wait --timeout 3m
start "$name" "$system" "$name"
start second second-system second
trusted "$system" "$name"
trusted second-system second
is "$(bundles | cut -d' ' -f1 | sort | uniq --count | xargs)" "3 $system/$name-webhook 2 second-system/second-webhook"
is "$(kubectl get leases --all-namespaces -o jsonpath='{range .items[?(@.spec.holderIdentity)]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}' | grep -e "$system/" -e second-system/ | xargs)" \
  "$system/$(sed -n 's/.*--leader-election-id=second\.//p' "target/second.flags" | sed "s/^/$name./") second-system/second.$(sed -n 's/.*--leader-election-id=second\.//p' target/second.flags)"
for namespace in "$system" second-system; do
  objects "$namespace"
done

step 'each release is on its own'
# The first one still converts for both.
stop
start "$name" "$system" "$name"
kubectl delete --namespace "$system" --kustomize config/samples --timeout 3m
objects "$system"
# The objects are there, but that is checked after their webhooks.
if kubectl create --namespace second-system --kustomize config/samples --dry-run=server > target/output 2>&1; then
  echo 'objects of the second release went through no webhook'
  exit 1
fi
grep --quiet 'second-webhook' target/output || { cat target/output; exit 1; }
before=$(bundles)
start second second-system second
# shellcheck disable=SC2086
run upgrade second "$chart" $second --set crd.enabled=false --set manager.replicas=2 --wait --timeout 3m
is "$(bundles)" "$before"
kubectl delete --namespace second-system --kustomize config/samples --timeout 3m
stop
run uninstall second --namespace second-system --wait --timeout 3m
start "$name" "$system" "$name"
trusted "$system" "$name"
objects "$system"
stop
