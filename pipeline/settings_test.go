package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
)

func TestOutputThatDoesNotFitNamesBothNumbers(t *testing.T) {
	prepared := func(free int64) *Prepared {
		return &Prepared{Output: "out", Store: local.NewDir(t.TempDir(), local.SyncNone), room: room{"out", host.Space{Bytes: free, Inodes: -1}, nil}, Job: &convert.Job{},
			Plan: &plan.Plan{Pack: plan.Packing{OutputBytes: 3 << 20}, In: plan.Inputs{Table: &format.Table{}}}}
	}
	err := space(&Settings{}, prepared(1<<20))
	if err == nil || err.Error() != "the output needs about 3 MiB and 32 inodes in out: out has 1 MiB free, 2 MiB too few" || len(shardify.Hints(err)) == 0 {
		t.Errorf("too little space: %v, hints %q", err, shardify.Hints(err))
	}
	for _, free := range []int64{-1, 3 << 20} {
		if err := space(&Settings{}, prepared(free)); err != nil {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
	if err := space(&Settings{MaxOutput: 1 << 20}, prepared(-1)); err == nil || !strings.Contains(err.Error(), "about 3 MiB, --max-output is 1 MiB") {
		t.Errorf("over --max-output: %v", err)
	}
}

// TestWhatDoesNotFitIsNamedAtOnce: bytes and inodes, of the file system and of every
// quota, with what is missing of each.
func TestWhatDoesNotFitIsNamedAtOnce(t *testing.T) {
	r := room{"out", host.Space{Bytes: 2 << 30, Inodes: 10}, []host.Quota{{Of: "user 7", Bytes: 1 << 30, Inodes: -1}, {Of: "project 9", Bytes: -1, Inodes: 20}}}
	err := r.fits(need{what: "the output", bytes: 3 << 30, beside: 1 << 30, inodes: 21})
	for _, w := range []string{"out has 2 GiB free, 2 GiB too few", "out has 10 inodes free, 11 too few", "user 7 has 1 GiB left, 3 GiB too few", "project 9 has 20 inodes left, 1 too few"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in %v", w, err)
		}
	}
	if err := r.fits(need{bytes: 1 << 30, inodes: 10}); err != nil {
		t.Error(err)
	}
	r = room{"out", host.Space{Bytes: -1, Inodes: -1}, nil}
	if err := r.fits(need{bytes: 1 << 60, inodes: 1 << 60}); err != nil {
		t.Error(fmt.Errorf("nothing known: %w", err))
	}
}
