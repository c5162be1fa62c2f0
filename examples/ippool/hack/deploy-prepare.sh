#!/bin/sh
# Removes webhooks and conversions that the manifests no longer contain but that cert-manager has injected a CA bundle into.
# cert-manager co-owns them, so `make deploy` alone would leave a part of each behind, which the API server rejects. Everything else
# keeps its CA bundle.
set -eu
kubectl=${KUBECTL:-kubectl}
test -d config/webhook-certmanager || exit 0

# What the manifests contain, one line each: KIND/NAME, then KIND/NAME WEBHOOK, and KIND/NAME conversion for a CRD with conversion.
rendered=$($kubectl kustomize target/deploy | awk '
  /^[^ -]/ { part = $1 }
  /^kind: / { kind = $2 }
  part == "metadata:" && /^  name: / {
    object = kind "/" $2
    if (kind ~ /^(Mutating|Validating)WebhookConfiguration$/ || kind == "CustomResourceDefinition") print object
  }
  part == "webhooks:" && /^  name: / { print object, $2 }
  kind == "CustomResourceDefinition" && part == "spec:" && /^    strategy: Webhook$/ { print object, "conversion" }')

# The same for objects in the cluster that cert-manager co-owns.
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
