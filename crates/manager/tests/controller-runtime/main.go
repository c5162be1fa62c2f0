// Twin is the smallest operator whose metrics are worth a look: each result of a reconcile, a panic, a time-out.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	server "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctrl.SetLogger(zap.New())
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		LeaderElection:          true,
		LeaderElectionID:        "twin.example.com",
		LeaderElectionNamespace: "default",
		Metrics:                 server.Options{BindAddress: "127.0.0.1:18080"},
		WebhookServer:           webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: 18443, CertDir: "certificates"}),
	})
	if err != nil {
		return err
	}
	reconciler := &reconciler{Client: mgr.GetClient()}
	recover := true
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 10, RecoverPanic: &recover, ReconciliationTimeout: time.Second,
		}).
		Complete(reconciler)
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register("/mutate--v1-configmap", &admission.Webhook{Handler: admission.HandlerFunc(allow)})
	return mgr.Start(ctrl.SetupSignalHandler())
}

func allow(context.Context, admission.Request) admission.Response { return admission.Allowed("") }

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	switch name := req.Name; {
	case strings.HasPrefix(name, "fail"):
		return ctrl.Result{}, fmt.Errorf("told to fail")
	case strings.HasPrefix(name, "panic"):
		panic("told to panic")
	case strings.HasPrefix(name, "hang"):
		<-ctx.Done()
		return ctrl.Result{}, ctx.Err()
	case strings.HasPrefix(name, "again"):
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	var object corev1.ConfigMap
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, req.NamespacedName, &object))
}
