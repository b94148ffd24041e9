package convert

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// fakeInput is one file of the fake source: n samples of eight bytes each.
type fakeInput struct {
	n   int64
	run uint32
}

// fakeSource invents x = hash(input, sample). Samples in bad are corrupt.
type fakeSource struct {
	inputs []fakeInput
	bad    map[[2]int64]error
	wrong  uint32 // input whose proof does not fit
	crc32c bool   // what proofs are made of
	reads  atomic.Int64
	onRead func(s shardify.Span)
}

func (f *fakeSource) Schema() []shardify.Field {
	return []shardify.Field{{Name: "x", DType: shardify.I64}}
}
func (f *fakeSource) Close() error { return nil }

func (f *fakeSource) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for i, in := range f.inputs {
			for lo := int64(0); lo < in.n; lo += 10 {
				hi := min(lo+10, in.n)
				if !yield(shardify.Span{Input: uint32(i), Run: in.run, Lo: lo, Hi: hi, Bytes: (hi - lo) * 8}, nil) {
					return
				}
			}
		}
	}
}

func (f *fakeSource) value(input uint32, sample int64) uint64 {
	return (uint64(input)<<40 + uint64(sample) + 1) * 0x9e3779b97f4a7c15
}

func (f *fakeSource) bytes(input uint32, lo, hi int64) []byte {
	b := make([]byte, 0, (hi-lo)*8)
	for i := lo; i < hi; i++ {
		b = binary.LittleEndian.AppendUint64(b, f.value(input, i))
	}
	return b
}

type fakeReader struct {
	f    *fakeSource
	run  uint32
	last int64
}

func (f *fakeSource) Reader(run uint32) (shardify.Reader, error) {
	return &fakeReader{f: f, run: run}, nil
}
func (r *fakeReader) Close() error { return nil }

func (r *fakeReader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	f := r.f
	f.reads.Add(1)
	if f.onRead != nil {
		f.onRead(s)
	}
	if s.Run != r.run {
		return nil, fmt.Errorf("span of run %d to a reader of run %d", s.Run, r.run)
	}
	if s.Run > 0 && s.Lo < r.last {
		return nil, fmt.Errorf("run %d read backwards: %d after %d", s.Run, s.Lo, r.last)
	}
	r.last = s.Hi
	for i := s.Lo; i < s.Hi; i++ {
		if err := f.bad[[2]int64{int64(s.Input), i}]; err != nil {
			return nil, err
		}
	}
	data := mem.Alloc(int(s.Hi-s.Lo) * 8)
	copy(data, f.bytes(s.Input, s.Lo, s.Hi))
	b := mem.Batch(1)
	b.Samples, b.First = int(s.Samples()), shardify.ID{Input: s.Input, Sample: s.Lo}
	b.Columns = append(b.Columns, shardify.Column{Field: f.Schema()[0], Data: data})
	n := f.inputs[s.Input].n
	sum := crc32.ChecksumIEEE
	if f.crc32c {
		sum = func(b []byte) uint32 { return index.CRC32C(0, b) }
	}
	want := sum(f.bytes(s.Input, 0, n))
	if f.wrong > 0 && s.Input == f.wrong {
		want++
	}
	b.Proofs = []shardify.Proof{{Input: s.Input, Lo: s.Lo * 8, Hi: s.Hi * 8, Sum: sum(data), Total: n * 8, Want: want, Castagnoli: f.crc32c}}
	return b, nil
}

// fakeFormat writes the values back to back.
var fakeFormat = format.Output{Name: "mmap", Ext: ".raw", New: func(s storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	p, err := s.Create(spec.Name)
	return &fakeSink{spec: spec, out: p}, err
}}

type fakeSink struct {
	spec format.ShardSpec
	out  storage.Pending
	n    int64
}

func (k *fakeSink) Write(b *shardify.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	k.n += int64(b.Samples)
	_, err := k.out.Write(b.Columns[0].Data)
	return err
}

func (k *fakeSink) Commit(ctx context.Context) (shardify.Shard, error) {
	if k.spec.Exact && k.n != k.spec.Samples {
		return shardify.Shard{}, fmt.Errorf("%d samples of %d", k.n, k.spec.Samples)
	}
	return shardify.Shard{Name: k.spec.Name, Samples: k.n, Bytes: k.n * 8, Digest: "xxh3:00000000000000000000000000000000"}, k.out.Commit(ctx)
}
func (k *fakeSink) Abort() error { return k.out.Abort() }
