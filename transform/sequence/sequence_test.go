package sequence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/memory"
)

// slow is best fit of the longest first, as its definition says: every bin is looked at for every piece.
func slow(lens []int32, length int) (bins [][]int32) {
	type bin struct {
		room, since int
		pieces      []int32
	}
	order := make([]int32, len(lens))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(lens[b] - lens[a]) })
	var all []*bin
	for now, i := range order {
		var best *bin
		for _, b := range all {
			if b.room >= int(lens[i]) && (best == nil || b.room < best.room || b.room == best.room && b.since < best.since) {
				best = b
			}
		}
		if best == nil {
			best = &bin{room: length}
			all = append(all, best)
		}
		best.room, best.since = best.room-int(lens[i]), now
		best.pieces = append(best.pieces, i)
	}
	for _, b := range all {
		slices.Sort(b.pieces)
		bins = append(bins, b.pieces)
	}
	slices.SortFunc(bins, func(a, b []int32) int { return int(a[0] - b[0]) })
	return bins
}

// TestFitIsTheSlowOne: the same bins for lengths of many kinds, also when a fitter is used again.
func TestFitIsTheSlowOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, length := range []int{2, 3, 63, 64, 65, 512, 5000} {
		var f fitter
		for try := range 40 {
			lens := make([]int32, r.IntN(300))
			for i := range lens {
				lens[i] = 1 + r.Int32N(int32(length-1))
				if try%3 == 1 { // mostly short
					lens[i] = 1 + r.Int32N(1+lens[i]/4)
				}
			}
			want := slow(lens, length)
			var got [][]int32
			for k := range f.fit(lens, length) {
				got = append(got, slices.Clone(f.pieces(k)))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("length %d, pieces %d:\n%v\nwant\n%v", length, lens, got, want)
			}
		}
	}
}

// packed runs documents through a packing in batches of some size.
func packed(t *testing.T, s Spec, docs [][]uint16, batch int) (rows [][]uint16, lens [][]uint32, counts map[string]int64) {
	t.Helper()
	out := s.Schema(shardify.Field{Name: "t", DType: shardify.U16, Levels: 1})
	store, pool := memory.New(), shardify.NewPool(1<<30)
	p := s.New(out, store, pool, func(b *shardify.Batch, _ *shardify.Arena) error {
		if err := b.Match(out); err != nil {
			t.Fatal(err)
		}
		tokens, n := shardify.View[uint16](b.Columns[0].Data), shardify.View[uint32](b.Columns[1].Data)
		for i := range b.Samples {
			rows = append(rows, slices.Clone(tokens[i*s.Length:(i+1)*s.Length]))
			lens = append(lens, slices.Clone(n[b.Columns[1].Offsets[0][i]:b.Columns[1].Offsets[0][i+1]]))
		}
		return nil
	})
	defer p.Close()
	for lo := 0; lo < len(docs); lo += batch {
		some := docs[lo:min(lo+batch, len(docs))]
		b := &shardify.Batch{Samples: len(some), First: shardify.ID{Sample: int64(lo)}, Columns: []shardify.Column{{Offsets: [][]int64{{0}}}}}
		c := &b.Columns[0]
		for _, d := range some {
			for _, x := range d {
				c.Data = binary.LittleEndian.AppendUint16(c.Data, x)
			}
			c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)/2))
		}
		if err := p.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	counts = map[string]int64{}
	for _, c := range p.Counts() {
		counts[c.Name] = c.N
	}
	return rows, lens, counts
}

func documents(seed uint64, n, mean int) (docs [][]uint16) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range n {
		d := make([]uint16, int(r.ExpFloat64()*float64(mean)))
		for k := range d {
			d[k] = uint16(i*31 + k)
		}
		docs = append(docs, d)
	}
	return docs
}

// TestBestFitKeepsDocuments: each document that fits is in one sequence, whole; longer ones are
// cut where they must be, and nothing is lost. What is padding is not counted as a document.
func TestBestFitKeepsDocuments(t *testing.T) {
	for _, c := range []struct{ n, mean, length int }{{400, 60, 100}, {3, 10, 4}, {300, 500, 2048}, {1, 0, 8}} {
		docs := documents(7, c.n, c.mean)
		s := Spec{Field: "t", Length: c.length, Pad: 9}
		rows, lens, counts := packed(t, s, docs, 50)
		again, _, _ := packed(t, s, docs, 7)
		if fmt.Sprint(rows) != fmt.Sprint(again) {
			t.Fatal("other sequences in other batches")
		}
		var want, got []string
		long, tokens := 0, 0
		for _, d := range docs {
			tokens += len(d)
			if len(d) > c.length {
				long++
			}
			for ; len(d) > 0; d = d[min(len(d), c.length):] {
				want = append(want, fmt.Sprint(d[:min(len(d), c.length)]))
			}
		}
		padding := 0
		for i, row := range rows {
			for _, n := range lens[i] {
				got = append(got, fmt.Sprint(row[:n]))
				row = row[n:]
			}
			for _, x := range row {
				if x != 9 {
					t.Fatalf("padding is %d", x)
				}
			}
			padding += len(row)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: pieces of documents are not what they were", c)
		}
		for what, n := range map[string]int{"documents": c.n, "tokens": tokens, "tokens of padding": padding, "documents longer than a sequence, in several": long} {
			if counts["sequences t: "+what] != int64(n) {
				t.Errorf("%+v: %s: %d, want %d", c, what, counts["sequences t: "+what], n)
			}
		}
	}
}

