# Runs in the project `harbor`, with an API server and its kubectl. $1 is the operator.
operator=$1
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
  make "$@" > target/said 2>&1 || { cat target/said; echo "failed: make $*"; exit 1; }
}

is() {
  test "$1" = "$2" || { echo "\`$1\` is not \`$2\`"; exit 1; }
}

# The operator on this machine, with the rights of its service account. It is gone while something is deployed: what is
# trusted then is what was left alone, and not what was put there anew.
start() {
  kubectl config view --raw --flatten > target/deployed.kubeconfig
  token=$(kubectl create token --namespace $system harbor-controller-manager)
  kubectl --kubeconfig target/deployed.kubeconfig config set-credentials deployed --token="$token"
  kubectl --kubeconfig target/deployed.kubeconfig config set-context --current --user=deployed
  KUBECONFIG=target/deployed.kubeconfig POD_NAMESPACE=$system "$operator" --webhook-certificate=self-managed \
    --webhook-host 127.0.0.1 --webhook-port 0 --health-probe-bind-address 0 --metrics-bind-address 0 > target/operator.log 2>&1 &
  running=$!
  trap 'kill -KILL $running; cat target/operator.log' EXIT
}

stop() {
  kill -KILL $running
  trap - EXIT
  wait $running || true
}

# Where the authority of a webhook is, by its name; without one, that of a kind.
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

# The operator's authority is trusted there: by now, or soon.
trusted() {
  is "$(bundle "$1" "$2")" "$(kubectl get secret --namespace $system harbor-webhook-certificate --output jsonpath='{.data.ca\.crt}')"
}

trusts() {
  kubectl wait --for=jsonpath="$(place "$2")" --timeout 60s "$1"
  trusted "$1" "$2"
}

# Whether the operator has all rights on its certificate, or none.
rights() {
  for object in $mutating $validating $crd "secret/harbor-webhook-certificate --namespace $system"; do
    for verb in get list watch patch; do
      is "$object $verb $(kubectl auth can-i $verb $object --as $account)" "$object $verb $1"
    done
  done
  is "$(kubectl auth can-i create secret/harbor-webhook-certificate --namespace $system --as $account)" "$1"
}

# All that is rendered is valid, and nothing in it waits to be filled in.
valid() {
  kubectl kustomize target/deploy > target/rendered.yaml
  ! grep --extended-regexp 'SERVICE_NAME|CERTIFICATE_|ISSUER_|PLACEHOLDER|TODO|name: any$' target/rendered.yaml
  $apply --dry-run=server --filename target/rendered.yaml > target/said
  is "$(grep --count serverside-applied target/said)" "$(grep --count '^kind: ' target/rendered.yaml)"
}

names() {
  kubectl get "$1" --output jsonpath='{.webhooks[*].name}'
}

# From nothing: `kbr envtest run` has installed the CRDs.
works uninstall
works deploy
valid
rights yes
start
trusts $mutating mcaptain-v1.crew.example.com
trusts $validating vcaptain-v1.crew.example.com
trusts $crd ''
stop

# A webhook is added.
kbr create webhook --group crew --version v1 --kind Ship --validation
works deploy
is "$(names $validating)" 'vcaptain-v1.crew.example.com vship-v1.crew.example.com'
trusted $mutating mcaptain-v1.crew.example.com
trusted $validating vcaptain-v1.crew.example.com
trusted $crd ''
start
trusts $validating vship-v1.crew.example.com
stop

# It is renamed.
sed -i 's/name=vship-v1/name=hull-v1/' $ship
works deploy
is "$(names $validating)" 'hull-v1.crew.example.com vcaptain-v1.crew.example.com'
trusted $validating vcaptain-v1.crew.example.com
start
trusts $validating hull-v1.crew.example.com
stop

# It is removed, and with it the only one that sets defaults.
cp $ship $captain target/
sed -i '/+kbr:webhook:/d' $ship
sed -i '/+kbr:webhook:.*mutating=true/d' $captain
works deploy
is "$(names $validating)" vcaptain-v1.crew.example.com
is "$(names $mutating)" ''
trusted $validating vcaptain-v1.crew.example.com
trusted $crd ''
cp target/crew_v1_ship.rs target/crew_v1_captain.rs src/webhooks/
works deploy
start
trusts $mutating mcaptain-v1.crew.example.com
trusts $validating hull-v1.crew.example.com
stop

