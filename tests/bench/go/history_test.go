package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoapplyconfigurations "k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var errCrashed = errors.New("the process ended")

// What the fake clients of all histories share, because it takes longer to make than a history.
var (
	scheme     = runtime.NewScheme()
	converters []managedfields.TypeConverter
)

func init() {
	must(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(version, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, version)
	converters = []managedfields.TypeConverter{clientgoapplyconfigurations.NewTypeConverter(scheme), managedfields.NewDeducedTypeConverter()}
}

// A Foo is created, gets another number of replicas, and is deleted. One write of the operator is stored and not answered; then
// everything is reconciled again until nothing changes. There are no watches, no caches, no queue and no clock: the fake client
// calls nobody.
func history(crashed int) error {
	ctx := context.Background()
	writes, changes := 0, 0
	wrote := func(err error) error {
		writes++
		changes++
		if err == nil && writes == crashed {
			return errCrashed
		}
		return err
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&Foo{}).WithTypeConverters(converters...).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				return wrote(c.Apply(ctx, obj, opts...))
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				return wrote(c.SubResource(sub).Patch(ctx, obj, patch, opts...))
			},
		}).Build()
	operator := &reconciler{cluster, events.NewFakeRecorder(100)}
	key := client.ObjectKey{Namespace: "default", Name: "nemo"}
	settle := func() error {
		for range 10 {
			changes = 0
			_, err := operator.Reconcile(ctx, ctrl.Request{NamespacedName: key})
			if err != nil && !errors.Is(err, errCrashed) {
				return err
			}
			if changes == 0 {
				return nil
			}
		}
		return errors.New("it does not become idle")
	}
	foo := &Foo{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: FooSpec{DeploymentName: "nemo", Replicas: 1}}
	if err := cluster.Create(ctx, foo); err != nil {
		return err
	}
	if err := settle(); err != nil {
		return err
	}
	if err := cluster.Get(ctx, key, foo); err != nil {
		return err
	}
	foo.Spec.Replicas = 2
	if err := cluster.Update(ctx, foo); err != nil {
		return err
	}
	if err := settle(); err != nil {
		return err
	}
	var deployment appsv1.Deployment
	if err := cluster.Get(ctx, key, &deployment); err != nil {
		return err
	}
	if *deployment.Spec.Replicas != 2 {
		return fmt.Errorf("%d replicas", *deployment.Spec.Replicas)
	}
	if err := cluster.Delete(ctx, foo); err != nil {
		return err
	}
	return settle()
}

func BenchmarkHistory(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		if err := history(i % 4); err != nil {
			b.Fatal(err)
		}
	}
}
