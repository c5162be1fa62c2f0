#!/bin/sh
# Takes away the webhooks and the conversions that cert-manager has put its authority into and that `make deploy` is about to leave
# out. cert-manager co-owns them, so applying would keep a part of each, which the API server refuses. Nothing else is changed: what
# stays is trusted without a break.
set -eu
kubectl=${KUBECTL:-kubectl}
test -d config/webhook-certmanager || exit 0

# All that is rendered of these: KIND/NAME WEBHOOK and, of a CRD that is converted, KIND/NAME conversion; first each KIND/NAME alone.
rendered=$($kubectl kustomize target/deploy | awk '
  /^[^ -]/ { part = $1 }
  /^kind: / { kind = $2 }
  part == "metadata:" && /^  name: / {
    object = kind "/" $2
    if (kind ~ /^(Mutating|Validating)WebhookConfiguration$/ || kind == "CustomResourceDefinition") print object
  }
  part == "webhooks:" && /^  name: / { print object, $2 }
  kind == "CustomResourceDefinition" && part == "spec:" && /^    strategy: Webhook$/ { print object, "conversion" }')

# The same of what is in the cluster, where cert-manager is an owner.
template='{{define "parts"}}
{{- $object := printf "%s/%s" .kind .metadata.name}}{{$theirs := false}}
{{- range .metadata.managedFields}}{{if eq .manager "cert-manager-cainjector"}}{{$theirs = true}}{{end}}{{end}}
{{- if $theirs}}
{{- range .webhooks}}{{$object}} {{.name}}{{"\n"}}{{end}}
{{- with .spec}}{{with .conversion}}{{if eq .strategy "Webhook"}}{{$object}} conversion{{"\n"}}{{end}}{{end}}{{end}}
{{- end}}{{end}}
{{- if .items}}{{range .items}}{{template "parts" .}}{{end}}{{else if .kind}}{{template "parts" .}}{{end}}'
objects=$(echo "$rendered" | awk 'NF == 1')
test -n "$objects" || exit 0
there=$($kubectl get --ignore-not-found --show-managed-fields --output go-template="$template" $objects)
test -n "$there" || exit 0

echo "$there" | { grep -vxF -e "$rendered" || true; } | while read -r object part; do
  case $object in
    CustomResourceDefinition/*) type=merge patch='{"spec":{"conversion":{"strategy":"None","webhook":null}}}' ;;
    *) type=strategic patch="{\"webhooks\":[{\"\$patch\":\"delete\",\"name\":\"$part\"}]}" ;;
  esac
  $kubectl patch "$object" --type $type --patch "$patch"
done
