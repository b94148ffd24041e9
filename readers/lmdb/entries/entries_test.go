package entries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/lmdb/mdb"
	"github.com/shardify/shardify/tests/corpus"
)

func look(t testing.TB, name string) (*Plan, *mdb.File) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpus.Dir(t, "lmdb"), name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := mdb.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Look(context.Background(), f, "", 16, func(_, _ []byte) error { return nil })
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p, f
}

// TestOrder: numbers of samples, the order and the entries that are no samples are those that generate.py of the corpus says.
func TestOrder(t *testing.T) {
	for _, name := range []string{"index.lmdb", "images.lmdb", "keys_pickle.lmdb", "padded.lmdb", "floats.lmdb"} {
		p, _ := look(t, name)
		text, err := os.ReadFile(filepath.Join(corpus.Dir(t, "lmdb"), name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want := struct {
			Samples, Entries int64
			Order            string
			Skipped          []string
		}{}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if want.Samples == 0 {
			want.Samples = want.Entries
		}
		if want.Order != "numeric" && want.Order != "" {
			want.Order = tree
		}
		var left []string
		for _, l := range p.Left {
			left = append(left, l.Name)
		}
		slices.Sort(want.Skipped)
		slices.Sort(left)
		if p.Samples() != want.Samples || want.Order != "" && p.Order != want.Order || !slices.Equal(left, want.Skipped) {
			t.Errorf("%s: %d samples in order %s without %v; want %+v", name, p.Samples(), p.Order, left, want)
		}
	}
}

// TestPlansComeBack: a plan is the same behind its bytes, and finds the same entries from any sample on; damaged bytes
// are an error, or a plan that finds none outside of the database.
func TestPlansComeBack(t *testing.T) {
	defer func(n int64) { pieceBytes = n }(pieceBytes)
	pieceBytes = 100
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"index.lmdb", "images.lmdb", "padded.lmdb"} {
		p, f := look(t, name)
		b, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.Bytes, p.Left, p.Remark = back.Bytes, back.Left, back.Remark
		if !reflect.DeepEqual(p, back) {
			t.Errorf("%s: %+v, not %+v", name, back, p)
		}
		if len(p.rows) < 3 {
			t.Errorf("%s: one piece", name)
		}
		keys := func(order []int) (all []string) {
			w, err := back.NewWalker(f)
			if err != nil {
				t.Fatal(err)
			}
			all = make([]string, len(order))
			for _, n := range order {
				if err := w.To(int64(n), 0); err != nil {
					t.Fatalf("%s: sample %d: %v", name, n, err)
				}
				all[n] = string(w.Key)
			}
			return all
		}
		order := make([]int, p.Samples())
		for i := range order {
			order[i] = i
		}
		want := keys(order)
		if name == "index.lmdb" && (want[2] != "2" || want[10] != "10" || want[119] != "119") {
			t.Errorf("%s: %q", name, want)
		}
		rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		if got := keys(order); !slices.Equal(got, want) {
			t.Errorf("%s: other keys in another order", name)
		}
		for range 500 {
			bad := bytes.Clone(b)
			bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
			q, err := Decode(bad[:1+rng.IntN(len(bad))])
			if err != nil {
				if !errors.Is(err, shardify.ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			if w, err := q.NewWalker(f); err == nil {
				for range 5 {
					_ = w.To(rng.Int64N(q.Samples()+1), 0)
				}
			}
		}
	}
}
