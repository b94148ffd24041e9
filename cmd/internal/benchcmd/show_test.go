package benchcmd

import (
	"strings"
	"testing"

	"github.com/shardify/shardify/cmd/internal/trainer"
)

func TestColumnsAreCountedAndFew(t *testing.T) {
	for in, want := range map[string]string{"x": "1 column: x", "x y": "2 columns: x, y", "a b c d e f": "6 columns: a, b, c, d, e, f", "a b c d e f g": "7 columns: a, b, c, d, e, f, ..."} {
		if got := columns(strings.Fields(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestAdvice: a command is named where it may help, and none elsewhere.
func TestAdvice(t *testing.T) {
	limited := func(change func(r *trainer.Report)) *trainer.Report {
		r := &trainer.Report{Limit: "read", ReadBytes: 100}
		r.Settings.Tier, r.Settings.Workers, r.Settings.Ranks, r.Settings.Cores, r.Settings.Bytes = "stream", 2, 2, 16, 3<<30
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		change func(r *trainer.Report)
		want   string
	}{
		"from storage":   {func(r *trainer.Report) { r.Storage = 50 }, "shardify stage 'a b/' '/dev/shm/a b', if 3 GiB fit there; or more --workers"},
		"from memory":    {func(*trainer.Report) {}, "the same with --workers 8"},
		"all cores":      {func(r *trainer.Report) { r.Settings.Workers = 8 }, ""},
		"synthetic":      {func(r *trainer.Report) { r.Settings.Synthetic = true }, ""},
		"the step is it": {func(r *trainer.Report) { r.Limit = "step" }, ""},
		"staged already": {func(r *trainer.Report) { r.Settings.Tier = "pinned" }, ""},
	} {
		if got := advice([]string{"a b/"}, limited(c.change)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := verdict(&trainer.Report{}); got != "too few batches for a verdict" {
		t.Error(got)
	}
}
