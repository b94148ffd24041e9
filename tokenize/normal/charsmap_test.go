package normal

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
)

// charsmapOf is a table with one entry: the bytes from, of which all but the last have no other continuation.
func charsmapOf(from string, to string) []byte {
	units := make([]uint32, 1024)
	units[0] = 256 << 10
	at := uint32(256)
	for i, c := range []byte(from) {
		next := at + 256
		if i == len(from)-1 {
			next = 768
		}
		pos := at ^ uint32(c)
		units[pos] = uint32(c) | (pos^next)<<10
		if i == len(from)-1 {
			units[pos] |= 1 << 8
			units[next] = 1 << 31
		}
		at = next
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return append(append(b, to...), 0)
}

// TestClustersGrowByALimit: one cluster of many marks, each of which becomes a long text.
func TestClustersGrowByALimit(t *testing.T) {
	m, err := NewCharsmap(charsmapOf("\u0301", strings.Repeat("a", 10_000)))
	if err != nil {
		t.Fatal(err)
	}
	if to, n := m.find([]byte("\u0301"), true); n != 2 || len(to) != 10_000 {
		t.Fatal(n, len(to))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Normalizer{Clusters{m, chars.ClusterTable()}}.Apply([]byte("a"+strings.Repeat("\u0301", 10_000)), new(Memory), MayGrow(20_001))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, shardify.ErrUnsupported) || n > 20<<20 {
		t.Errorf("%d bytes of memory, %v", n, err)
	}
}

// TestCharsmapWithoutEnd: a table whose entries lead to themselves makes each place of a text
// be read to its end.
func TestCharsmapWithoutEnd(t *testing.T) {
	b := charsmapOf("b", "c")
	binary.LittleEndian.PutUint32(b[4+4*(256^'a'):], 'a'|'a'<<10)
	m, err := NewCharsmap(b)
	if err != nil {
		t.Fatal(err)
	}
	n := NewSentencePiece(m, nil, " ", false, false, false)
	begun := time.Now()
	if _, err := n.Apply(nil, []byte(strings.Repeat("a", 200_000)), 1<<20); !errors.Is(err, shardify.ErrCorrupt) || time.Since(begun) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	if to, err := n.Apply(nil, []byte("aab"), 1<<10); string(to) != "c" || err != nil {
		t.Errorf("%q, %v", to, err)
	}
}
