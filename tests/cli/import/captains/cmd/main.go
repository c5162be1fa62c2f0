package main

// +kubebuilder:rbac:groups=coordination.example.com,resources=berths,verbs=list

func options() ctrl.Options {
	return ctrl.Options{
		LeaderElection:   true,
		LeaderElectionID: "3f7a1c2e.example.com",
	}
}
