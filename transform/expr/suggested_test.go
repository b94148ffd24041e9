package expr

import "testing"

func TestFieldsWithSlashesAreSuggestedInQuotes(t *testing.T) {
	known := []string{"X/data", "n_jets", "obs/_index", "obs/ct", "obs/n", "var/n"}
	for name, want := range map[string]string{"ct": `field("obs/ct")`, "n": "", "obs": "", "n_jet": "n_jets", "obs_ct": ""} {
		if got := suggested(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
