# Runs in an example's project, on a cluster: installs its chart with Helm, upgrades it, rolls it back, and uninstalls it, with the operator
# as a process that has the token of the deployed ServiceAccount. $1 is Helm, $2 the operator, $3 the project's name.
helm=$1 operator=$2 name=$3
system=$name-system
cluster=$(dirname "$KUBECONFIG")
export HELM_CACHE_HOME="$PWD/target/helm/cache" HELM_CONFIG_HOME="$PWD/target/helm/config" HELM_DATA_HOME="$PWD/target/helm/data"
rm -rf target/helm target/charts
mkdir -p target/helm target/charts
. "$(dirname "$0")/release.sh"
# `kbr envtest run` has installed the CRDs.
kubectl delete crds --all

step 'the chart of two versions'
packaged 0.1.0
rule='- apiGroups:\n  - example.com\n  resources:\n  - added\n  verbs:\n  - get'
sed -i "s/^rules:\$/rules:\n$rule/" config/rbac/role.yaml
sed -i 's/^  names:$/  names:\n    categories:\n    - added/' config/crd/bases/*.yaml
packaged 0.2.0

step 'take over what make deploy installed'
# Helm 3 has no such flag, and needs none.
force=$("$helm" install --help | grep --only-matching --max-count 1 -e --force-conflicts || true)
kubectl apply --server-side --kustomize config/default
kubectl wait --namespace "$system" --for=condition=Available --timeout 3m "deployment/$name-controller-manager"
# shellcheck disable=SC2086 # a flag
run install "$name" "target/charts/$name-0.1.0.tgz" --namespace "$system" --take-ownership $force --wait --timeout 3m
is "$(kubectl get --namespace "$system" "deployment/$name-controller-manager" -o jsonpath='{.metadata.annotations.meta\.helm\.sh/release-name}')" "$name"
# shellcheck disable=SC2086
run upgrade "$name" "target/charts/$name-0.1.0.tgz" --namespace "$system" --set manager.replicas=2 $force --wait --timeout 3m
is "$(kubectl get --namespace "$system" "deployment/$name-controller-manager" -o jsonpath='{.spec.replicas}')" 2
run uninstall "$name" --namespace "$system" --wait --timeout 3m
is "$(left)" ''
kubectl delete crds --all
kubectl delete namespace "$system"

step 'install'
run install "$name" "target/charts/$name-0.1.0.tgz" --namespace "$system" --create-namespace --wait --timeout 3m
start "$name" "$system" "$name"
trusted "$system" "$name"
reconciled

step 'upgrade'
# The operator does not run: what is left of its own writes is what Helm has left.
stop
before=$(bundles)
run upgrade "$name" "target/charts/$name-0.2.0.tgz" --namespace "$system" --set manager.replicas=2 --wait --timeout 3m
is "$(bundles)" "$before"
is "$(kubectl get --namespace "$system" "deployment/$name-controller-manager" -o jsonpath='{.spec.replicas} {.status.readyReplicas}')" '2 2'
added added
start "$name" "$system" "$name"
reconciled

step 'rollback'
stop
run rollback "$name" 1 --namespace "$system" --wait --timeout 3m
is "$(bundles)" "$before"
is "$(kubectl get --namespace "$system" "deployment/$name-controller-manager" -o jsonpath='{.spec.replicas}')" 1
added ''
start "$name" "$system" "$name"
reconciled

step 'uninstall'
kubectl delete --kustomize config/samples --timeout 3m
stop
crds=$(kubectl get crds -o name)
run uninstall "$name" --namespace "$system" --wait --timeout 3m
is "$(kubectl get crds -o name)" "$crds"
is "$(left)" ''

step 'install again, over the CRDs that were kept'
run install "$name" "target/charts/$name-0.2.0.tgz" --namespace "$system" --wait --timeout 3m
added added
start "$name" "$system" "$name"
trusted "$system" "$name"
reconciled
stop
