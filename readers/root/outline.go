package root

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/storage"
)

// outline lists the trees of a file with their entries and columns, then what else is
// in it by class.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	r, err := fs.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := rfile.Open(r, r.Size(), filepath.Base(name))
	if err != nil {
		return nil, err
	}
	var lines []string
	others := map[string]int{}
	for _, o := range f.Objects() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		class := o.Key.Class
		if !rfile.IsTree(class) && class != rfile.NTupleClass && class != rfile.OldNTupleClass {
			others[class]++
			continue
		}
		t, err := readTable(f, r, o)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s  %s: %s", o.Path, class, format.Reason(err)))
			continue
		}
		line := fmt.Sprintf("%s  %s, %s, %s", o.Path, class, many(t.entries(), "entry", "entries"), many(int64(len(t.fields())), "column", "columns"))
		if n := len(t.left()); n > 0 {
			line += fmt.Sprintf(", %d left out", n)
		}
		lines = append(lines, line)
	}
	if len(others) > 0 {
		var rest []string
		for _, class := range slices.Sorted(maps.Keys(others)) {
			rest = append(rest, fmt.Sprintf("%d %s", others[class], class))
		}
		lines = append(lines, "no trees: "+strings.Join(rest, ", "))
	}
	for _, p := range f.Problems() {
		lines = append(lines, p.Error())
	}
	return lines, nil
}
