# What the operator may do to the objects that make the API server call it. Runs with an API server and its kubectl; $1 is the project
# `captains`, whose manifests are in `config/`.
project=$1
account() { echo "system:serviceaccount:$1:captains-controller-manager"; }
operator=$(account captains-system)
mutating=mutatingwebhookconfiguration/captains-mutating-webhook-configuration
validating=validatingwebhookconfiguration/captains-validating-webhook-configuration
crd=crd/captains.crew.example.com
denial='the operator may change nothing but CA bundles here'
webhook=/webhooks/0/clientConfig
conversion=/spec/conversion/webhook/clientConfig
# An earlier CA bundle and a later one. The API server wants certificates in that of a CRD.
old=$(kubectl config view --raw --flatten --output jsonpath='{.clusters[0].cluster.certificate-authority-data}')
new=$(printf '%s\n' "$old" | base64 -d | awk '{ print } END { print "" }' | base64 -w 0)

# render FOLDER: all manifests of a deployment.
render() { kubectl kustomize "$project/$1"; }
apply() { kubectl apply --server-side --force-conflicts --field-manager=captains-make --filename - >/dev/null; }

# change OBJECT OPERATION...: a JSON patch by the operator, which nothing keeps.
change() {
  object=$1
  shift
  kubectl --as "$operator" patch "$object" --type json --dry-run=server --patch "[$*]" 2>&1
}
set_() { echo "{\"op\":\"add\",\"path\":\"$1\",\"value\":$2}"; }
remove() { echo "{\"op\":\"remove\",\"path\":\"$1\"}"; }

# The API server notices new permissions and policies a moment later.
eventually() {
  for _ in $(seq 600); do
    if said=$("$@"); then return 0; fi
    sleep 0.1
  done
  echo "never: $* ($said)"
  exit 1
}
permitted() { change "$1" "$(set_ "$2/caBundle" "\"$old\"")"; }
restricted() {
  said=$(change "$@") || true
  echo "$said"
  case $said in *"$denial"*) ;; *) return 1 ;; esac
}
denied() { restricted "$@" >target || { echo "not denied: $*: $(cat target)"; exit 1; }; }
allowed() { said=$(change "$@") || { echo "denied: $*: $said"; exit 1; }; }

# rotate OBJECT PLACE CA: what the operator does, in every release: it sets the CA bundle of one version of the object, and removes its
# entry from the managed fields.
rotate() {
  version=$(kubectl --as "$operator" get "$1" --output jsonpath='{.metadata.resourceVersion}')
  tested="{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"$version\"}"
  kubectl --as "$operator" patch "$1" --field-manager captains/webhooks --type json --patch "[$tested,$(set_ "$2/caBundle" "\"$3\"")]" &&
    kubectl --as "$operator" patch "$1" --field-manager captains/webhooks --type json --patch "[$(remove "/metadata/managedFields/$(entry "$1" captains/webhooks)")]"
}
# entry OBJECT MANAGER: where the first entry of a field manager is.
managers() { kubectl get "$1" --show-managed-fields --output jsonpath='{.metadata.managedFields[*].manager}'; }
entry() {
  at=0
  for manager in $(managers "$1"); do
    test "$manager" != "$2" || { echo $at; return; }
    at=$((at + 1))
  done
}
rotate_all() {
  rotate $mutating $webhook "$1" && rotate $validating $webhook "$1" && rotate $crd $conversion "$1"
}
all() {
  "$@" $mutating $webhook
  "$@" $validating $webhook
  "$@" $crd $conversion
}

kubectl get --raw /version

# An operator of a release without the policy runs while one with it is deployed: none of its writes fails.
kubectl apply --server-side --filename "$project/config/crd/bases/" >/dev/null
render config/default | awk 'BEGIN { RS = "---\n"; ORS = "---\n" } !/kind: ValidatingAdmissionPolicy/' | apply
all eventually permitted
allowed $validating "$(set_ /webhooks/0/rules/0/resources '["secrets"]')"
mkdir running
while test -d running; do
  for ca in "$old" "$new"; do rotate_all "$ca" || touch failed; done
done >rotations 2>&1 &
rotating=$!
render config/default | apply
eventually restricted $mutating "$(set_ /webhooks/0/rules/0/resources '["secrets"]')"
eventually restricted $crd "$(set_ /spec/names/shortNames '["secrets"]')"
# Another image.
render config/default | sed 's|image: .*|image: registry.example.com/captains:v2|' | apply
rmdir running
wait $rotating
test ! -e failed || { echo 'a write of the operator failed:'; cat rotations; exit 1; }
grep -q patched rotations