# Conversion is switched off, and on.
cp api/src/lib.rs target/
sed -i '/::spoke(crds);/d' api/src/lib.rs
works deploy
is "$(kubectl get $crd --output jsonpath='{.spec.conversion}')" '{"strategy":"None"}'
trusted $mutating mcaptain-v1.crew.example.com
trusted $validating vcaptain-v1.crew.example.com
cp target/lib.rs api/src/
works deploy
trusted $validating hull-v1.crew.example.com
start
trusts $crd ''
stop

# cert-manager keeps the certificate: of it, only the kinds are here.
for kind in Certificate Issuer; do
  plural=$(echo $kind | tr CI ci)s
  cat <<YAML | kubectl apply --filename -
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: $plural.cert-manager.io }
spec:
  group: cert-manager.io
  names: { kind: $kind, plural: $plural }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
YAML
  kubectl wait --for condition=Established --timeout 60s crd/$plural.cert-manager.io
done
sed -i 's|\.\./webhook-self-signed$|../webhook-certmanager|' $default
works deploy
valid
rights no
kubectl get --namespace $system certificate.cert-manager.io/harbor-webhook issuer.cert-manager.io/harbor-webhook
for object in $mutating $validating $crd; do
  is "$(kubectl get $object --output jsonpath='{.metadata.annotations.cert-manager\.io/inject-ca-from}')" $system/harbor-webhook
done
arguments() {
  kubectl get deployment --namespace $system harbor-controller-manager --output jsonpath='{.spec.template.spec.containers[0].args}'
}
case $(arguments) in
  *self-managed*) arguments; exit 1 ;;
  *--webhook-cert-path=*) ;;
  *) arguments; exit 1 ;;
esac

# It puts its authority there; here, a certificate of this control plane.
authority=$(kubectl config view --raw --flatten --output jsonpath='{.clusters[0].cluster.certificate-authority-data}')
inject() {
  kubectl patch "$1" --type json --field-manager cert-manager-cainjector \
    --patch "[{\"op\":\"add\",\"path\":\"$2/caBundle\",\"value\":\"$authority\"}]"
}
inject $mutating /webhooks/0/clientConfig
inject $validating /webhooks/0/clientConfig
inject $validating /webhooks/1/clientConfig
inject $crd /spec/conversion/webhook/clientConfig
works deploy
is "$(bundle $validating hull-v1.crew.example.com)" "$authority"
is "$(bundle $crd '')" "$authority"
sed -i '/+kbr:webhook:/d' $ship
works deploy
is "$(names $validating)" vcaptain-v1.crew.example.com
is "$(bundle $validating vcaptain-v1.crew.example.com)" "$authority"
# What it has put into a CRD is its own, as docs/webhooks.md says.
sed -i '/::spoke(crds);/d' api/src/lib.rs
if make deploy > target/said 2>&1; then echo 'deployed'; exit 1; fi
grep --fixed-strings 'should not be set when strategy is not set to Webhook' target/said
kubectl patch $crd --type merge --patch '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'
works deploy
cp target/crew_v1_ship.rs src/webhooks/
cp target/lib.rs api/src/
works deploy
inject $validating /webhooks/0/clientConfig
inject $crd /spec/conversion/webhook/clientConfig

# And the operator again.
sed -i 's|\.\./webhook-certmanager$|../webhook-self-signed|' $default
works deploy
valid
rights yes
for object in $mutating $validating $crd; do
  is "$(kubectl get $object --output jsonpath='{.metadata.annotations.cert-manager\.io/inject-ca-from}')" ''
done
case $(arguments) in
  *--webhook-cert-path=*) arguments; exit 1 ;;
  *self-managed*) ;;
  *) arguments; exit 1 ;;
esac
# What cert-manager has put there is trusted beside the operator's for a while, and owned by nobody.
owned() {
  kubectl get $1 --show-managed-fields --output jsonpath='{.metadata.managedFields[*].manager}' | tr ' ' '\n' | grep --count cainjector || true
}
is "$(owned $mutating) $(owned $validating) $(owned $crd)" '1 1 1'
start
for object in $mutating $validating $crd; do
  for again in $(seq 300); do
    test "$(owned $object)" != 0 || break
    sleep 0.2
  done
  is "$(owned $object)" 0
done
stop
sed -i '/+kbr:webhook:/d' $ship
sed -i '/+kbr:webhook:.*mutating=true/d' $captain
sed -i '/::spoke(crds);/d' api/src/lib.rs
works deploy
is "$(names $validating)" vcaptain-v1.crew.example.com
is "$(names $mutating)" ''
is "$(kubectl get $crd --output jsonpath='{.spec.conversion}')" '{"strategy":"None"}'
