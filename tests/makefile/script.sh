# Runs in a project, with an API server and its kubectl.
system=captains-system
captain=captains.crew.example.com

# Nothing is compiled here: kbr only reads the finalizers of the controllers.
export KBR=target/kbr

# `make` must succeed.
works() {
  echo "# make $*"
  make "$@" > target/output 2>&1 || { cat target/output; echo "failed: make $*"; exit 1; }
}

# `make` must fail and print the first word.
fails() {
  expected=$1
  shift
  echo "# make $*, which fails"
  ! make "$@" > target/output 2>&1 || { cat target/output; echo "did not fail: make $*"; exit 1; }
  grep --quiet --fixed-strings -- "$expected" target/output || { cat target/output; echo "does not contain: $expected"; exit 1; }
}

is() {
  test "$1" = "$2" || { echo "\`$1\` is not \`$2\`"; exit 1; }
}

finalizers() {
  kubectl patch "$1" "$2" --type merge --patch "{\"metadata\":{\"finalizers\":$3}}"
}

image() {
  kubectl get deployment --namespace $system captains-controller-manager --output jsonpath='{.spec.template.spec.containers[0].image}'
}

# An API server alone has no controller that deletes a namespace.
end_namespaces() {
  kubectl get namespaces --watch --output jsonpath='{.metadata.name} {.status.phase}{"\n"}' | while read -r name phase; do
    test "$phase" = Terminating || continue
    kubectl get --raw "/api/v1/namespaces/$name" | sed 's/"kubernetes"//' |
      kubectl replace --raw "/api/v1/namespaces/$name/finalize" --filename - || true
  done > /dev/null 2>&1
}
end_namespaces &

mkdir -p target
printf '#!/bin/sh\ntest "$1" != plan || exit "$4"\ntest "$*" != "manifests finalizers" || exec "%s" "$@"\n' "$KBR_BINARY" > target/kbr
chmod +x target/kbr
# `kbr envtest run` has installed the CRDs.
works uninstall
works install
kubectl apply --kustomize config/samples

digest=sha256:0000000000000000000000000000000000000000000000000000000000000000
works deploy IMG=registry.example.com:5000/captains@$digest
is "$(image)" registry.example.com:5000/captains@$digest
works deploy IMG=captains:v2
is "$(image)" captains:v2
works build-installer IMG=captains:v3
grep --quiet 'image: captains:v3' dist/install.yaml
works docker-build docker-push IMG=x:1 CONTAINER_TOOL=echo
is "$(grep -v '^echo' target/output)" "$(printf '%s\n' 'build --tag x:1 .' 'push x:1')"
works plan CONTEXT=prod ARGS=--details KBR=echo
is "$(grep -v '^echo' target/output)" "$(printf '%s\n' manifests 'plan --overlay config/default --context prod --details')"
# kbr exits with this code.
works plan ARGS=2
fails Error plan ARGS=3

# The namespace admits the Deployment's Pod, and rejects a Pod that violates the strictest standard.
pod() {
  spec=$(kubectl get deployment --namespace $system captains-controller-manager --output jsonpath='{.spec.template.spec}' | sed "s/RuntimeDefault/$1/")
  echo "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"probe\",\"namespace\":\"$system\"},\"spec\":$spec}" |
    kubectl apply --dry-run=server --filename - 2>&1 || true
}
is "$(pod RuntimeDefault)" 'pod/probe created (server dry run)'
case $(pod Unconfined) in
  *'violates PodSecurity "restricted:latest": seccompProfile'*) ;;
  *) echo "the Pod security standard is not enforced: $(pod Unconfined)"; exit 1 ;;
esac

# Cluster-wide permissions end when the operator is restricted to a namespace.
may() {
  kubectl auth can-i list $captain --as system:serviceaccount:$system:captains-controller-manager --namespace "$1" || true
}
for role in config/rbac/role.yaml config/namespaced/role/role.yaml; do
  cp $role target/
  sed -i.kept 's/^rules: .*/rules: [{ apiGroups: [crew.example.com], resources: [captains], verbs: [list] }]/' $role
done
works deploy
is "$(may default)" yes
cp config/default/kustomization.yaml target/
sed -i.kept 's|^  # +kbr:scaffold:components|  - ../namespaced|' config/default/kustomization.yaml
works deploy
is "$(may default)" no
is "$(may $system)" yes
find config -name '*.kept' | while read -r kept; do mv "$kept" "${kept%.kept}"; done

# An object that needs the operator prevents undeploy.
finalizers $captain captain-sample '["other.example.com/x","crew.example.com/captain"]'
fails 'captains.crew.example.com default/captain-sample has the finalizer crew.example.com/captain' undeploy
sed -i.kept 's/const FINALIZER/const OTHER/' src/controllers/captain.rs
fails 'kbr cannot read the name of this finalizer' undeploy
mv src/controllers/captain.rs.kept src/controllers/captain.rs
finalizers $captain captain-sample '["other.example.com/x"]'
sed 's/captain-sample/inside/' config/samples/crew_v1_captain.yaml | kubectl apply --namespace $system --filename -
fails "captains.crew.example.com $system/inside is in the namespace $system" undeploy
is "$(image)" controller:latest
works undeploy force=true
is "$(kubectl get $captain --output name)" captain.crew.example.com/captain-sample

# A CRD waits for its objects, and they for their finalizers.
fails 'captains.crew.example.com default/captain-sample waits for ["other.example.com/x"]' uninstall TIMEOUT=1s
finalizers $captain captain-sample null
kubectl wait --for=delete --timeout=5m crd/$captain

# A CRD that waits for something else does not need the operator.
works install
finalizers crd $captain '["customresourcecleanup.apiextensions.k8s.io","other.example.com/x"]'
fails 'captains.crew.example.com is still there after 1s, although no object has a finalizer' uninstall TIMEOUT=1s
! grep --quiet 'run the operator' target/output || { cat target/output; exit 1; }
finalizers crd $captain null

# Either order, and again.
works uninstall undeploy
works undeploy uninstall
works deploy
works undeploy
works undeploy uninstall
works uninstall
is "$(kubectl get crds,clusterroles,clusterrolebindings --output name | grep captain || true)" ''
fails 'not found' uninstall ignore-not-found=false
fails 'not found' undeploy ignore-not-found=false

# An unreachable cluster is an error.
for target in install uninstall deploy undeploy; do
  fails 'refused' $target KUBECTL='kubectl --server https://127.0.0.1:1'
done
fails 'nowhere' build-installer OVERLAY=config/nowhere
