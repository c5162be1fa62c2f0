package v1

// +kubebuilder:webhook:path=/mutate-crew-example-com-v1-captain,mutating=true,failurePolicy=ignore,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create,versions=v1,name=mcaptain-v1.kb.io,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/check,mutating=false,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=vcaptain-v1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
