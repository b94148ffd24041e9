// Package megatrontest makes pairs of Megatron-LM for tests, as that program writes them.
package megatrontest

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/megatron"
)

// Corpus is documents of sequences of tokens.
type Corpus [][][]uint64

// Pair is a pair as Megatron-LM writes it, field by field.
func Pair(d shardify.DType, docs Corpus, modes bool) (bin, idx []byte) {
	var lengths, places, ends, mode []byte
	sequences := uint64(0)
	ends = binary.LittleEndian.AppendUint64(ends, 0)
	for _, doc := range docs {
		for _, seq := range doc {
			lengths = binary.LittleEndian.AppendUint32(lengths, uint32(len(seq)))
			places = binary.LittleEndian.AppendUint64(places, uint64(len(bin)))
			mode = append(mode, byte(len(seq)%3))
			for _, v := range seq {
				bin = append(bin, binary.LittleEndian.AppendUint64(nil, v)[:d.Size()]...)
			}
			sequences++
		}
		ends = binary.LittleEndian.AppendUint64(ends, sequences)
	}
	idx = append([]byte("MMIDIDX\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"), megatron.TypeCode(d))
	idx = binary.LittleEndian.AppendUint64(idx, sequences)
	idx = binary.LittleEndian.AppendUint64(idx, uint64(len(docs))+1)
	idx = slices.Concat(idx, lengths, places, ends)
	if modes {
		idx = append(idx, mode...)
	}
	return bin, idx
}

// Documents are documents, with empty ones and empty sequences among them.
func Documents(rng *rand.Rand, n int) (docs Corpus) {
	for range n {
		doc := make([][]uint64, rng.IntN(4))
		for i := range doc {
			doc[i] = make([]uint64, rng.IntN(9))
			for k := range doc[i] {
				doc[i][k] = rng.Uint64() >> 49
			}
		}
		docs = append(docs, doc)
	}
	return docs
}

// Write writes a pair into a folder, and returns the name of its index.
func Write(t testing.TB, dir, stem string, bin, idx []byte) string {
	t.Helper()
	name := filepath.Join(dir, stem+megatron.IndexExt)
	for n, b := range map[string][]byte{name: idx, filepath.Join(dir, stem+megatron.DataExt): bin} {
		if err := os.WriteFile(n, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return name
}
