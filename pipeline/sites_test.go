package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
)

// TestExamplesOfSites: each file of examples/sites is taken by the engine that its first line names,
// and all that it says is in the job files.
func TestExamplesOfSites(t *testing.T) {
	site(t, "")
	files, err := filepath.Glob("../examples/sites/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: %v", files, err)
	}
	set := planned(t, "none")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		command := strings.Fields(first)
		if len(command) != 7 || strings.Join(append(command[:3:3], command[4:]...), " ") != "# shardify submit FOLDER --site "+filepath.Base(name) || !strings.Contains(string(text), "https://") {
			t.Errorf("%s: the first line is %q; or it names no source", name, first)
			continue
		}
		settings, err := cluster.ParseSite(strings.NewReader(string(text)))
		if err != nil || len(settings) < 3 {
			t.Fatalf("%s: %v, %v", name, settings, err)
		}
		r := submit(t, pipeline.SubmitSettings{Folder: set, Engine: command[3], Site: name, Program: "/opt/shardify"})
		work := scriptOf(r, "work")
		for _, s := range settings {
			for _, v := range s.Values {
				switch s.Key {
				case "mem":
					v = map[string]string{"256GiB": "mem=262144mb", "128GiB": "mem=131072mb", "80GiB": "--mem=81920M"}[v]
				case "time":
					v = map[string]string{"6h": "walltime=6:00:00"}[v]
				case "throttle":
					v = "%" + v
				case "elements":
					v = map[string]string{"10": "-J 0-9", "20": "-J 0-19"}[v]
				}
				if v == "" || !strings.Contains(work, v) {
					t.Errorf("%s: %s: no %q in\n%s", name, s.Key, v, work)
				}
			}
		}
	}
}
