package gpuload

import (
	"context"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/internal/printable"
)

// labelsName is the column of the tokens that follow.
const labelsName = "labels"

// stream is what Config.Tokens asks for.
type stream struct {
	view.Tokens
	width int64 // bytes of a token
}

// streamed makes the set one of tokens, and the samples windows of them.
func (w *samples) streamed() error {
	t, err := view.ParseTokens(w.cfg.Tokens)
	switch {
	case err != nil:
		return err
	case w.cfg.Window != "":
		return shardify.Misuse("tokens and window: give one")
	case w.cfg.Balance != "":
		return shardify.Misuse("tokens and balance: a stretch of tokens has no class")
	}
	w.stream = &stream{Tokens: t}
	return w.chunks()
}

// tokenField is the only field of a set that may have tokens.
func tokenField(schema []shardify.Field) (string, error) {
	var all []string
	for i := range schema {
		if f := &schema[i]; dataset.Streamed(f) && f.DType.IsInt() {
			all = append(all, f.Name)
		}
	}
	if len(all) != 1 {
		return "", shardify.Misuse("tokens: want FIELD=LENGTH: there are %d lists of whole numbers (%s)", len(all), strings.Join(all, ", "))
	}
	return all[0], nil
}

// flat is the elements of a field of all inputs as samples; without a name the only list of whole
// numbers that each has, under the name in the first.
func (d *Dataset) flat(name string) (*Dataset, error) {
	f := &Dataset{fingerprint: d.fingerprint}
	for _, in := range d.inputs {
		field, err := name, error(nil)
		if name == "" {
			field, err = tokenField(in.Schema)
		}
		var set *dataset.Set
		if err == nil {
			set, err = in.Set.Flat(context.Background(), field)
		}
		if err != nil {
			return nil, shardify.Annotate(err, "open", in.Where(), "")
		}
		if len(f.inputs) > 0 && name == "" {
			set.Rename(f.inputs[0].Schema[0].Name)
		}
		f.inputs = append(f.inputs, &input{set, f.samples})
		f.samples += set.Samples
	}
	return f, nil
}

// chunks makes samples of the tokens of a field.
func (w *samples) chunks() error {
	s := w.stream
	flat, err := w.Set.flat(s.Field)
	if err != nil {
		return err
	}
	win, used := flat.chunks(s, w.cfg.Tokens)
	if used == 0 {
		return shardify.Mismatch("tokens %q: no shard has so many: there are %s tokens in all", w.cfg.Tokens, printable.Count(flat.Len()))
	}
	if left := flat.Len() - used*s.Length; left > 0 {
		most, further := s.Beyond()
		w.notes.add("%s of %s tokens are in no sample of an epoch: a shard's rest of less than %s", printable.Count(left), printable.Count(flat.Len()), printable.Count(s.Length+most+further))
	}
	w.Set, w.window = flat, win
	s.width = int64(flat.Schema()[0].DType.Size())
	return nil
}

// chunks finds the samples of all shards. One of n tokens has (n - most - further) / length.
func (d *Dataset) chunks(s *stream, text string) (w *window, used int64) {
	slack := int64(0)
	if s.Random {
		slack = s.Length
	}
	w = &window{View: index.View{Window: text}, slack: slack}
	for i := range s.Length {
		w.In = append(w.In, i)
		if s.Labels {
			w.Out = append(w.Out, i+1)
		}
	}
	most, further := s.Beyond()
	for _, in := range d.inputs {
		lo, part := in.lo, int64(0)
		for i := range in.Shards {
			n := max(in.Shards[i].Samples-most-further, 0) / s.Length
			if n > 0 {
				w.add(lo+s.Offset, n, s.Length)
			}
			lo, part = lo+in.Shards[i].Samples, part+n
		}
		w.end(part)
		used += part
	}
	return w, used
}

// each is the bytes of a sample, of which the defaults of a Block shuffle are so many.
func (d *Dataset) each(s *stream) int64 {
	if s != nil {
		return max(s.Length*s.width, 1)
	}
	return d.sampleBytes()
}
