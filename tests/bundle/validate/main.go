// Validates a bundle with the suites of operator-framework/api, and fails if there is an error. Warnings are printed.
//
// usage: validate BUNDLE
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: validate BUNDLE")
	}
	bundle, err := manifests.GetBundleFromDir(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	objects := bundle.ObjectsToValidate()
	for _, object := range bundle.Objects {
		objects = append(objects, object)
	}
	failed := false
	// All but the validator of architectures, which pulls the image from its registry.
	validators := interfaces.Validators{
		validation.ClusterServiceVersionValidator,
		validation.CustomResourceDefinitionValidator,
		validation.BundleValidator,
		validation.OperatorHubV2Validator,
		validation.StandardCapabilitiesValidator,
		validation.StandardCategoriesValidator,
		validation.ObjectValidator,
		validation.GoodPracticesValidator,
		validation.AlphaDeprecatedAPIsValidator,
	}
	for _, result := range validators.Validate(objects...) {
		for _, warning := range result.Warnings {
			fmt.Println("warning:", warning)
		}
		for _, found := range result.Errors {
			failed = true
			fmt.Println("error:", found)
		}
	}
	if failed {
		os.Exit(1)
	}
}
