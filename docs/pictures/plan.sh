# Prints the plan of the picture: of release 2 of the operator of tests/plan, for a cluster in which release 1 has run. The operator is $1.
cd "$(mktemp -d)"
trap 'rm -r "$PWD"' EXIT
for release in 1.4 1.5; do
  cp "$1" crew-$release
done
RELEASE=1 "$1" install > today.yaml
RELEASE=2 "$1" install > new.yaml

cp "$KUBECONFIG" kubeconfig
export KUBECONFIG="$PWD/kubeconfig"
kubectl config rename-context "$(kubectl config current-context)" prod >&2
kubectl apply --server-side --filename today.yaml >&2
kubectl wait --for condition=Established crd/captains.crew.example.com >&2
kubectl create namespace navy >&2
for name in claims image keys recreated renamed; do
  echo "{ apiVersion: crew.example.com/v1, kind: Captain, metadata: { name: $name, namespace: navy }, spec: {} }" |
    kubectl apply --filename - >&2
done
RELEASE=1 POD_NAMESPACE=crew-system ./crew-1.4 --health-probe-bind-address=127.0.0.1:0 --metrics-bind-address=0 >&2 &
kubectl wait --namespace navy --all captains --for jsonpath='{.status.observedRelease}'=1 --timeout 2m >&2
kill $!

set -- --context prod --install new.yaml --baseline ./crew-1.4 --baseline-install today.yaml -- ./crew-1.5
echo "$ kbr plan $*"
# It exits with 3: the API server refuses a write.
kbr plan "$@" || test $? = 3
