# Runs in the project `harbor`, with an API server and its kubectl. $1 is the operator.
operator=$1
. "$(dirname "$0")/deployment.sh"

# Waits until the CA bundle there contains the operator's CA.
trusted() {
  is "$(bundle "$1" "$2")" "$(kubectl get secret --namespace $system harbor-webhook-certificate --output jsonpath='{.data.ca\.crt}')"
}

trusts() {
  kubectl wait --for=jsonpath="$(place "$2")" --timeout 60s "$1"
  trusted "$1" "$2"
}

# Deploys while the operator is stopped: untouched objects keep their CA bundle, and new ones have none yet.

# From nothing: `kbr envtest run` has installed the CRDs.
works uninstall
works deploy
valid
permissions yes
start --webhook-certificate=self-managed
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
start --webhook-certificate=self-managed
trusts $validating vship-v1.crew.example.com
stop

# It is renamed.
sed -i 's/name=vship-v1/name=hull-v1/' $ship
works deploy
is "$(names $validating)" 'hull-v1.crew.example.com vcaptain-v1.crew.example.com'
trusted $validating vcaptain-v1.crew.example.com
start --webhook-certificate=self-managed
trusts $validating hull-v1.crew.example.com
stop

# It is removed, and with it the only defaulting webhook.
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
start --webhook-certificate=self-managed
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
start --webhook-certificate=self-managed
trusts $crd ''
stop

# cert-manager manages the certificate; only its kinds exist here.
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
permissions no
kubectl get --namespace $system certificate.cert-manager.io/harbor-webhook issuer.cert-manager.io/harbor-webhook
for object in $mutating $validating $crd; do
  is "$(kubectl get $object --output jsonpath='{.metadata.annotations.cert-manager\.io/inject-ca-from}')" $system/harbor-webhook
done
case $(arguments) in
  *self-managed*) arguments; exit 1 ;;
  *--webhook-cert-path=*) ;;
  *) arguments; exit 1 ;;
esac

# It injects its CA bundle and owns the fields that it sets; here the CA is one of this control plane.
ca=$(kubectl config view --raw --flatten --output jsonpath='{.clusters[0].cluster.certificate-authority-data}')
trust="clientConfig: { caBundle: $ca }"
inject() {
  kubectl apply --server-side --force-conflicts --field-manager cert-manager-cainjector --filename -
}
inject_all() {
  for kind in Mutating Validating; do
    object=${kind}WebhookConfiguration
    name=harbor-$(echo $kind | tr MV mv)-webhook-configuration
    {
      echo "{ apiVersion: admissionregistration.k8s.io/v1, kind: $object, metadata: { name: $name }, webhooks: ["
      for webhook in $(names $object/$name); do echo "{ name: $webhook, $trust },"; done
      echo '] }'
    } | inject
  done
  echo "{ apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: { name: captains.crew.example.com },
    spec: { conversion: { webhook: { $trust } } } }" | inject
}
inject_all
works deploy
works install
is "$(kubectl get $crd --output jsonpath='{.metadata.annotations.cert-manager\.io/inject-ca-from}')" $system/harbor-webhook
is "$(bundle $validating hull-v1.crew.example.com)" "$ca"
is "$(bundle $crd '')" "$ca"
# Webhooks that are no longer in the manifests disappear, although cert-manager co-owns them.
sed -i '/+kbr:webhook:/d' $ship
sed -i '/+kbr:webhook:.*mutating=true/d' $captain
works deploy
is "$(names $validating)" vcaptain-v1.crew.example.com
is "$(names $mutating)" ''
is "$(bundle $validating vcaptain-v1.crew.example.com)" "$ca"
sed -i '/::spoke(crds);/d' api/src/lib.rs
works deploy
is "$(kubectl get $crd --output jsonpath='{.spec.conversion}')" '{"strategy":"None"}'
cp target/crew_v1_ship.rs target/crew_v1_captain.rs src/webhooks/
cp target/lib.rs api/src/
works deploy
inject_all

# The operator manages it again.
sed -i 's|\.\./webhook-certmanager$|../webhook-self-signed|' $default
works deploy
valid
permissions yes
for object in $mutating $validating $crd; do
  is "$(kubectl get $object --output jsonpath='{.metadata.annotations.cert-manager\.io/inject-ca-from}')" ''
done
case $(arguments) in
  *--webhook-cert-path=*) arguments; exit 1 ;;
  *self-managed*) ;;
  *) arguments; exit 1 ;;
esac
# cert-manager's CA stays in the bundle next to the operator's for a while, and its field has no owner; the object still has one.
owned() {
  kubectl get $1 --show-managed-fields --output jsonpath='{.metadata.managedFields}' | grep --only-matching f:caBundle | wc -l
}
is "$(owned $mutating) $(owned $validating) $(owned $crd)" '1 2 1'
start --webhook-certificate=self-managed
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
cp target/crew_v1_ship.rs target/crew_v1_captain.rs src/webhooks/
cp target/lib.rs api/src/
works deploy

# `kbr delete` prints the commands that delete from a cluster what it has of the deleted code.
deletes() {
  echo "# kbr delete $*"
  kbr delete "$@" > target/output 2>&1 || { cat target/output; exit 1; }
  sed -n -e '/^    kubectl delete/{' -e ':more' -e '/\\$/{N;b more' -e '}' -e 'p' -e '}' target/output > target/commands
  sh -e -x target/commands
}
# Names of what is in the cluster that contain the pattern.
left() {
  kubectl get --all-namespaces --output name --ignore-not-found "$1" | grep --extended-regexp "$2" || true
}
roles=clusterroles,clusterrolebindings,roles,rolebindings,services,secrets,validatingadmissionpolicies,validatingadmissionpolicybindings
is "$(left mutatingwebhookconfigurations,validatingwebhookconfigurations .)" "$(printf '%s\n' $mutating $validating | sed 's|/|.admissionregistration.k8s.io/|')"
deletes webhook --group crew --version v1 --kind Captain
# Its webhook was renamed by hand.
deletes webhook --group crew --version v1 --kind Ship --force
is "$(left mutatingwebhookconfigurations,validatingwebhookconfigurations .)" ''
is "$(left $roles harbor-webhook)" ''
works deploy
is "$(kubectl get $crd --output jsonpath='{.spec.conversion}')" '{"strategy":"None"}'
is "$(left $roles harbor-webhook)" ''
works build
deletes api --group crew --version v1 --kind Ship
is "$(left crds,clusterroles '(ships|-ship-)')" ''
deletes api --group crew --version v2 --kind Captain
deletes api --group crew --version v1 --kind Captain
is "$(left crds,clusterroles crew)" ''
works deploy
works build
