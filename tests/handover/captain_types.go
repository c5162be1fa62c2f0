package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CaptainSpec is what a captain wants.
type CaptainSpec struct {
	// The name of the ship.
	// +kubebuilder:validation:MinLength=1
	Ship string `json:"ship"`
	// The size of the crew.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	Crew int32 `json:"crew,omitempty"`
}

// CaptainStatus is what became of it.
type CaptainStatus struct {
	// The generation that was reconciled last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The ship that sails.
	// +optional
	Ship string `json:"ship,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Captain sails a ship.
type Captain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CaptainSpec   `json:"spec"`
	Status            CaptainStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// CaptainList is a list of captains.
type CaptainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Captain `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(s *runtime.Scheme) error {
		s.AddKnownTypes(SchemeGroupVersion, &Captain{}, &CaptainList{})
		return nil
	})
}
