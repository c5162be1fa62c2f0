# What a cluster does that an API server alone does not. The port of a program that closes each connection is $MAPPED.
set -eu

echo "== a Deployment is rolled out"
kubectl create deployment web --image=nginx --replicas=3
kubectl rollout status deployment web --timeout=120s
kubectl expose deployment web --port=80
kubectl wait --for=jsonpath='{.endpoints[0].conditions.ready}'=true endpointslice -l kubernetes.io/service-name=web --timeout=120s

echo "== its ReplicaSet and Pods are collected"
kubectl delete deployment web
kubectl wait --for=delete pod -l app=web --timeout=120s
kubectl wait --for=delete replicaset -l app=web --timeout=120s

echo "== Jobs end"
kubectl create job complete --image=busybox
kubectl wait --for=condition=complete job/complete --timeout=120s
kubectl create job failed --image=busybox --dry-run=client -o json >failed.json
kubectl patch --local -f failed.json -o json -p \
  '{"spec":{"backoffLimit":0,"template":{"metadata":{"annotations":{"kbr/pod-phase":"Failed"}}}}}' | kubectl create -f -
kubectl wait --for=condition=failed job/failed --timeout=120s

echo "== a Pod has the phase that its annotation names"
for phase in Pending Running Succeeded Failed; do
  name=$(echo $phase | tr PRSF prsf)
  kubectl run $name --image=busybox --restart=Never --annotations=kbr/pod-phase=$phase
done
for phase in Running Succeeded Failed; do
  name=$(echo $phase | tr PRSF prsf)
  kubectl wait --for=jsonpath='{.status.phase}'=$phase pod/$name --timeout=120s
done
kubectl wait --for=condition=PodScheduled pod/pending --timeout=120s
[ "$(kubectl get pod pending -o jsonpath='{.status.phase}')" = Pending ]
kubectl annotate pod pending --overwrite kbr/pod-phase=Running
kubectl wait --for=condition=Ready pod/pending --timeout=120s
kubectl delete pod running succeeded failed pending --timeout=120s

echo "== namespaces have a service account with a token, and go"
kubectl create namespace crew
kubectl wait --for=create serviceaccount/default -n crew --timeout=120s
kubectl create token default -n crew | grep -q '\.'
kubectl create configmap cargo -n crew
kubectl delete namespace crew --timeout=120s

echo "== a webhook of a Service fails at once, even if its endpoints look ready"
kubectl create namespace hooks
kubectl create deployment hook --image=hook -n hooks
kubectl expose deployment hook --port=443 -n hooks
kubectl expose deployment hook --name=mapped --port=443 -n hooks
kubectl rollout status deployment hook -n hooks --timeout=120s
webhook() {
  cat <<E
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: $1 }
webhooks:
  - name: $1.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    objectSelector: { matchLabels: { hook: $1 } }
    rules: [{ apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: ["*"] }]
    clientConfig: $2
E
}
webhook unmapped '{ service: { namespace: hooks, name: hook } }' | kubectl apply -f -
webhook mapped '{ service: { namespace: hooks, name: mapped } }' | kubectl apply -f -
webhook elsewhere '{ url: "https://192.0.2.1/hook" }' | kubectl apply -f -
webhook named '{ url: "https://hook.example.com/hook" }' | kubectl apply -f -
# rejected HOOK TEXT: the call of the webhook fails with this text, and thus before its time limit of ten seconds.
rejected() {
  cat >map.yaml <<E
apiVersion: v1
kind: ConfigMap
metadata: { name: map, labels: { hook: $1 } }
E
  for attempt in $(seq 100); do
    if timeout 60 kubectl create -f map.yaml >rejected 2>&1; then kubectl delete configmap map; sleep 0.2; continue; fi
    cat rejected
    grep -q "$2" rejected
    return
  done
  echo "the webhook $1 is not called"
  exit 1
}
rejected unmapped 'Service hooks/hook is not mapped to a port of this machine'
rejected mapped EOF
rejected elsewhere 'connect only to this machine, not to 192.0.2.1'
rejected named 'connect only to this machine, not to hook.example.com:443'

echo "== so does conversion, and garbage collection and namespaces go on"
cat >crd.yaml <<'E'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ships.crew.example.com }
spec:
  group: crew.example.com
  scope: Namespaced
  names: { kind: Ship, plural: ships }
  conversion:
    strategy: Webhook
    webhook: { conversionReviewVersions: [v1], clientConfig: { service: { namespace: hooks, name: hook, path: /convert } } }
  versions:
    - &v1
      name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
    - { <<: *v1, name: v2, storage: false }
E
kubectl apply -f crd.yaml
kubectl wait --for=condition=Established crd/ships.crew.example.com --timeout=120s
printf 'apiVersion: crew.example.com/v1\nkind: Ship\nmetadata: { name: argo, namespace: hooks }\n' >ship.yaml
for attempt in $(seq 60); do kubectl apply -f ship.yaml && break; sleep 0.5; done
if timeout 60 kubectl get ships.v2.crew.example.com argo -n hooks >rejected 2>&1; then cat rejected; exit 1; fi
grep 'is not mapped to a port of this machine' rejected
kubectl create deployment other --image=nginx
kubectl rollout status deployment other --timeout=120s
kubectl delete deployment other
kubectl wait --for=delete pod -l app=other --timeout=120s
kubectl create namespace other
kubectl create configmap cargo -n other
kubectl delete namespace other --timeout=120s
echo up
read -r line || true
