#!/bin/sh
# Fails with a list of the objects that still need the operator: those with a finalizer that only its controllers remove, and those in
# its own namespace, which `make undeploy` deletes. Arguments: RESOURCE=FINALIZER...
set -eu
kubectl=${KUBECTL:-kubectl}

# Prints a line for each object of the given resources: RESOURCE NAMESPACE/NAME FINALIZER...
list() {
  for resource in "$@"; do
    $kubectl get "$resource" --all-namespaces --output \
      jsonpath="{range .items[*]}$resource {.metadata.namespace}/{.metadata.name} {.metadata.finalizers[*]}{'\n'}{end}" || return 1
  done
}

# Our own kinds that the cluster has, and the external kinds that our controllers put finalizers on.
own=
if test -f config/crd/kustomization.yaml; then
  own=$($kubectl get --ignore-not-found --output jsonpath='{.metadata.name} {.items[*].metadata.name}' --kustomize config/crd)
fi
external=
for pair in "$@"; do
  resource=${pair%%=*}
  test -f "config/crd/bases/${resource#*.}_${resource%%.*}.yaml" || external="$external $resource"
done
own=$(list $own)
external=$(list $external)
namespace=$($kubectl kustomize target/undeploy | awk '/^kind:/ { kind = $2 } /^  name:/ && kind == "Namespace" { print $2 }')

needed=$(
  # Not `namespace`: gawk has a function of that name.
  echo "$own" | awk -v name="$namespace" 'index($2, name "/") == 1 { print "  " $1, $2, "is in the namespace", name }'
  for pair in "$@"; do
    printf '%s\n' "$own" "$external" |
      awk -v finalizer="${pair#*=}" '{ for (i = 3; i <= NF; i++) if ($i == finalizer) print "  " $1, $2, "has the finalizer", finalizer }'
  done
)
test -n "$needed" || exit 0
cat >&2 <<END
these objects need the operator; nothing was removed:
$needed
help: delete them first, or leave them behind with \`make undeploy force=true\`
END
exit 1