# Only CA bundles may change.
denied $mutating "$(set_ /webhooks/0/reinvocationPolicy '"IfNeeded"')"
denied $validating "$(set_ /webhooks/0/rules/0/resources '["secrets"]')"
denied $validating "$(set_ /webhooks/0/failurePolicy '"Ignore"')"
denied $validating "$(set_ /webhooks/0/matchConditions '[{"name":"a","expression":"true"}]')"
denied $validating "$(set_ /webhooks/0/namespaceSelector '{"matchLabels":{"a":"b"}}')"
denied $validating "$(set_ /webhooks/0/name '"another.crew.example.com"')"
denied $validating "$(set_ $webhook/service/namespace '"another"')"
denied $validating "$(set_ $webhook/service/port 8443)"
denied $validating "$(remove $webhook/service),$(set_ $webhook/url '"https://example.com/"')"
denied $validating "$(remove $webhook/service),$(set_ $webhook/url '"https://example.com/"'),$(set_ $webhook/caBundle "\"$new\"")"
denied $validating "$(remove /webhooks/0)"
denied $validating "$(remove /webhooks)"
denied $validating '{"op":"copy","from":"/webhooks/0","path":"/webhooks/1"},{"op":"replace","path":"/webhooks/1/name","value":"c.crew.example.com"}'
denied $validating '{"op":"move","from":"/webhooks/0","path":"/webhooks/1"}'
denied $crd "$(set_ /spec/names/shortNames '["secrets"]')"
denied $crd "$(set_ /spec/versions/0/schema/openAPIV3Schema/description '"another"')"
denied $crd "$(set_ /spec/conversion '{"strategy":"None"}')"
denied $crd "$(set_ /spec/conversion/webhook/conversionReviewVersions '["v1","v1beta1"]')"
denied $crd "$(set_ $conversion/service/name '"another"')"
denied $crd "$(remove $conversion/service),$(set_ $conversion/url '"https://example.com/"')"
for object in $mutating $validating $crd; do
  denied $object "$(set_ /metadata/labels '{"a":"b"}')"
  denied $object "$(set_ /metadata/annotations '{"a":"b"}')"
  denied $object "$(set_ /metadata/finalizers '["example.com/a"]')"
done
rotate_all "$old" >/dev/null

# Nor may it say that others own what they do not, or do not own what they do: the next `make deploy` would drop what an administrator
# has set, or keep a webhook that was removed.
managed=/metadata/managedFields
key='k:{\"name\":\"a.crew.example.com\"}'
entry_of() { echo "{\"manager\":\"$1\",\"operation\":\"$2\",\"apiVersion\":\"$3\",\"fieldsType\":\"FieldsV1\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsV1\":$4}"; }
admission=admissionregistration.k8s.io/v1
extensions=apiextensions.k8s.io/v1
for object in $mutating $validating $crd; do
  made=$managed/$(entry $object captains-make)
  fields=$made/fieldsV1
  denied $object "$(remove $made)"
  denied $object "$(set_ $managed '[{}]')"
  denied $object "$(set_ $made/manager '"another"')"
  denied $object "$(set_ $made/operation '"Update"')"
  denied $object "$(set_ $made/subresource '"status"')"
  denied $object "$(set_ $fields '{}')"
  denied $object "$(set_ $fields/f:metadata '{"f:labels":{"f:a":{}}}')"
  denied $object "$(set_ $managed/- "$(entry_of another Apply $(kubectl get $object --output jsonpath='{.apiVersion}') '{"f:metadata":{"f:labels":{}}}')")"
done
fields=$managed/$(entry $validating captains-make)/fieldsV1
webhook_fields="$fields/f:webhooks/$key"
denied $validating "$(set_ "$webhook_fields/f:namespaceSelector" '{}')"
denied $validating "$(remove "$webhook_fields/f:rules")"
denied $validating "$(remove "$webhook_fields")"
denied $validating "$(remove "$webhook_fields/f:clientConfig/f:service")"
denied $validating "$(set_ "$webhook_fields/f:clientConfig" '{}')"
denied $validating "$(set_ "$webhook_fields/f:clientConfig/f:url" '{}')"
denied $validating "$(set_ "$fields/f:webhooks/$(echo "$key" | sed s/a/c/2)" '{".":{},"f:name":{}}')"
for owned in '{"f:webhooks":{"k:{\"name\":\"a.crew.example.com\"}":{".":{}}}}' '{"f:webhooks":{}}' \
  '{"f:webhooks":{"k:{\"name\":\"a.crew.example.com\"}":{"f:clientConfig":{}}}}' '{"f:webhooks":{"k:{\"name\":\"a.crew.example.com\"}":{}}}'; do
  for operation in Apply Update; do
    denied $validating "$(set_ $managed/- "$(entry_of another $operation $admission "$owned")")"
  done
