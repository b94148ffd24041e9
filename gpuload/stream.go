package gpuload

import (
	"context"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
)

// labelsName is the column of the tokens that follow.
const labelsName = "labels"

// maxStream is the most tokens of a sample.
const maxStream = 1 << 20

// stream is what Config.Tokens asks for.
type stream struct {
	field  string // "": the only one that has tokens
	length int64
	offset int64
	random bool
	labels bool
	width  int64 // bytes of a token
}

// parseStream reads "FIELD=LENGTH[,offset=N|random][,labels=shift]"; without FIELD= it is the only field.
func parseStream(text string) (*stream, error) {
	parts := strings.Split(text, ",")
	s := &stream{}
	length := parts[0]
	if name, n, ok := strings.Cut(parts[0], "="); ok {
		s.field, length = name, n
	}
	var err error
	if s.length, err = strconv.ParseInt(length, 10, 64); err != nil || s.length < 1 || s.length > maxStream {
		return nil, shardify.Misuse("tokens %q: want FIELD=LENGTH, of 1 to %s tokens, such as text=2048", text, printable.Count(maxStream))
	}
	for _, p := range parts[1:] {
		switch key, v, _ := strings.Cut(p, "="); {
		case key == "offset" && v == "random":
			s.random = true
		case key == "offset":
			if s.offset, err = strconv.ParseInt(v, 10, 64); err != nil || s.offset < 0 || s.offset >= s.length {
				return nil, shardify.Misuse("tokens %q: offset: want random, or a number less than %d", text, s.length)
			}
		case p == "labels=shift":
			s.labels = true
		default:
			return nil, shardify.Misuse("tokens %q: no option %q; there is offset=random, offset=N and labels=shift", text, p)
		}
	}
	return s, nil
}

// streamed makes the set one of tokens, and the samples windows of them.
func (l *Loader) streamed() error {
	s, err := parseStream(l.cfg.Tokens)
	switch {
	case err != nil:
		return err
	case l.cfg.Window != "":
		return shardify.Misuse("tokens and window: give one")
	case l.cfg.Balance != "":
		return shardify.Misuse("tokens and balance: a stretch of tokens has no class")
	}
	l.stream = s
	return l.chunks()
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

// chunks finds the samples of all shards. One of n tokens has (n - most - further) / length, where
// most is the largest offset, and further 1 where labels want the token behind.
func (l *Loader) chunks() error {
	s := l.stream
	flat, err := l.set.flat(s.field)
	if err != nil {
		return err
	}
	w := &window{View: index.View{Window: l.cfg.Tokens}}
	most, further := s.offset, int64(0)
	if s.random {
		most, w.slack = s.length-1, s.length
	}
	for i := range s.length {
		w.In = append(w.In, i)
	}
	if s.labels {
		further = 1
		for i := range s.length {
			w.Out = append(w.Out, i+1)
		}
	}
	used := int64(0)
	for _, in := range flat.inputs {
		lo, part := in.lo, int64(0)
		for i := range in.Shards {
			n := max(in.Shards[i].Samples-most-further, 0) / s.length
			if at := lo + s.offset; n > 0 {
				w.spans = append(w.spans, order.Span{First: at, N: n, Step: s.length})
				w.Anchors = append(w.Anchors, index.Anchors{Lo: at, Hi: at + (n-1)*s.length + 1, Step: s.length})
			}
			lo, part = lo+in.Shards[i].Samples, part+n
		}
		w.parts = append(w.parts, part)
		used += part
	}
	if used == 0 {
		return shardify.Mismatch("tokens %q: no shard has so many: there are %s tokens in all", l.cfg.Tokens, printable.Count(flat.samples))
	}
	if left := flat.samples - used*s.length; left > 0 {
		l.note("%s of %s tokens are in no sample of an epoch: a shard's rest of less than %s", printable.Count(left), printable.Count(flat.samples), printable.Count(s.length+most+further))
	}
	l.set, l.window = flat, w
	s.width = int64(flat.inputs[0].Schema[0].DType.Size())
	return nil
}

// each is the bytes of a sample, of which the defaults of a Block shuffle are so many.
func (d *Dataset) each(s *stream) int64 {
	if s != nil {
		return max(s.length*s.width, 1)
	}
	return d.sampleBytes()
}
