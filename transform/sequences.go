package transform

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform/sequence"
)

// sequences packs the lists of one field into sequences of one length.
type sequences struct {
	spec sequence.Spec
	text string
	out  []shardify.Field
}

// newSequences parses FIELD=LENGTH[,KEY]...
func newSequences(text string) (*sequences, error) {
	s := &sequences{text: text}
	field, rest, _ := strings.Cut(text, "=")
	words := splitList(rest)
	s.spec.Field = strings.TrimSpace(field)
	bad := said("sequences", text, fmt.Errorf("want FIELD=LENGTH[,best-fit|concat][,pad=TOKEN][,last=pad|drop], as in --sequences text=2048,best-fit"))
	if s.spec.Field == "" || len(words) == 0 {
		return nil, bad
	}
	if err := shardify.ValidName(s.spec.Field); err != nil {
		return nil, said("sequences", text, err)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, bad
	}
	if n < 1 || n > sequence.MaxLength {
		return nil, said("sequences", text, fmt.Errorf("sequences have from 1 to %d tokens", sequence.MaxLength))
	}
	s.spec.Length = n
	fit := ""
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		ok := true
		switch {
		case (w == "best-fit" || w == "concat") && fit == "":
			fit, s.spec.Concat = w, w == "concat"
		case key == "pad":
			s.spec.Pad, err = strconv.ParseUint(value, 10, 63)
			ok = err == nil
		case w == "last=pad", w == "last=drop":
			s.spec.Drop = value == "drop"
		default:
			ok = false
		}
		if !ok {
			return nil, bad
		}
	}
	if s.spec.Drop && !s.spec.Concat {
		return nil, said("sequences", text, fmt.Errorf("last=drop is for concat, where only the last sequence is not full"))
	}
	return s, nil
}

func (s *sequences) fields() fields { return fields{named: []string{s.spec.Field}} }

// Schema checks that nothing else is in the samples.
func (s *sequences) Schema(in []shardify.Field) ([]shardify.Field, error) {
	i, err := lookup(in, s.spec.Field)
	if err != nil {
		return nil, within(s.text, err)
	}
	f := in[i]
	most := uint64(math.MaxUint64) >> (64 - 8*f.DType.Size())
	if f.DType < shardify.U8 { // signed
		most >>= 1
	}
	switch {
	case f.Levels != 1 || len(f.Shape) > 0 || f.Media != "" || !f.DType.IsInt():
		return nil, within(s.text, fmt.Errorf("%s holds %s; sequences are made of lists of whole numbers: --tokenize makes them of texts", f.Name, form(&f)))
	case len(in) > 1:
		return nil, within(s.text, fmt.Errorf("a sequence holds parts of several samples, in which %s has no place: --columns %s takes that field alone", in[(i+1)%len(in)].Name, f.Name))
	case s.spec.Pad > most:
		return nil, within(s.text, fmt.Errorf("pad=%d: %s is %s", s.spec.Pad, f.Name, f.DType))
	case f.Name == sequence.Lens:
		return nil, within(s.text, fmt.Errorf("%s is the name of the lengths of documents: --rename tokens=%s", f.Name, f.Name))
	}
	s.out = s.spec.Schema(f)
	return s.out, nil
}

// form is what a field holds, with its lists.
func form(f *shardify.Field) string {
	if f.Levels > 0 && f.Media == "" {
		return "lists of " + f.DType.String()
	}
	return holds(f)
}

// Memory is what the sequences of one shard take at most.
func (s *sequences) Memory() int64 { return s.spec.Memory() }

// New begins the sequences of one shard.
func (s *sequences) New(store storage.Store, pool *shardify.Pool, emit func(*shardify.Batch, *shardify.Arena) error) flow.Packing {
	return s.spec.New(s.out, store, pool, emit)
}
