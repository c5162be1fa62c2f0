// The operator of Foo in Go, with controller-runtime, with which tests/bench/operator compares.
package main

import (
	"context"
	"flag"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var version = schema.GroupVersion{Group: "samplecontroller.example.com", Version: "v1alpha1"}

// FooSpec is the desired state of a Foo.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int32  `json:"replicas"`
}

// FooStatus is the observed state of a Foo.
type FooStatus struct {
	AvailableReplicas  int32              `json:"availableReplicas"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Foo has a Deployment.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FooSpec   `json:"spec"`
	Status            FooStatus `json:"status,omitempty"`
}

// DeepCopyObject is usually generated.
func (f *Foo) DeepCopyObject() runtime.Object {
	out := *f
	f.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), f.Status.Conditions...)
	return &out
}

// FooList is a list of Foos.
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Foo `json:"items"`
}

// DeepCopyObject is usually generated.
func (l *FooList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Foo, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Foo)
	}
	return &out
}

type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var foo Foo
	if err := r.Get(ctx, request.NamespacedName, &foo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if strings.HasPrefix(foo.Name, "hang-") {
		<-ctx.Done()
		return ctrl.Result{}, ctx.Err()
	}
	key := client.ObjectKey{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}
	var deployment appsv1.Deployment
	if err := r.Get(ctx, key, &deployment); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	// Applied only if it differs, to avoid needless requests.
	if deployment.Spec.Replicas == nil || *deployment.Spec.Replicas != foo.Spec.Replicas {
		owner := client.FieldOwner("foo.example.com/foo")
		if err := r.Apply(ctx, wanted(&foo), owner, client.ForceOwnership); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := foo.DeepCopyObject().(*Foo)
	foo.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	foo.Status.ObservedGeneration = foo.Generation
	changed := meta.SetStatusCondition(&foo.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: foo.Generation,
		Reason: "Synced", Message: "the Deployment matches the Foo",
	})
	r.recorder.Eventf(&foo, nil, corev1.EventTypeNormal, "Synced", "Reconcile", "Foo synced successfully")
	if !changed && before.Status.AvailableReplicas == foo.Status.AvailableReplicas {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Patch(ctx, &foo, client.MergeFrom(before))
}

func wanted(foo *Foo) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	owner := metav1ac.OwnerReference().
		WithAPIVersion(version.String()).WithKind("Foo").WithName(foo.Name).WithUID(foo.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	return appsv1ac.Deployment(foo.Spec.DeploymentName, foo.Namespace).
		WithOwnerReferences(owner).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(foo.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().
					WithContainers(corev1ac.Container().WithName("nginx").WithImage("nginx:latest")))))
}

func main() {
	elect := flag.Bool("leader-elect", false, "elect a leader")
	warmup := flag.Bool("warmup", false, "fill the caches before it leads")
	workers := flag.Int("max-concurrent-reconciles", 1, "how many objects are reconciled at once")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(version, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, version)

	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                  scheme,
		LeaderElection:          *elect,
		LeaderElectionID:        "foo.example.com",
		LeaderElectionNamespace: "default",
		Metrics:                 metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress:  "127.0.0.1:0",
	})
	must(err)
	recorder := manager.GetEventRecorder("foo")
	must(ctrl.NewControllerManagedBy(manager).
		For(&Foo{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers, EnableWarmup: warmup}).
		Complete(&reconciler{manager.GetClient(), recorder}))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "cannot run")
		os.Exit(1)
	}
}
