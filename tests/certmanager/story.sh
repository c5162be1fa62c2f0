# Runs in the project `harbor`, with an API server and its kubectl. $1 is the operator, $2 cert-manager, $3 the folder of its CRDs.
operator=$1
. "$(dirname "$0")/../projects/deployment.sh"
sample=config/samples/crew_v1_captain.yaml
name=harbor-webhook.$system.svc

# Waits for a command to succeed.
eventually() {
  for again in $(seq 150); do
    if "$@" > target/output 2>&1; then return 0; fi
    sleep 0.2
  done
  cat target/output
  echo "never: $*"
  exit 1
}

# Prints the value of a Secret's key.
secret_value() {
  kubectl get secret --namespace $system "$1" --output go-template="{{index .data \"$2\" | base64decode}}"
}

# Waits until all CA bundles of the captain's webhooks contain the CA in this Secret.
trusted_everywhere() {
  ca=$(secret_value "$1" ca.crt)
  eventually trusts $mutating mcaptain-v1.crew.example.com
  eventually trusts $validating vcaptain-v1.crew.example.com
  eventually trusts $crd ''
}

trusts() {
  case $(bundle "$1" "$2" | base64 --decode) in
    *"$ca"*) ;;
    *) return 1 ;;
  esac
}

# Updates the files of the Secret atomically, as the kubelet does.
mounted() {
  version=$(kubectl get secret --namespace $system harbor-webhook-certmanager --output jsonpath='{.metadata.resourceVersion}')
  mkdir -p target/secret-$version
  for key in tls.crt tls.key; do secret_value harbor-webhook-certmanager $key > target/secret-$version/$key; done
  ln -sfn secret-$version target/mounted
}

# Starts the operator, and makes the Service's name resolve to it for the API server: the loopback, at the operator's port.
reachable() {
  start "$@"
  eventually grep 'serving webhooks' target/operator.log
  port=$(sed -n 's/.*serving webhooks address=127.0.0.1:\([0-9]*\).*/\1/p' target/operator.log)
  service="clientConfig: { service: { port: $port } }"
  configuration() {
    echo "  - patch: '{ apiVersion: admissionregistration.k8s.io/v1, kind: $1, metadata: { name: $2 }, webhooks: [{ name: $3, $service }] }'"
  }
  mkdir -p config/loopback
  cat > config/loopback/kustomization.yaml <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - ../default
patches:
  - patch: '{ apiVersion: v1, kind: Service, metadata: { name: harbor-webhook, namespace: $system }, spec: { type: ExternalName, externalName: localhost } }'
  - patch: '{ apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: { name: captains.crew.example.com }, spec: { conversion: { webhook: { $service } } } }'
$(configuration MutatingWebhookConfiguration harbor-mutating-webhook-configuration mcaptain-v1.crew.example.com)
$(configuration ValidatingWebhookConfiguration harbor-validating-webhook-configuration vcaptain-v1.crew.example.com)
YAML
  works deploy OVERLAY=config/loopback
}

# Calls all three kinds of webhooks: both admission webhooks must answer, because their failurePolicy is Fail.
answered() {
  sed 's/captain-sample/another/' $sample | kubectl create --dry-run=server --filename - &&
    sed "s/captain-sample/$(printf 'a%.0s' $(seq 64))/" $sample | kubectl create --dry-run=server --filename - 2>&1 |
    grep 'may not be more than 63 bytes' &&
    kubectl get captains.v1.crew.example.com captain-sample &&
    kubectl get captains.v2.crew.example.com captain-sample
}

# Sends requests in a loop until it is stopped.
ask() {
  : > target/asked
  : > target/unanswered
  rm -f target/enough
  while test ! -e target/enough; do
    answered > target/answer 2>&1 || cat target/answer >> target/unanswered
    echo >> target/asked
  done &
  asking=$!
}

# Waits for ten more requests; all must succeed.
asked() {
  more=$(($(wc -l < target/asked) + 10))
  eventually eval 'test $(wc -l < target/asked) -ge $more'
  is "$(cat target/unanswered)" ''
}

enough() {
  touch target/enough
  wait $asking
  is "$(cat target/unanswered)" ''
  echo "asked $(wc -l < target/asked) times, and always answered"
}

