package settings

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// TestAnOptionOfOthersHasAHint: labels beside tars are joined by --pair, and the error says so.
func TestAnOptionOfOthersHasAHint(t *testing.T) {
	f, _ := readers.Lookup("tar")
	err := Belong(format.Options{"labels": "a.csv on=k"}, &f)
	if hint := strings.Join(shardify.Hints(err), " "); err == nil || !strings.Contains(hint, "--pair image=photos.tar --labels") {
		t.Errorf("%v: %q", err, hint)
	}
}
