// Package synth invents data from a seed: any schema, any number of samples, the
// same on every machine. Tests, benchmarks and the demo read it like any other
// format; it needs no files.
//
// A value depends on the seed, the field's name, the number of the sample, and
// its place in the sample: not on spans, on other fields, or on the number of
// samples.
//
// The schema is a list of fields, each NAME:TYPE with further marks in this
// order:
//
//	x:f32            a scalar (bool i8 .. u64 f16 bf16 f32 f64)
//	x:f32[64,7]      an array
//	hits:f32*        0 to 7 of them; hits:f32*20[3] 0 to 20 vectors of 3
//	pt:f32*20@Jet    as many as all fields @Jet
//	trk:f32**        lists of lists
//	img:jpg          0 to 255 opaque bytes; img:jpg*9000 up to 9000 of them
//	words:txt**      lists of texts
//	x:f32?           missing in some samples
//
// txt is UTF-8 and json is JSON; other opaque bytes only look random.
package synth

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Format is the line of the readers' table.
var Format = format.Input{
	Name:    "synth",
	Help:    "data invented from a seed, for tests and benchmarks; needs no input",
	Invents: true,
	Options: options,
	Open:    open,
}

// The names of the options.
const (
	optSamples = "samples"
	optSeed    = "synth-seed"
	optSchema  = "schema"
	optRun     = "run-samples"
	optKeys    = "keyed"
)

var options = []format.Option{
	{Name: optSamples, Idle: format.Always, Kind: format.KindInt, Default: "1000", Help: "how many samples to invent"},
	{Name: optSeed, Idle: format.Always, Kind: format.KindInt, Default: "0", Help: "seed of the values"},
	{Name: optSchema, Idle: format.Always, Kind: format.KindString, Default: "x:f32[64,7],y:i64,jets:f32*[4]", Help: "fields as NAME:TYPE, as in x:f32[64,7],y:i64,jets:f32*[4],img:jpg"},
	{Name: optRun, Idle: format.Always, Kind: format.KindInt, Default: "0", Help: "samples per run, to be read in order; 0 means independent spans"},
	{Name: optKeys, Idle: format.Always, Kind: format.KindBool, Default: "false", Help: "give the samples names of their own"},
}

type source struct {
	samples int64
	seed    uint64
	run     int64 // samples per run, or 0
	keyed   bool
	fields  []field
	schema  []shardify.Field
}

func open(_ context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{samples: o.Int(optSamples), seed: uint64(o.Int(optSeed)), run: o.Int(optRun), keyed: o.Bool(optKeys)}
	if s.samples < 0 || s.run < 0 || s.runs() > math.MaxUint32-1 {
		return nil, shardify.Mismatch("%d samples in runs of %d", s.samples, s.run)
	}
	all, err := parse(o[optSchema])
	if err != nil {
		return nil, err
	}
	if a.State != nil {
		if err := s.fits(a.State, o); err != nil {
			return nil, err
		}
	}
	if s.fields, err = project(all, a.Columns); err != nil {
		return nil, err
	}
	for i := range s.fields {
		f := &s.fields[i]
		f.seed = mix(s.seed + text(f.Name))
		f.lengths = mix(s.seed + text(f.CounterName()) + 1)
		s.schema = append(s.schema, f.Field)
	}
	return s, shardify.ValidateSchema(s.schema)
}

func (s *source) Schema() []shardify.Field { return s.schema }

// runs is how many runs there are; 0 without runs.
func (s *source) runs() int64 {
	if s.run == 0 {
		return 0
	}
	return (s.samples + s.run - 1) / s.run
}

// runOf is the run of a sample.
func (s *source) runOf(k int64) uint32 {
	if s.run == 0 {
		return 0
	}
	return uint32(k/s.run) + 1
}

// Spans cuts at target bytes and at the ends of runs.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		if n := s.fixedBytes(); n > 0 && s.run == 0 {
			s.evenSpans(ctx, max(1, target/n), n, yield)
			return
		}
		var span shardify.Span
		for k := range s.samples {
			if k&1023 == 0 && ctx.Err() != nil {
				yield(shardify.Span{}, context.Cause(ctx))
				return
			}
			n := s.sampleBytes(k)
			if span.Hi > span.Lo && (span.Bytes+n > target || s.runOf(k) != span.Run) {
				if !yield(span, nil) {
					return
				}
				span = shardify.Span{}
			}
			if span.Hi == span.Lo {
				span = shardify.Span{Lo: k, Hi: k, Run: s.runOf(k)}
			}
			span.Hi++
			span.Bytes += n
		}
		if span.Hi > span.Lo {
			yield(span, nil)
		} else if err := ctx.Err(); err != nil {
			yield(shardify.Span{}, context.Cause(ctx))
		}
	}
}

// fixedBytes is what every sample takes, 0 if that varies: a thousand million
// samples are then cut without a look at each.
func (s *source) fixedBytes() int64 {
	for i := range s.fields {
		if s.fields[i].Levels > 0 {
			return 0
		}
	}
	return s.sampleBytes(0)
}

func (s *source) evenSpans(ctx context.Context, samples, bytes int64, yield func(shardify.Span, error) bool) {
	for lo := int64(0); lo < s.samples; lo += samples {
		if ctx.Err() != nil {
			yield(shardify.Span{}, context.Cause(ctx))
			return
		}
		hi := lo + min(samples, s.samples-lo)
		if !yield(shardify.Span{Lo: lo, Hi: hi, Bytes: (hi - lo) * bytes}, nil) {
			return
		}
		if hi == s.samples {
			return
		}
	}
}

// sampleBytes is what sample k takes in a batch.
func (s *source) sampleBytes(k int64) int64 {
	n := int64(0)
	for i := range s.fields {
		f := &s.fields[i]
		lists, elements := f.shape(k)
		n += elements * int64(f.ElemBytes())
		if f.Levels > 0 {
			n += 8
		}
		if f.Levels > 1 {
			n += 8 * lists
		}
		if f.Nullable {
			n++
		}
	}
	if s.keyed {
		n += keyBytes + 8
	}
	return n
}

// Keyed reports whether samples have names.
func (s *source) Keyed() bool { return s.keyed }

// keyBytes is the length of a key: s and twelve digits.
const keyBytes = 13

// CheckKeys tries the first and the last name; all others are alike.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	if !s.keyed || s.samples == 0 || check == nil {
		return nil
	}
	for _, k := range []int64{0, s.samples - 1} {
		if err := check(appendKey(nil, k)); err != nil {
			return err
		}
	}
	return nil
}

func appendKey(dst []byte, k int64) []byte { return fmt.Appendf(dst, "s%012d", k) }

// State is the settings: nothing to find out.
func (s *source) State() ([]byte, error) {
	return fmt.Appendf(nil, "synth %d %d %d", s.samples, s.seed, s.run), nil
}

func (s *source) fits(state []byte, o format.Options) error {
	if want, _ := s.State(); string(state) != string(want) {
		return shardify.Corrupt(-1, "state %.80q for settings %v", state, o)
	}
	return nil
}

func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if int64(run) > s.runs() || (s.run > 0) != (run > 0) {
		return nil, fmt.Errorf("synth has no run %d", run)
	}
	return &reader{s: s, run: run}, nil
}

func (s *source) Close() error { return nil }

// mix is a bijection that turns neighbouring numbers into unrelated ones
// (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// text is a number for a name (FNV-1a).
func text(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// below turns a random number into one of 0..n.
func below(x uint64, n int64) int64 {
	hi, _ := bits.Mul64(x, uint64(n)+1)
	return int64(hi)
}
