package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/glance"
	"github.com/shardify/shardify/pipeline/internal/propose"
	"github.com/shardify/shardify/plan/splits/column"
	"github.com/shardify/shardify/storage/walk"
)

// splitSamples is how many samples are looked at for names of splits.
const splitSamples = 200

// splitColumn proposes the splits of the first field whose values are their names, as far as some samples say; nil without one.
func splitColumn(ctx context.Context, src shardify.Source) *propose.Proposal {
	fields := src.Schema()
	named := func(i int) bool {
		return slices.Contains([]string{"split", "fold", "subset", "partition", "set", "phase"}, strings.ToLower(fields[i].Name)) && column.Check(&fields[i]) == nil
	}
	for i := range fields {
		if !named(i) {
			continue
		}
		if found := namesOf(ctx, src, i); len(found) > 1 && walk.OnlySplits(slices.Values(found)) {
			return &propose.Proposal{Settings: format.Options{"split-from": "column=" + fields[i].Name}, Why: fmt.Sprintf("field %s has names of splits (%s)", fields[i].Name, strings.Join(found, ", "))}
		}
	}
	return nil
}

// namesOf are the names of splits in field i of some samples, in order.
func namesOf(ctx context.Context, src shardify.Source, i int) []string {
	list := glance.Spread(ctx, src, splitSamples)
	if len(list) == 0 {
		list = glance.First(ctx, src, splitSamples)
	}
	found := map[string]bool{}
	for _, sp := range list {
		if !lookAt(ctx, src, sp, i, found) {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// lookAt adds the names in a span; false if it cannot be read.
func lookAt(ctx context.Context, src shardify.Source, sp shardify.Span, i int, found map[string]bool) bool {
	r, err := src.Reader(sp.Run)
	if err != nil {
		return false
	}
	defer r.Close()
	b, done := glance.Read(ctx, r, sp)
	defer done()
	if b == nil {
		return false
	}
	names := column.New(&b.Columns[i])
	for k := range b.Samples {
		if name, ok := names.At(k); ok {
			found[string(name)] = true
		}
	}
	return true
}
