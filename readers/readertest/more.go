package readertest

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// projection opens the source for single fields, as a user would by name.
func (s *suite) projection(t *testing.T) {
	asked := 0
	for i := range s.schema {
		name := s.schema[i].Name
		if shardify.Companion(s.schema, i) || asked == 8 {
			continue
		}
		asked++
		src := s.source(t, []string{name}, nil)
		got := ReadAll(t, src, s.small())
		if err := s.want.EqualField(got, name); err != nil {
			t.Error(err)
		}
		schema := src.Schema()
		for j := range schema {
			if schema[j].Name != name && !shardify.Companion(schema, j) {
				t.Errorf("asked for %s, got %s too", name, schema[j].Name)
			}
		}
		if got.Samples != s.total {
			t.Errorf("column %s alone has %d samples of %d", name, got.Samples, s.total)
		}
	}
}

func (s *suite) unknownColumn(t *testing.T) {
	if src, err := s.open([]string{"no such column"}, nil); err == nil {
		src.Close()
		t.Error("asked for a column that is not there: no error")
	}
}

// release holds two batches of one reader, releases the older, and reads on.
func (s *suite) release(t *testing.T) {
	src := s.source(t, nil, nil)
	spans := Spans(t, src, s.small())
	want := perSpan(t, src, spans)
	pool := shardify.NewPool(1 << 40)
	ctx := context.Background()
	var r shardify.Reader
	var prev *shardify.Arena
	for i, sp := range spans {
		var err error
		if i == 0 || sp.Run != spans[i-1].Run {
			if r != nil {
				r.Close()
			}
			if r, err = src.Reader(sp.Run); err != nil {
				t.Fatal(err)
			}
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(ctx, sp, mem)
		if err != nil {
			t.Fatal(err)
		}
		if prev != nil {
			prev.Release()
		}
		prev = mem
		c := NewContent()
		c.Add(b, 0, b.Samples)
		if err := want[sp].Equal(c); err != nil {
			t.Errorf("%+v after the release of the span before: %v", sp, err)
		}
	}
	r.Close()
	prev.Release()
}

// littleMemory reads with no memory to keep anything in, and asks for what was held when
// the readers are closed.
func (s *suite) littleMemory(t *testing.T) {
	src := s.source(t, nil, nil)
	spans := Spans(t, src, s.small())
	want := perSpan(t, src, spans)
	pool, i := shardify.NewPool(400), 0
	err := eachIn(pool, src, spans, func(b *shardify.Batch) {
		c := NewContent()
		c.Add(b, 0, b.Samples)
		if err := want[spans[i]].Equal(c); err != nil {
			t.Errorf("%+v with little memory: %v", spans[i], err)
		}
		i++
	})
	if err != nil {
		t.Fatal(err)
	}
	var s0 shardify.Scratch
	defer s0.Close()
	mem, err := pool.Grant(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Release()
	if s0.Hold(context.Background(), mem, 0); s0.Share() != pool.Limit()/4 {
		t.Error("closed readers still count")
	}
}

// checksums checks that the CRC-32 parts of each object cover it once and join to
// the sum that the input stores.
func (s *suite) checksums(t *testing.T) {
	src := s.source(t, nil, nil)
	for _, target := range s.targets() {
		var all []shardify.Proof
		Each(t, src, Spans(t, src, target), func(b *shardify.Batch) { all = append(all, b.Proofs...) })
		if err := JoinProofs(all); err != nil {
			t.Errorf("target %d: %v", target, err)
		}
		for _, p := range all {
			if n, ok := src.(format.ObjectNamer); ok {
				if file, name := n.ObjectName(p.Input, p.Object); file == "" && name == "" {
					t.Errorf("input %d object %d has no name", p.Input, p.Object)
				}
			}
		}
	}
}

// pieceBytes is the size of the pieces of a digest of pieces.
const pieceBytes = 256 << 10

// JoinProofs reports whether the parts of each object cover it without gaps and
// its CRC-32, or its digest of pieces, is the wanted one.
func JoinProofs(proofs []shardify.Proof) error {
	all := slices.Clone(proofs)
	slices.SortFunc(all, func(a, b shardify.Proof) int {
		return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Lo, b.Lo))
	})
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Input == all[0].Input && all[n].Object == all[0].Object {
			n++
		}
		if err := joinObject(all[:n]); err != nil {
			return fmt.Errorf("input %d object %d: %w", all[0].Input, all[0].Object, err)
		}
		all = all[n:]
	}
	return nil
}

func joinObject(parts []shardify.Proof) error {
	var at int64
	var sum uint32
	var pieces []byte
	for _, p := range parts {
		if p.Lo != at || p.Hi <= p.Lo || p.Total != parts[0].Total || p.Want != parts[0].Want {
			return fmt.Errorf("part %+v does not follow byte %d", p, at)
		}
		if p.Digest != parts[0].Digest || p.Digest != "" && int64(len(p.Pieces)) != (p.Hi-p.Lo+pieceBytes-1)/pieceBytes*16 {
			return fmt.Errorf("part %+v has no sums of the pieces of %s", p, parts[0].Digest)
		}
		pieces = append(pieces, p.Pieces...)
		poly := uint32(crc32.IEEE)
		if p.Castagnoli {
			poly = crc32.Castagnoli
		}
		sum = joinCRC(poly, sum, p.Sum, p.Hi-p.Lo)
		at = p.Hi
	}
	if want := parts[0].Digest; want != "" {
		sum := xxh3.Hash128(pieces)
		if got := fmt.Sprintf("xxh3p:%016x%016x", sum.Hi, sum.Lo); at != parts[0].Total || got != want {
			return fmt.Errorf("%d of %d bytes have %s, want %s: %w", at, parts[0].Total, got, want, shardify.ErrCorrupt)
		}
		return nil
	}
	if at != parts[0].Total || sum != parts[0].Want {
		return fmt.Errorf("%d of %d bytes have crc32 %08x, want %08x: %w", at, parts[0].Total, sum, parts[0].Want, shardify.ErrCorrupt)
	}
	return nil
}

