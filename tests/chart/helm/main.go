// Renders a chart with each values file of a folder, as `helm template` does, and lints it, as `helm lint` does.
//
// usage: render CHART VALUES. Prints a line of JSON for each file in VALUES, in the order of their names:
// {"file": …, "error": …} or {"file": …, "templates": {path: text}, "messages": [lint messages]}
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

const namespace = "release-namespace"

type result struct {
	File      string            `json:"file"`
	Error     string            `json:"error,omitempty"`
	Templates map[string]string `json:"templates,omitempty"`
	Messages  []string          `json:"messages,omitempty"`
}

func render(folder string, values common.Values) (map[string]string, error) {
	// Loaded again each time, because dependencies are processed in place.
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "release", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: render CHART VALUES")
	}
	files, err := filepath.Glob(filepath.Join(os.Args[2], "*.yaml"))
	if err != nil {
		log.Fatal(err)
	}
	output := json.NewEncoder(os.Stdout)
	for _, file := range files {
		values, err := common.ReadValuesFile(file)
		if err != nil {
			log.Fatal(err)
		}
		found := result{File: filepath.Base(file)}
		if found.Templates, err = render(os.Args[1], values); err != nil {
			found.Error = err.Error()
		} else {
			for _, message := range lint.RunAll(os.Args[1], values, namespace).Messages {
				// Information is that a chart may have an icon.
				if message.Severity >= support.WarningSev {
					found.Messages = append(found.Messages, fmt.Sprint(message))
				}
			}
		}
		if err := output.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
}