echo '# cert-manager is installed'
kubectl apply --server-side --filename "$3" > target/output
kubectl wait --for condition=Established --timeout 60s --filename "$3" > target/output
"$2" > target/cert-manager.log 2>&1 &
others=$!

echo '# the operator manages its certificate itself'
works uninstall
works deploy
reachable --webhook-certificate=self-managed
trusted_everywhere harbor-webhook-certificate
eventually kubectl create --filename $sample
eventually answered
stop

echo '# cert-manager manages it'
sed -i 's|\.\./webhook-self-signed$|../webhook-certmanager|' $default
works deploy
valid
permissions no
kubectl wait --for condition=Ready --timeout 60s --namespace $system certificate/harbor-webhook
is "$(kubectl get secret --namespace $system harbor-webhook-certmanager --output jsonpath='{.metadata.annotations.cert-manager\.io/alt-names}')" \
  "$name,$name.cluster.local"
trusted_everywhere harbor-webhook-certmanager
mounted
reachable --webhook-cert-path=target/mounted
eventually answered
ask

echo '# the operator is redeployed with another webhook, with that webhook renamed, and without it'
works deploy OVERLAY=config/loopback
asked
kbr create webhook --group crew --version v1 --kind Ship --validation > target/output 2>&1
works deploy OVERLAY=config/loopback
eventually trusts $validating vship-v1.crew.example.com
sed -i 's/name=vship-v1/name=hull-v1/' $ship
works deploy OVERLAY=config/loopback
is "$(names $validating | tr ' ' '\n' | sort | xargs)" 'hull-v1.crew.example.com vcaptain-v1.crew.example.com'
eventually trusts $validating hull-v1.crew.example.com
cp $ship target/
sed -i '/+kbr:webhook:/d' $ship
works deploy OVERLAY=config/loopback
is "$(names $validating)" vcaptain-v1.crew.example.com
asked

echo '# the certificate is renewed: trusted, and later served'
revision=$(kubectl get certificate --namespace $system harbor-webhook --output jsonpath='{.status.revision}')
kubectl delete secret --namespace $system harbor-webhook-certmanager
kubectl wait --for jsonpath='{.status.revision}'=$((revision + 1)) --timeout 60s --namespace $system certificate/harbor-webhook
trusted_everywhere harbor-webhook-certmanager
asked
# cert-manager reports no problem with the manifests.
is "$(kubectl get events --namespace $system --field-selector type=Warning,involvedObject.kind=CertificateRequest --output name)" ''
mounted
eventually grep 'reloaded certificate' target/operator.log
# A client that trusts only this CA reaches the server, which rejects a request that is not a review.
echo '{}' > target/nothing.json
eventually eval 'kubectl --kubeconfig /dev/null --server "https://127.0.0.1:$port" --certificate-authority target/mounted/tls.crt \
  --tls-server-name $name --token none create --raw /convert --filename target/nothing.json 2>&1 | grep "Unsupported Media Type"'
asked
enough

echo '# conversion is switched off, and on'
cp api/src/lib.rs target/
sed -i '/::spoke(crds);/d' api/src/lib.rs
works deploy
is "$(kubectl get $crd --output jsonpath='{.spec.conversion}')" '{"strategy":"None"}'
cp target/lib.rs api/src/
cp target/crew_v1_ship.rs src/webhooks/
works deploy
trusted_everywhere harbor-webhook-certmanager
eventually trusts $validating hull-v1.crew.example.com
works deploy OVERLAY=config/loopback
eventually answered
stop

echo '# the operator manages it again'
sed -i 's|\.\./webhook-certmanager$|../webhook-self-signed|' $default
works deploy
valid
permissions yes
reachable --webhook-certificate=self-managed
trusted_everywhere harbor-webhook-certificate
eventually answered
ask
sed -i '/+kbr:webhook:/d' $ship
works deploy OVERLAY=config/loopback
is "$(names $validating)" vcaptain-v1.crew.example.com
asked
enough
stop

echo '# cert-manager manages it again'
sed -i 's|\.\./webhook-self-signed$|../webhook-certmanager|' $default
works deploy
trusted_everywhere harbor-webhook-certmanager
mounted
reachable --webhook-cert-path=target/mounted
eventually answered
stop
