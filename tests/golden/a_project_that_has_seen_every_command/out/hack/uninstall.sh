#!/bin/sh
# Deletes the CRDs, waits until they are gone, and names what they wait for if that takes too long.
# Arguments: whether it is fine that there is nothing to delete (true or false), and how long to wait.
set -eu
kubectl=${KUBECTL:-kubectl}
ignore=${1:-true}
timeout=${2:-120s}

test -f config/crd/kustomization.yaml || { echo 'there is no kind yet' >&2; exit 0; }
$kubectl delete --ignore-not-found="$ignore" --timeout="$timeout" --kustomize config/crd && exit 0

# A CRD goes when its last object has gone, and an object when nobody's finalizer is on it any more.
crds=$($kubectl get --ignore-not-found --output name --kustomize config/crd)
for crd in $crds; do
  $kubectl get "${crd#*/}" --all-namespaces --output \
    jsonpath="{range .items[?(@.metadata.finalizers)]}  ${crd#*/} {.metadata.namespace}/{.metadata.name} waits for {.metadata.finalizers}{'\n'}{end}" >&2
done
test -z "$crds" ||
  echo 'help: run the operator that takes these finalizers off (`make deploy` or `make run`), then `make uninstall` again' >&2
exit 1
