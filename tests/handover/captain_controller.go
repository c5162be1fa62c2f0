package controller

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	crewv1 "example.com/captains/api/v1"
)

const captainFinalizer = "crew.example.com/captain"

// CaptainReconciler gives each captain a ConfigMap and a Deployment.
type CaptainReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=crew.example.com,resources=captains,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=crew.example.com,resources=captains/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=crew.example.com,resources=captains/finalizers,verbs=update
// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete

// Reconcile brings the children and the status of a captain in line with its spec.
func (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var captain crewv1.Captain
	if err := r.Get(ctx, req.NamespacedName, &captain); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !captain.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&captain, captainFinalizer) {
			return ctrl.Result{}, r.Update(ctx, &captain)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&captain, captainFinalizer) {
		return ctrl.Result{}, r.Update(ctx, &captain)
	}
	chart := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: captain.Name, Namespace: captain.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, chart, func() error {
		chart.Data = map[string]string{"ship": captain.Spec.Ship, "crew": strconv.Itoa(int(captain.Spec.Crew))}
		return controllerutil.SetControllerReference(&captain, chart, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	ship := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: captain.Name, Namespace: captain.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, ship, func() error {
		r.build(ship, &captain)
		return controllerutil.SetControllerReference(&captain, ship, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	before := captain.Status.DeepCopy()
	captain.Status.ObservedGeneration = captain.Generation
	captain.Status.Ship = captain.Spec.Ship
	meta.SetStatusCondition(&captain.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Sails", Message: "the ship sails",
		ObservedGeneration: captain.Generation,
	})
	if equality.Semantic.DeepEqual(before, &captain.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Update(ctx, &captain)
}

// build sets what the captain decides, and leaves the rest.
func (r *CaptainReconciler) build(ship *appsv1.Deployment, captain *crewv1.Captain) {
	labels := map[string]string{"captain": captain.Name}
	ship.Spec.Replicas = &captain.Spec.Crew
	ship.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	ship.Spec.Template.Labels = labels
	if len(ship.Spec.Template.Spec.Containers) == 0 {
		ship.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
	}
	container := &ship.Spec.Template.Spec.Containers[0]
	container.Name, container.Image = "ship", "registry.example.com/"+captain.Spec.Ship
}

// SetupWithManager registers the controller.
func (r *CaptainReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&crewv1.Captain{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Named("captain").
		Complete(r)
}
