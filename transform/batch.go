package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/transform/expr"
)

// fork is a copy of a batch whose columns and counts may be changed.
func fork(b *shardify.Batch) *shardify.Batch {
	out := *b
	out.Columns = slices.Clone(b.Columns)
	out.Counts = slices.Clip(b.Counts)
	return &out
}

// count adds to a batch what was done to n values.
func count(b *shardify.Batch, n int64, format string, args ...any) {
	if n > 0 {
		b.Counts = append(b.Counts, shardify.Count{Name: fmt.Sprintf(format, args...), N: n})
	}
}

// lookup finds a field or says which one was meant.
func lookup(in []shardify.Field, name string) (int, error) {
	if i := format.FieldNamed(in, name); i >= 0 {
		return i, nil
	}
	known := make([]string, len(in))
	for i := range in {
		known[i] = in[i].Name
	}
	return -1, &expr.UnknownField{Name: name, Suggest: suggest.Word(name, known)}
}

// counts reports whether a name means a counter: nJet of NanoAOD is also called Jet.
func counts(counter, name string) bool {
	return counter != "" && (counter == name || counter == "n"+name || counter == "N"+name)
}

// taken refuses a name that a field has already.
func taken(in []shardify.Field, name string) error {
	if shardify.FieldIndex(in, name) >= 0 {
		return fmt.Errorf("there is a field %s already", name)
	}
	return shardify.ValidName(name)
}

// said names the flag that an error is about.
func said(flag, text string, err error) error {
	if err == nil {
		return nil
	}
	return shardify.Annotate(err, "--"+flag+" '"+strings.ReplaceAll(text, "\n", "' --"+flag+" '")+"'", "", "")
}

// within says which expression or rule of its flag an error is about.
func within(text string, err error) error {
	if err == nil {
		return nil
	}
	if text = strings.ReplaceAll(text, "\n", ", "); strings.HasPrefix(err.Error(), text+": ") || strings.HasPrefix(err.Error(), text+" is ") {
		return err // it says so itself
	}
	return fmt.Errorf("%s: %w", text, err)
}

// sampleAt is the sample that value i of a column belongs to, values counted as numbers.
func sampleAt(c *shardify.Column, samples, i int) int {
	lo, hi := 0, samples
	for lo+1 < hi {
		mid := (lo + hi) / 2
		if from, _ := c.Range(mid, mid); from <= i*c.DType.Size() {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// match checks that a batch has as many columns as the schema that was given.
func match(b *shardify.Batch, n int) error {
	if len(b.Columns) != n {
		return shardify.Mismatch("batch of %d columns for a schema of %d fields", len(b.Columns), n)
	}
	return nil
}

// atSample fills in which sample an error is about.
func atSample(err error, b *shardify.Batch, i int) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample = b.ID(i).Sample })
}
