package readertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Ways checks an error that leaves a choice to the user: makes are the beginnings of what
// the first ways make, and each way opens, with as many samples as it says.
func Ways(t testing.TB, open func(columns []string, o format.Options) (shardify.Source, error), makes ...string) {
	t.Helper()
	src, err := open(nil, nil)
	var d *format.Ambiguous
	if !errors.As(err, &d) {
		if err == nil {
			src.Close()
		}
		t.Errorf("no doubt: %v", err)
		return
	}
	for i, w := range d.Ways {
		if i < len(makes) && !strings.HasPrefix(w.Makes, makes[i]) {
			t.Errorf("way %d makes %s, want %s", i, w.Makes, makes[i])
		}
		src, err := open(w.Columns, w.Options)
		if err != nil {
			t.Errorf("%s: %v %v: %v", w.Makes, w.Options, w.Columns, err)
			continue
		}
		var n, have int64
		for sp, err := range src.Spans(context.Background(), 1<<20) {
			if err != nil {
				t.Errorf("%s: %v", w.Makes, err)
				break
			}
			have += sp.Samples()
		}
		if fmt.Sscan(w.Makes, &n); n > 0 && n != have {
			t.Errorf("%v %v makes %d samples, not %s", w.Options, w.Columns, have, w.Makes)
		}
		src.Close()
	}
}
