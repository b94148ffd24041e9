package megatron

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/index/megatron/megatrontest"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(sample string, columns []string, state []byte, files ...string) (shardify.Source, error) {
	table := &format.Table{Roots: files}
	for i, f := range files {
		st, err := storages.Files.Stat(context.Background(), f)
		if err != nil {
			return nil, err
		}
		table.Append(i, "", st.Size, 0)
	}
	return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state, Options: format.Options{"sample": sample}, Jobs: 2})
}

func TestConformance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	var files []string
	for i := range 3 {
		bin, idx := megatrontest.Pair(shardify.U16, megatrontest.Documents(rng, 60+i), true)
		files = append(files, megatrontest.Write(t, dir, fmt.Sprint(i), bin, idx))
	}
	for _, sample := range []string{byDocument, bySequence} {
		t.Run(sample, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return openFiles(sample, columns, state, files...)
			})
		})
	}
}

// TestValues compares every token of each type with what was written, by documents and by
// sequences.
func TestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range []shardify.DType{shardify.U8, shardify.I8, shardify.I16, shardify.I32, shardify.I64, shardify.F64, shardify.F32, shardify.U16} {
		docs := megatrontest.Documents(rng, 5000)
		bin, idx := megatrontest.Pair(d, docs, false)
		file := megatrontest.Write(t, t.TempDir(), "a", bin, idx)
		for _, sample := range []string{byDocument, bySequence} {
			var want [][]byte
			at := 0
			for _, doc := range docs {
				whole := []byte{}
				for _, seq := range doc {
					b := bin[at : at+len(seq)*d.Size()]
					at += len(b)
					if whole = append(whole, b...); sample == bySequence {
						want = append(want, b)
					}
				}
				if sample == byDocument {
					want = append(want, whole)
				}
			}
			src, err := openFiles(sample, nil, nil, file)
			if err != nil {
				t.Fatal(err)
			}
			k := 0
			readertest.Each(t, src, readertest.Spans(t, src, 10_000), func(b *shardify.Batch) {
				c := &b.Columns[0]
				for i := range b.Samples {
					if lo, hi := c.Range(i, i+1); c.Name != "tokens" || c.DType != d || !bytes.Equal(c.Data[lo:hi], want[k]) {
						t.Fatalf("%s %s %d: %x, want %x", d, sample, k, c.Data[lo:hi], want[k])
					}
					k++
				}
			})
			if k != len(want) {
				t.Fatalf("%d samples, want %d", k, len(want))
			}
			src.Close()
		}
	}
}

func put(b []byte, at int, v uint64, n int) []byte {
	c := bytes.Clone(b)
	copy(c[at:], binary.LittleEndian.AppendUint64(nil, v)[:n])
	return c
}

func TestDamageIsNamed(t *testing.T) {
	race.Sequential(t)
	docs := megatrontest.Corpus{{{11, 12, 13}}, {{21, 22}, {23}}, {}, {{31}}}
	bin, idx := megatrontest.Pair(shardify.U16, docs, false)
	const s = 4 // sequences
	appended := bytes.Clone(bin)
	for range docs {
		appended = append(appended, 0, 0)
	}
	for _, c := range []struct {
		name, want string
		bin, idx   []byte
	}{
		{"cut index", "take", bin, idx[:len(idx)-1]},
		{"cut head", "ends in its head", bin, idx[:20]},
		{"version", "version 2", bin, put(idx, 9, 2, 8)},
		{"type", "type 9 of tokens", bin, put(idx, 17, 9, 1)},
		{"sequences", "sequences", bin, put(idx, 18, 1<<60, 8)},
		{"documents", "documents", bin, put(idx, 26, 1<<63, 8)},
		{"old kind", "TNTIDX", bin, append([]byte("TNTIDX\x00\x00"), idx[8:]...)},
		{"negative length", "-1 tokens", bin, put(idx, 34, 1<<64-1, 4)},
		{"long length", "sequence", bin, put(idx, 34, 1<<31-1, 4)},
		{"place", "begins at byte 8", bin, put(idx, 34+4*s+8, 8, 8)},
		{"first document", "document 0 of 4 begins", bin, put(idx, 34+12*s, 1, 8)},
		{"falling documents", "document 2 of 4 begins", bin, put(idx, 34+12*s+8, 4, 8)},
		{"last document", "document 4 of 4 begins", bin, put(idx, 34+12*s+32, 3, 8)},
		{"cut data", "the data have", bin[:len(bin)-2], idx},
		{"more data", "the data have", append(bytes.Clone(bin), 1, 2), idx},
		{"BlendCorpus", "--append-eod does not count them", appended, idx},
	} {
		file := megatrontest.Write(t, t.TempDir(), "a", c.bin, c.idx)
		_, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return openFiles(byDocument, nil, nil, file) }, 1<<20, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "a.idx") || !isKind(err) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	file := megatrontest.Write(t, t.TempDir(), "a", bin, idx)
	if err := os.Remove(megatron.Data(file)); err != nil {
		t.Fatal(err)
	}
	if _, err := openFiles(byDocument, nil, nil, file); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "no a.bin beside it") {
		t.Errorf("without tokens: %v", err)
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

// TestMutations damages pairs. What is read without an error has as many tokens as the data.
func TestMutations(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(5, 6))
	bin, good := megatrontest.Pair(shardify.I32, megatrontest.Documents(rng, 40), true)
	m := readertest.Mutants{Format: "megatron", Quick: 2000, Seeds: 1, Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		idx := bytes.Clone(good)
		for range 1 + rng.IntN(2) {
			at := rng.IntN(len(idx))
			switch rng.IntN(4) {
			case 0:
				idx[at] ^= 1 << rng.IntN(8)
			case 1:
				idx = idx[:at+1]
			default:
				v := readertest.Interesting[rng.IntN(len(readertest.Interesting))]
				copy(idx[at:], binary.LittleEndian.AppendUint64(nil, v)[:1+rng.IntN(8)])
			}
		}
		return readertest.Mutant{Seed: "a.idx", Data: idx, Read: func(name string) (readertest.Walked, error) {
			if err := os.WriteFile(megatron.Data(name), bin, 0o666); err != nil {
				return readertest.Walked{}, err
			}
			tokens := 0
			w, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return openFiles(byDocument, nil, nil, name) }, 100, func(b *shardify.Batch) {
				tokens += len(b.Columns[0].Data)
			})
			if w.Whole && err == nil && tokens != len(bin) {
				return w, fmt.Errorf("%d bytes of tokens, want %d", tokens, len(bin))
			}
			return w, err
		}}
	}}
	m.Run(t)
}