// TestFill: documents of the lengths that texts have leave less than one token in a hundred empty.
func TestFill(t *testing.T) {
	rows, _, counts := packed(t, Spec{Field: "t", Length: 2048}, documents(1, 3000, 1500), 100)
	if all := int64(len(rows) * 2048); counts["sequences t: tokens of padding"]*100 > all {
		t.Errorf("%d of %d tokens are padding", counts["sequences t: tokens of padding"], all)
	}
}

// TestConcat: the sequences one after the other are the documents one after the other.
func TestConcat(t *testing.T) {
	docs := documents(5, 300, 40)
	want := slices.Concat(docs...)
	for _, drop := range []bool{false, true} {
		rows, lens, counts := packed(t, Spec{Field: "t", Length: 128, Concat: true, Drop: drop, Pad: 3}, docs, 11)
		rest := len(want) % 128
		if drop {
			if got := slices.Concat(rows...); !slices.Equal(got, want[:len(want)-rest]) || counts["sequences t: tokens of incomplete sequences, left out"] != int64(rest) {
				t.Errorf("%d tokens of %d, %v", len(got), len(want), counts)
			}
			continue
		}
		last := rows[len(rows)-1]
		if got := slices.Concat(rows...); !slices.Equal(got[:len(want)], want) || last[127] != 3 || counts["sequences t: tokens of padding"] != int64(128-rest) {
			t.Errorf("%d tokens of %d, %v", len(got), len(want), counts)
		}
		cut, at, ends := int64(0), 0, map[int]bool{}
		for _, l := range lens {
			for _, n := range l {
				at += int(n)
				ends[at] = true
			}
		}
		at = 0
		for _, d := range docs {
			if at/128 != (at+len(d)-1)/128 && len(d) > 0 {
				cut++
			}
			if at += len(d); !ends[at] && at > 0 {
				t.Fatalf("no document ends at %d", at)
			}
		}
		if counts["sequences t: documents cut where a sequence ends"] != cut {
			t.Errorf("%v: want %d cut", counts, cut)
		}
	}
}

// TestMoreThanIsKept: tokens beyond what stays in memory come back from the file.
func TestMoreThanIsKept(t *testing.T) {
	docs := documents(2, 2*Window/40, 900) // 6,500 documents, 12 MB
	rows, lens, _ := packed(t, Spec{Field: "t", Length: 4096}, docs, 1000)
	seen := 0
	first := map[uint16][]uint16{}
	for i, d := range docs {
		if len(d) > 0 && len(d) <= 4096 {
			first[uint16(i*31)] = d
		}
	}
	for i, row := range rows {
		for _, n := range lens[i] {
			if d := first[row[0]]; len(d) == int(n) && slices.Equal(d, row[:n]) {
				seen++
			}
			row = row[n:]
		}
	}
	if seen < len(first) {
		t.Errorf("%d documents of %d came back whole", seen, len(first))
	}
}

// TestPiecesHaveNames: a document of more pieces than identities can number is refused, not given
// the name of another piece.
func TestPiecesHaveNames(t *testing.T) {
	for _, concat := range []bool{false, true} {
		for _, n := range []int{maxPieces, maxPieces + 1} {
			s := Spec{Field: "t", Length: 2, Concat: concat}
			seen := map[shardify.ID]bool{}
			p := s.New(s.Schema(shardify.Field{Name: "t", DType: shardify.U8, Levels: 1}), memory.New(), shardify.NewPool(1<<30), func(b *shardify.Batch, _ *shardify.Arena) error {
				for i := range b.Samples {
					seen[b.ID(i)] = true
				}
				return nil
			})
			b := &shardify.Batch{Samples: 2, Columns: []shardify.Column{{Data: make([]byte, 1+2*n), Offsets: [][]int64{{0, 1, int64(1 + 2*n)}}}}}
			err := p.Add(b)
			if n > maxPieces {
				var e *shardify.Error
				if !errors.Is(err, shardify.ErrUnsupported) || !errors.As(err, &e) || e.Sample != 1 || e.Field != "t" {
					t.Errorf("%d pieces: %v", n, err)
				}
			} else if err = errors.Join(err, p.End()); err != nil || len(seen) != n+1 {
				t.Errorf("%d sequences of %d have names, %v", len(seen), n+1, err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestMemoryIsWhatIsTaken: buffers of the longest sequences are within what is announced.
func TestMemoryIsWhatIsTaken(t *testing.T) {
	for _, concat := range []bool{false, true} {
		s := Spec{Field: "t", Length: MaxLength, Concat: concat}
		pool := shardify.NewPool(1 << 30)
		out := s.Schema(shardify.Field{Name: "t", DType: shardify.I64, Levels: 1})
		taken := int64(0)
		var p *Packing
		p = s.New(out, memory.New(), pool, func(*shardify.Batch, *shardify.Arena) error {
			taken = max(taken, pool.Peak()+int64(cap(p.out.data)+cap(p.kept)+4*(cap(p.fit.head)+cap(p.fit.tail)+cap(p.fit.count))))
			return nil
		})
		b := &shardify.Batch{Samples: 2, Columns: []shardify.Column{{Data: make([]byte, 8*(2*MaxLength-2)), Offsets: [][]int64{{0, MaxLength - 1, 2*MaxLength - 2}}}}}
		if err := errors.Join(p.Add(b), p.End(), p.Close()); err != nil {
			t.Fatal(err)
		}
		if most := s.Memory(); taken == 0 || taken > most {
			t.Errorf("concat %v: %d bytes of %d", concat, taken, most)
		}
	}
}
