package node

import (
	"encoding/base64"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify/internal/corpus"
)

func base64Of(p []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(p)) }

// mutate damages metadata and chunks of the corpus, SHARDIFY_MUTATIONS times.
func mutate(t *testing.T) {
	root := corpus.Dir(t, "zarr")
	n := 3000
	if s := os.Getenv("SHARDIFY_MUTATIONS"); s != "" {
		n, _ = strconv.Atoi(s)
	} else if testing.Short() {
		n = 300
	}
	type pair struct{ meta, chunk []byte }
	var pairs []pair
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
				pairs = append(pairs, pair{meta, chunk})
			}
			return fs.SkipAll
		})
		return nil
	})
	if len(pairs) == 0 {
		t.Fatal("no chunks")
	}
	r := rand.New(rand.NewPCG(1, 2))
	reached, parsed := 0, 0
	var s Scratch
	for range n {
		p := pairs[r.IntN(len(pairs))]
		meta, chunk := p.meta, p.chunk
		if r.IntN(4) == 0 {
			meta = damaged(r, meta)
		} else {
			chunk = damaged(r, chunk)
		}
		node, err := Parse3(meta)
		if err != nil {
			node, err = Parse2(meta, nil, nil)
		}
		if err != nil || node.Array == nil {
			continue
		}
		parsed++
		a := node.Array
		if a.Elements()*int64(max(a.Type.Size, 24)) > 1<<24 {
			continue
		}
		if a.Type.Varies() {
			err = a.Values(make([][]byte, a.Elements()), chunk, &s)
		} else {
			err = a.Decode(make([]byte, a.Elements()*int64(a.Type.Size)), chunk, &s)
		}
		if err == nil {
			reached++
		}
	}
	t.Logf("%d mutations: metadata read in %d, values in %d", n, parsed, reached)
	if parsed < n/2 || reached < n/10 {
		t.Errorf("of %d mutations the metadata were read in %d, values reached in %d", n, parsed, reached)
	}
}

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
