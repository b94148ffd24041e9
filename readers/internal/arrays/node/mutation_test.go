package node

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/crc32c"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
)

func base64Of(p []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(p)) }

// specimen is a chunk and the metadata of its array.
type specimen struct {
	meta, chunk []byte
	shard       *shard // that the chunk is
}

// specimens are those of the corpus whose chunks are small.
func specimens(t *testing.T) (list []specimen) {
	filepath.WalkDir(corpus.Dir(t, "zarr"), func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || name != "zarr.json" && name != ".zarray" {
			return nil
		}
		meta, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		filepath.WalkDir(filepath.Dir(path), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(filepath.Base(path), ".") || strings.HasSuffix(path, ".json") {
				return nil
			}
			if chunk, err := os.ReadFile(path); err == nil && len(chunk) < 1<<16 {
				x := specimen{meta: meta, chunk: chunk}
				if node, err := Parse3(meta); err == nil && node.Array != nil {
					x.shard = node.Array.chain.shard
					if x.shard != nil && x.shard.indexSize() > int64(len(chunk)) {
						x.shard = nil
					}
				}
				list = append(list, x)
			}
			return fs.SkipAll
		})
		return nil
	})
	return list
}

// kinds of what is damaged.
const (
	metadata = iota
	chunks
	indexes
	kinds
)

// mutate damages metadata, chunks and the indexes of shards of the corpus, a third each.
func mutate(t *testing.T) {
	n := readertest.Mutations(t, 3000)
	all := specimens(t)
	var shards []specimen
	for _, x := range all {
		if x.shard != nil {
			shards = append(shards, x)
		}
	}
	if len(all) == 0 || len(shards) == 0 {
		t.Fatalf("%d chunks, %d shards", len(all), len(shards))
	}
	var made, parsed, reached [kinds]int
	var s Scratch
	const most = 512 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(most / 2)) // what is in use counts, not what waits to be collected
	w := readertest.Watch{Limit: 20 * time.Second, Memory: most}
	defer w.Start()()
	for i := range n {
		kind := i % kinds
		r := rand.New(rand.NewPCG(1, uint64(i)))
		x := all[r.IntN(len(all))]
		switch kind {
		case metadata:
			x.meta = damagedText(r, x.meta)
		case chunks:
			x.chunk = damaged(r, x.chunk)
		case indexes:
			x = shards[r.IntN(len(shards))]
			x.chunk = x.shard.damagedIndex(r, x.chunk)
		}
		made[kind]++
		func() {
			w.Begin(uint64(i))
			defer w.Judge(t, uint64(i), "chunk", x.chunk, fmt.Sprintf("zarr-node-mutation-%d", i))
			ok, err := decoded(&x, &s)
			if ok {
				parsed[kind]++
				if err == nil {
					reached[kind]++
				}
			}
			if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) {
				t.Errorf("mutation %d: error of no kind: %v", i, err)
			}
		}()
		if t.Failed() {
			return
		}
	}
	t.Logf("mutations of metadata, chunks, indexes of shards: %v; metadata read in %v, values in %v; 0 panics, 0 hangs, heap at most %s", made, parsed, reached, shardify.FormatSize(w.Heap()))
	for kind := range kinds {
		if parsed[kind] < made[kind]/8 || reached[kind] < made[kind]/40 {
			t.Errorf("kind %d: of %d mutations the metadata were read in %d, values reached in %d", kind, made[kind], parsed[kind], reached[kind])
		}
	}
}

// decoded reads a chunk. It is false if the metadata cannot be read, or are of a large array.
func decoded(x *specimen, s *Scratch) (bool, error) {
	node, err := Parse3(x.meta)
	if err != nil {
		node, err = Parse2(x.meta, nil, nil)
	}
	if err != nil || node.Array == nil {
		return false, err
	}
	a := node.Array
	if a.elements*int64(max(a.Type.Size, 24)) > 1<<24 {
		return true, nil
	}
	if a.Type.Varies() {
		return true, a.values(make([][]byte, a.elements), x.chunk, s)
	}
	return true, a.decode(make([]byte, a.elements*int64(a.Type.Size)), x.chunk, s)
}

// damagedIndex damages entries of the index, whose checksum mostly fits them.
func (s *shard) damagedIndex(r *rand.Rand, p []byte) []byte {
	p = append([]byte(nil), p...)
	at, _ := s.at(int64(len(p)))
	index := p[at : at+s.indexSize()]
	var order binary.ByteOrder = binary.LittleEndian
	if s.big {
		order = binary.BigEndian
	}
	for range 1 + r.IntN(2) {
		half := index[8*r.Int64N(2*s.count):]
		v := order.Uint64(half)
		switch r.IntN(5) {
		case 0:
			v ^= 1 << r.IntN(64)
		case 1:
			v = readertest.Interesting[r.IntN(len(readertest.Interesting))]
		case 2:
			v += uint64(r.IntN(9)) - 4
		case 3: // another's
			v = order.Uint64(index[8*r.Int64N(2*s.count):])
		default:
			v = uint64(at) + uint64(r.IntN(17)) - 8
		}
		order.PutUint64(half, v)
	}
	if s.crc && r.IntN(16) > 0 {
		binary.LittleEndian.PutUint32(index[16*s.count:], crc32c.Update(0, index[:16*s.count]))
	}
	return p
}

// number is a number in JSON.
var number = regexp.MustCompile(`[0-9]+`)

// damagedText mostly stays JSON: other numbers, other words of the same file, and now and then
// other bytes.
func damagedText(r *rand.Rand, p []byte) []byte {
	for range 1 + r.IntN(3) {
		find := number
		switch r.IntN(8) {
		case 0:
			p = damaged(r, p)
			continue
		case 1, 2:
			find = word
		}
		all := find.FindAllIndex(p, -1)
		if len(all) == 0 {
			continue
		}
		at, other := all[r.IntN(len(all))], all[r.IntN(len(all))]
		put := p[other[0]:other[1]]
		if find == number {
			switch r.IntN(4) {
			case 0:
				put = strconv.AppendUint(nil, readertest.Interesting[r.IntN(len(readertest.Interesting))], 10)
			case 1:
				put = strconv.AppendUint(nil, r.Uint64N(64), 10)
			}
		}
		p = slices.Concat(p[:at[0]], put, p[at[1]:])
	}
	return p
}

// word is a string or a short list in JSON.
var word = regexp.MustCompile(`"[^"]*"|\[[^\[\]{}]*\]|null|true|false`)

func damaged(r *rand.Rand, p []byte) []byte {
	p = append([]byte(nil), p...)
	for range 1 + r.IntN(3) {
		if len(p) == 0 {
			break
		}
		switch i := r.IntN(len(p)); r.IntN(4) {
		case 0:
			p[i] ^= 1 << r.IntN(8)
		case 1:
			p[i] = byte(r.Uint32())
		case 2:
			p = p[:i]
		default:
			p = append(p[:i:i], append([]byte{byte(r.Uint32())}, p[i:]...)...)
		}
	}
	return p
}
