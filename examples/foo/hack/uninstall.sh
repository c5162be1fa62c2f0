#!/bin/sh
# Deletes the CRDs and waits until they are gone. On timeout, lists the objects and finalizers that block the deletion.
# Arguments: whether to ignore missing CRDs (true or false), and how long to wait.
set -eu
kubectl=${KUBECTL:-kubectl}
ignore=${1:-true}
timeout=${2:-120s}

test -f config/crd/kustomization.yaml || { echo 'the project has no kinds yet' >&2; exit 0; }
# To delete a CRD, the API server lists its objects, from a cache that the first request fills. If the deletion is that request, it fails
# and is repeated only after minutes.
for crd in $($kubectl get --ignore-not-found --output name --kustomize config/crd 2>/dev/null); do
  $kubectl get "${crd#*/}" --all-namespaces --field-selector metadata.name=none >/dev/null 2>&1 || :
done
$kubectl delete --ignore-not-found="$ignore" --timeout="$timeout" --kustomize config/crd && exit 0

# A CRD is deleted with its last object, and an object with its last finalizer.
crds=$($kubectl get --ignore-not-found --output name --kustomize config/crd)
objects=$(for crd in $crds; do
  $kubectl get "${crd#*/}" --all-namespaces --output \
    jsonpath="{range .items[?(@.metadata.finalizers)]}  ${crd#*/} {.metadata.namespace}/{.metadata.name} waits for {.metadata.finalizers}{'\n'}{end}"
done)
if [ -n "$objects" ]; then
  echo "$objects"
  echo 'help: run the operator so that it removes these finalizers (`make deploy` or `make run`), then `make uninstall` again'
elif [ -n "$crds" ]; then
  for crd in $crds; do
    echo "  ${crd#*/} is still there after $timeout, although no object has a finalizer"
  done
  echo 'help: wait longer (`make uninstall TIMEOUT=10m`), or see what a CRD waits for in its finalizers and conditions (`kubectl describe crd NAME`)'
fi >&2
exit 1
