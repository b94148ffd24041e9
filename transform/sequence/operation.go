package sequence

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform/op"
)

// Sequences is documents of tokens packed into sequences.
var Sequences = op.Kind{Name: "sequences", Value: "FIELD=LENGTH[,best-fit|concat]", Example: "text=2048,best-fit", Help: "documents of tokens packed into sequences of one length, and their lens", More: "best-fit cuts none that fits; concat fills all; also pad=TOKEN (0), last=drop",
	Phase: op.AtEnd, Keeps: true, Texts: op.Once("sequences"), Fields: op.FieldsOf(newSequences),
	New: func(e *op.Env, text string) (op.Stage, error) {
		s, err := newSequences(e, text)
		return op.Stage{Packer: s}, err
	}}

// sequences packs the lists of one field into sequences of one length.
type sequences struct {
	Spec
	text string
	out  []shardify.Field
}

// newSequences parses FIELD=LENGTH[,KEY]...
func newSequences(_ *op.Env, text string) (*sequences, error) {
	s := &sequences{text: text}
	field, rest, _ := strings.Cut(text, "=")
	words := op.List(rest)
	s.Field = strings.TrimSpace(field)
	bad := op.FlagError("sequences", text, fmt.Errorf("want FIELD=LENGTH[,best-fit|concat][,pad=TOKEN][,last=pad|drop], as in --sequences text=2048,best-fit"))
	if s.Field == "" || len(words) == 0 {
		return nil, bad
	}
	if err := shardify.ValidName(s.Field); err != nil {
		return nil, op.FlagError("sequences", text, err)
	}
	n, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, bad
	}
	if n < 1 || n > MaxLength {
		return nil, op.FlagError("sequences", text, fmt.Errorf("sequences have from 1 to %d tokens", MaxLength))
	}
	s.Length = n
	fit := ""
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		ok := true
		switch {
		case (w == "best-fit" || w == "concat") && fit == "":
			fit, s.Concat = w, w == "concat"
		case key == "pad":
			s.Pad, err = strconv.ParseUint(value, 10, 63)
			ok = err == nil
		case w == "last=pad", w == "last=drop":
			s.Drop = value == "drop"
		default:
			ok = false
		}
		if !ok {
			return nil, bad
		}
	}
	if s.Drop && !s.Concat {
		return nil, op.FlagError("sequences", text, fmt.Errorf("last=drop is for concat, where only the last sequence is not full"))
	}
	return s, nil
}

func (s *sequences) Fields() op.Fields { return op.Fields{Named: []string{s.Field}} }

// Schema checks that nothing else is in the samples.
func (s *sequences) Schema(in []shardify.Field) ([]shardify.Field, error) {
	i, err := op.Lookup(in, s.Field)
	if err != nil {
		return nil, op.TextError(s.text, err)
	}
	f := in[i]
	most := uint64(math.MaxUint64) >> (64 - 8*f.DType.Size())
	if f.DType < shardify.U8 { // signed
		most >>= 1
	}
	switch {
	case f.Levels != 1 || len(f.Shape) > 0 || f.Media != "" || !f.DType.IsInt():
		return nil, op.TextError(s.text, fmt.Errorf("%s holds %s; sequences are made of lists of whole numbers: --tokenize makes them of texts", f.Name, form(&f)))
	case len(in) > 1:
		return nil, op.TextError(s.text, fmt.Errorf("a sequence holds parts of several samples, in which %s has no place: --columns %s takes that field alone", in[(i+1)%len(in)].Name, f.Name))
	case s.Pad > most:
		return nil, op.TextError(s.text, fmt.Errorf("pad=%d: %s is %s", s.Pad, f.Name, f.DType))
	case f.Name == Lens:
		return nil, op.TextError(s.text, fmt.Errorf("%s is the name of the lengths of documents: --rename tokens=%s", f.Name, f.Name))
	}
	s.out = s.Spec.Schema(f)
	return s.out, nil
}

// form is what a field holds, with its lists.
func form(f *shardify.Field) string {
	if f.Levels > 0 && f.Media == "" {
		return "lists of " + f.DType.String()
	}
	return op.Holds(f)
}

// Begin begins the sequences of one shard.
func (s *sequences) Begin(store storage.Store, pool *shardify.Pool, emit func(*shardify.Batch, *shardify.Arena) error) op.Packing {
	return s.Spec.New(s.out, store, pool, emit)
}
