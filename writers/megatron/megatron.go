// Package megatron writes the .bin and .idx pairs that Megatron-LM and its kin
// train from: the tokens of all samples one after the other, and a table of their
// lengths and places. Each sample is one sequence and one document.
package megatron

import (
	"context"
	"errors"
	"math"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/storage"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: index.FormatMegatron, Words: []string{"megatron-lm"},
	Help:  "Megatron: token sequences as .bin and .idx, one field of integers",
	Ext:   megatron.DataExt,
	Check: check,
	SampleBytes: func([]shardify.Field, bool) (int64, float64) {
		return 0, 1 // the index is a file of its own
	},
	New:    newSink,
	Verify: verify,
	Lint:   &linter,
	Owns: func(name string) bool {
		base := path.Base(name)
		return strings.HasPrefix(base, "shard-") && strings.HasSuffix(base, megatron.IndexExt)
	},
	Hint: func(folder string, quote func(string) string) string {
		return "train with " + quote(strings.TrimSuffix(folder, "/")+"/shard-000000") + " as a data prefix of Megatron-LM (one for each shard)"
	},
}

func check(schema []shardify.Field, keyed bool, _ format.Options) error {
	return shardify.Annotate(tokens(schema), "write megatron", "", "")
}

// tokens checks that the schema is one field of tokens.
func tokens(schema []shardify.Field) error {
	if len(schema) != 1 {
		names := make([]string, len(schema))
		for i := range schema {
			names[i] = schema[i].Name
		}
		return shardify.Mismatch("one field of tokens is wanted, there are %d (%s): choose with --columns", len(schema), strings.Join(names, ", "))
	}
	f := &schema[0]
	switch {
	case f.Levels == 2 || f.Levels == 1 && len(f.Shape) > 0 || f.Levels == 0 && len(f.Shape) != 1:
		return shardify.Mismatch("field %s: a list of tokens per sample is wanted", f.Name)
	case f.Media != "" || f.Ragged:
		return shardify.Mismatch("field %s holds %s, not tokens: tokenize it first", f.Name, f.Media)
	case f.Nullable:
		return shardify.Mismatch("field %s: missing sequences cannot be written", f.Name)
	case !f.DType.IsInt() || megatron.TypeCode(f.DType) == 0:
		return shardify.Unsupported("field %s: tokens of type %s; use --cast for u16 (vocabularies below 65,536), i32 or i64", f.Name, f.DType)
	}
	return nil
}

const bufferBytes = index.PieceBytes

// sink writes one pair.
type sink struct {
	store   storage.Store
	spec    format.ShardSpec
	file    storage.Pending
	sum     index.PieceDigest
	buf     []byte
	lengths []int32
	size    int64
	err     error
}

var errDone = errors.New("shard is published or aborted")

func newSink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	if err := tokens(spec.Schema); err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	f, err := st.Create(spec.Name)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	return &sink{store: st, spec: spec, file: f, buf: make([]byte, 0, bufferBytes)}, nil
}

// Write appends the sequences of a batch.
func (s *sink) Write(b *shardify.Batch) error {
	if s.err == nil {
		s.err = shardify.Annotate(s.write(b), "write", s.spec.Name, "")
	}
	return s.err
}

func (s *sink) write(b *shardify.Batch) error {
	if n := int64(len(s.lengths) + b.Samples); s.spec.Exact && n > s.spec.Samples {
		return shardify.Mismatch("samples: %d planned, %d came", s.spec.Samples, n)
	}
	if err := b.Match(s.spec.Schema); err != nil {
		return err
	}
	c := &b.Columns[0]
	for i := range b.Samples {
		n := int64(c.Elem())
		if c.Levels > 0 {
			n = c.Offsets[0][i+1] - c.Offsets[0][i]
		}
		if n > math.MaxInt32 {
			return shardify.Amend(shardify.Unsupported("a sequence of %d tokens", n), func(e *shardify.Error) { e.Sample, e.Field = b.ID(i).Sample, c.Name })
		}
		s.lengths = append(s.lengths, int32(n))
	}
	return s.put(c.Data)
}

// put appends to the file, in pieces of the digest.
func (s *sink) put(p []byte) error {
	s.size += int64(len(p))
	for len(p) > 0 {
		n := min(cap(s.buf)-len(s.buf), len(p))
		s.buf, p = append(s.buf, p[:n]...), p[n:]
		if len(s.buf) == cap(s.buf) {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sink) flush() error {
	s.sum.Write(s.buf)
	_, err := s.file.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// Commit publishes the pair, the index first: a reader that sees the tokens finds it.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	if s.err != nil {
		return shardify.Shard{}, s.err
	}
	sh, err := s.commit(ctx)
	s.err = errDone
	if err != nil {
		s.err = shardify.Annotate(err, "publish", s.spec.Name, "")
		return shardify.Shard{}, s.err
	}
	return sh, nil
}

func (s *sink) commit(ctx context.Context) (sh shardify.Shard, err error) {
	if s.spec.Exact && int64(len(s.lengths)) != s.spec.Samples {
		return sh, shardify.Mismatch("samples: %d planned, %d written", s.spec.Samples, len(s.lengths))
	}
	if err := s.flush(); err != nil {
		return sh, err
	}
	idx := megatron.Append(nil, s.spec.Schema[0].DType, s.lengths)
	name := megatron.Index(s.spec.Name)
	f, err := s.store.Create(name)
	if err != nil {
		return sh, err
	}
	defer f.Abort()
	if _, err := f.Write(idx); err != nil {
		return sh, err
	}
	if err := f.Commit(ctx); err != nil {
		return sh, err
	}
	if err := s.file.Commit(ctx); err != nil {
		return sh, err
	}
	return shardify.Shard{
		Name: s.spec.Name, Samples: int64(len(s.lengths)), Bytes: s.size, Digest: s.sum.String(),
		Files: []shardify.File{{Name: name, Bytes: int64(len(idx)), Digest: index.DigestOf(idx)}},
	}, nil
}

// Abort drops the pair.
func (s *sink) Abort() error {
	if s.err == nil {
		s.err = errDone
	}
	return s.file.Abort()
}