done
fields=$managed/$(entry $crd captains-make)/fieldsV1
denied $crd "$(remove $fields/f:spec)"
denied $crd "$(remove $fields/f:spec/f:conversion)"
denied $crd "$(set_ $fields/f:spec/f:conversion '{}')"
denied $crd "$(set_ $fields/f:spec/f:conversion/f:webhook '{}')"
denied $crd "$(set_ $fields/f:spec/f:conversion/f:webhook/f:clientConfig '{}')"
denied $crd "$(set_ $fields/f:spec/f:preserveUnknownFields '{}')"
for owned in '{"f:spec":{}}' '{"f:spec":{"f:conversion":{}}}' '{"f:spec":{"f:conversion":{"f:webhook":{}}}}' \
  '{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{}}}}}' '{"f:spec":{"f:conversion":{"f:strategy":{}}}}'; do
  denied $crd "$(set_ $managed/- "$(entry_of another Apply $extensions "$owned")")"
done

# Who has set a CA bundle loses it to the operator, and nothing else.
administer() { kubectl apply --server-side --force-conflicts --field-manager=administrator --filename - >/dev/null; }
for kind in Mutating Validating; do
  administer <<end
apiVersion: $admission
kind: ${kind}WebhookConfiguration
metadata: { name: captains-$(echo $kind | tr MV mv)-webhook-configuration }
webhooks: [{ name: a.crew.example.com, matchPolicy: Exact, clientConfig: { caBundle: $new } }]
end
done
administer <<end
apiVersion: $extensions
kind: CustomResourceDefinition
metadata: { name: captains.crew.example.com }
spec: { conversion: { strategy: Webhook, webhook: { conversionReviewVersions: [v1], clientConfig: { caBundle: $new } } } }
end
for object in $mutating $validating; do
  kubectl patch $object --field-manager=injector --type json --patch "[$(set_ $webhook/caBundle "\"$old\"")]" >/dev/null
done
kubectl patch $crd --field-manager=injector --type json --patch "[$(set_ $conversion/caBundle "\"$old\"")]" >/dev/null
rotate_all "$new" >/dev/null
for object in $mutating $validating $crd; do
  case $(managers $object) in *injector* | *captains/webhooks*) echo "still owned: $object: $(managers $object)"; exit 1 ;; esac
done
rotate_all "$old" >/dev/null

# A storage migration removes versions from the status of the CRD, with permissions of its own.
kubectl create clusterrole migrations --verb=get,patch --resource=customresourcedefinitions/status >/dev/null
kubectl create clusterrolebinding migrations --clusterrole=migrations --serviceaccount=captains-system:captains-controller-manager >/dev/null
migrates() {
  kubectl --as "$operator" patch $crd --subresource status --type merge --dry-run=server --patch '{"status":{"storedVersions":["v1"]}}' 2>&1
}
eventually migrates

# Other clients may change everything.
kubectl patch $validating --type json --dry-run=server --patch "[$(set_ /webhooks/0/failurePolicy '"Ignore"')]" >/dev/null

# An overlay restricts its own operator, by the name that it has there.
render config/fleet | apply
operator=$(account fleet)
all eventually permitted
eventually restricted $mutating "$(set_ /webhooks/0/failurePolicy '"Ignore"')"
denied $validating "$(set_ /webhooks/0/failurePolicy '"Ignore"')"
denied $crd "$(set_ /spec/names/shortNames '["secrets"]')"
rotate_all "$new" >/dev/null

# So does one with a prefix. The operator cannot find its configurations under other names, but CRDs keep theirs.
render config/prefixed | apply
operator=system:serviceaccount:fleet:x-captains-controller-manager
eventually permitted $crd $conversion
eventually restricted $crd "$(set_ /spec/names/shortNames '["secrets"]')"
