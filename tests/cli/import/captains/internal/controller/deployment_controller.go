package controller

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch

// Reconcile counts.
func (r *DeploymentReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}
