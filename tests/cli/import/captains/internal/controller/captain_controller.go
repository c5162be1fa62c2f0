package controller

const captainFinalizer = "crew.example.com/ship"

// CaptainReconciler brings captains aboard.
type CaptainReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=crew.example.com,resources=captains,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get;create;delete

// Reconcile moves one captain on.
func (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, r.Patch(ctx, berth(req), client.Apply, client.FieldOwner("harbour"), client.ForceOwnership)
}