// joinCRC is the CRC-32 of two neighbours, given theirs and the length of the
// second: a is multiplied by x^(8n) modulo the polynomial.
func joinCRC(poly, a, b uint32, n int64) uint32 {
	power := uint32(0x00800000) // x^8, bits reversed
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			a = mulCRC(poly, power, a)
		}
		power = mulCRC(poly, power, power)
	}
	return a ^ b
}

func mulCRC(poly, a, b uint32) (p uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			p ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ poly
		} else {
			b >>= 1
		}
	}
	return p
}

func (s *suite) cancelled(t *testing.T) {
	src := s.source(t, nil, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var failed bool
	var n int64
	for sp, err := range src.Spans(ctx, s.small()) {
		if err != nil {
			failed = true
			break
		}
		n += sp.Samples()
	}
	if !failed {
		t.Errorf("Spans of a cancelled context: %d of %d samples and no error", n, s.total)
	}
	pool := shardify.NewPool(1 << 40)
	for _, sp := range Spans(t, src, s.small()) {
		r, err := src.Reader(sp.Run)
		if err != nil {
			t.Fatal(err)
		}
		mem, _ := pool.Grant(context.Background(), sp.Bytes)
		if b, err := r.Read(ctx, sp, mem); err == nil || b != nil {
			t.Errorf("Read with a cancelled context: batch %v, error %v", b != nil, err)
		}
		mem.Release()
		r.Close()
	}
}

func (s *suite) wrongSpans(t *testing.T) {
	src := s.source(t, nil, nil)
	spans := Spans(t, src, s.small())
	sp := spans[0]
	end := s.ends[sp.Input]
	pool := shardify.NewPool(1 << 40)
	for _, w := range []shardify.Span{
		{Input: sp.Input, Run: sp.Run, Lo: -1, Hi: 1},
		{Input: sp.Input, Run: sp.Run, Lo: 0, Hi: end + 1},
		{Input: sp.Input, Run: sp.Run, Lo: end, Hi: end + 1},
		{Input: sp.Input, Run: sp.Run, Lo: end, Hi: end - 1},
		{Input: sp.Input, Run: sp.Run, Lo: 0, Hi: math.MaxInt64},
		{Input: sp.Input, Run: sp.Run, Lo: math.MinInt64, Hi: math.MaxInt64},
		{Input: sp.Input, Run: sp.Run, Lo: math.MaxInt64 - 1, Hi: math.MaxInt64},
		{Input: math.MaxUint32, Run: sp.Run, Lo: 0, Hi: 1},
		{Input: sp.Input, Run: sp.Run + 7777, Lo: 0, Hi: 1},
	} {
		r, err := src.Reader(w.Run)
		if err != nil {
			continue
		}
		mem, _ := pool.Grant(context.Background(), 1<<20)
		if b, err := r.Read(context.Background(), w, mem); err == nil || b != nil {
			t.Errorf("span %+v of an input of %d samples: batch %v, error %v", w, end, b != nil, err)
		}
		mem.Release()
		r.Close()
	}
}

func (s *suite) closeTwice(t *testing.T) {
	src := s.source(t, nil, nil)
	sp := Spans(t, src, s.small())[0]
	unused, err := src.Reader(sp.Run)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(sp.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := readOne(src, r, sp, shardify.NewPool(1<<40), func(*shardify.Batch) {}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, c := range []interface{ Close() error }{r, unused} {
			if err := c.Close(); err != nil {
				t.Errorf("close reader: %v", err)
			}
		}
	}
	for range 2 {
		if err := src.Close(); err != nil {
			t.Errorf("close source: %v", err)
		}
	}
}

func (s *suite) state(t *testing.T) {
	src := s.source(t, nil, nil)
	st, ok := src.(format.Stater)
	if !ok {
		t.Skip("the source keeps no state")
	}
	state, err := st.State()
	if err != nil {
		t.Fatal(err)
	}
	again, err := st.State()
	if err != nil || !slices.Equal(state, again) {
		t.Errorf("a second State differs (error %v)", err)
	}
	re := s.source(t, nil, state)
	if !slices.EqualFunc(src.Schema(), re.Schema(), func(a, b shardify.Field) bool { return sameField(&a, &b) == nil }) {
		t.Errorf("schema from state is %+v, want %+v", re.Schema(), src.Schema())
	}
	for _, target := range s.targets() {
		if a, b := Spans(t, src, target), Spans(t, re, target); !slices.Equal(a, b) {
			t.Errorf("target %d: other spans from state", target)
		}
	}
	if err := s.want.Equal(ReadAll(t, re, s.small())); err != nil {
		t.Errorf("data from state: %v", err)
	}
	if again, err := re.(format.Stater).State(); err != nil || !slices.Equal(state, again) {
		t.Errorf("state of the reopened source differs (error %v)", err)
	}
	for _, bad := range [][]byte{{0}, state[:len(state)/2], state[:len(state)-1], append(slices.Clone(state), 0)} {
		if src, err := s.open(nil, bad); err == nil {
			src.Close()
			t.Errorf("a state of %d bytes cut to %d opens", len(state), len(bad))
		}
	}
}
