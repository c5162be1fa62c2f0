# Runs in the project after script.sh, with the same API server: in a copy of it, `kbr import --check` finds what an operator in Go has
# left there.
system=captains-system
captain=captains.crew.example.com

# The check succeeds.
passes() {
  "$KBR_BINARY" import --check > target/output 2>&1 || { cat target/output; echo "found something: $1"; exit 1; }
  grep --quiet --fixed-strings -- "$1" target/output || { cat target/output; echo "does not contain: $1"; exit 1; }
}

# The check fails, and prints the line.
finds() {
  ! "$KBR_BINARY" import --check > target/output 2>&1 || { cat target/output; echo "did not find: $1"; exit 1; }
  grep --quiet --fixed-strings -- "$1" target/output || { cat target/output; echo "does not contain: $1"; exit 1; }
}

mkdir -p target/successor/target
for part in *; do
  test "$part" = target || cp -R "$part" target/successor/
done
cd target/successor
kubectl create namespace $system --dry-run=client --output yaml | kubectl apply --filename -
kubectl apply --filename config/crd/bases
kubectl wait --for condition=Established --timeout 60s crd/$captain

echo '# the Lease'
passes 'has no Lease `captains.example.com`'
kubectl create --filename - <<LEASE
{ apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: { name: 3f7a.example.com, namespace: $system },
  spec: { holderIdentity: captains-controller-manager-0_1, leaseDurationSeconds: 15 } }
LEASE
finds 'leads by the Lease `3f7a.example.com` in `captains-system`, and this project by `captains.example.com`'
sed -i.kept 's/captains\.example\.com/3f7a.example.com/' config/rbac/leader_election_role.yaml
passes 'note  the Lease `3f7a.example.com` is held by `captains-controller-manager-0_1`'
kubectl patch lease 3f7a.example.com --namespace $system --type merge --patch '{"spec":{"holderIdentity":""}}'
passes 'ok  the Lease `3f7a.example.com` is free'

echo '# the Pods'
kubectl create deployment captains-controller-manager --namespace $system --image operator
finds 'has the containers `operator`, which `make deploy` would keep'
kubectl delete deployment captains-controller-manager --namespace $system --cascade=orphan
passes 'has no Deployment `captains-controller-manager`'

echo '# webhooks'
# The configuration with the annotations $1, of which the webhook $2 calls the Service $3.
webhooks() {
  printf '{ apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
    metadata: { name: captains-validating-webhook-configuration, annotations: %s },
    webhooks: [{ name: %s, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore,
      clientConfig: { service: { name: %s, namespace: %s, path: /validate } },
      rules: [{ apiGroups: [crew.example.com], apiVersions: [v1], resources: [captains], operations: [CREATE] }] }] }\n' "$1" "$2" "$3" $system
}
webhooks '{ cert-manager.io/inject-ca-from: captains-system/captains-serving-cert }' vcaptain-v1.kb.io captains-webhook-service |
  kubectl apply --filename -
passes 'calls `captains-webhook-service`, and is not one of this project'
"$KBR_BINARY" create webhook --group crew --version v1 --kind Captain --validation
webhooks '{}' vcaptain-v1.crew.example.com captains-webhook > config/webhook/manifests.yaml
finds 'has the webhook `vcaptain-v1.kb.io`, which this project does not have'
webhooks '{}' vcaptain-v1.kb.io captains-webhook > config/webhook/manifests.yaml
finds 'cert-manager writes the CA of `captains-system/captains-serving-cert` into `captains-validating-webhook-configuration`'
webhooks '{}' vcaptain-v1.kb.io captains-webhook-service | kubectl apply --filename -
passes 'the webhook `vcaptain-v1.kb.io` calls the Service `captains-webhook-service`, and later `captains-webhook`'

echo '# conversion'
# How versions are converted by the Service $1.
conversion() {
  printf '{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":%s}}}}}\n' \
    "{\"name\":\"$1\",\"namespace\":\"$system\",\"path\":\"/convert\"}"
}
kubectl patch crd $captain --type merge --patch "$(conversion captains-webhook-service)"
finds "the operator in Go converts the versions of \`$captain\`, and this project does not"
base=config/crd/bases/crew.example.com_captains.yaml
kubectl patch --local --filename $base --type merge --patch "$(conversion captains-webhook)" --output yaml > target/converted.yaml
cp target/converted.yaml $base
passes "the versions of \`$captain\` are converted by the Service \`captains-webhook-service\`"
