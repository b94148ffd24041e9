package plan

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
)

// paged is a source of a state and pages.
type paged struct {
	shardify.Source
	list []string
}

func (p *paged) State() ([]byte, error)     { return []byte("state"), nil }
func (p *paged) Pages() int                 { return len(p.list) }
func (p *paged) Page(i int) ([]byte, error) { return []byte(p.list[i]), nil }

// withPages is a plan of one block whose source has pages.
func withPages(t testing.TB, list ...string) *Plan {
	p := &Plan{Version: Version, In: Inputs{Table: &format.Table{Roots: []string{"r"}}}, Sample: Sample{Schema: someFields}, Pack: Packing{Samples: 4}}
	p.In.Table.Append(0, "a", 1, 2)
	p.Pack.Spans = []shardify.Span{{Hi: 4, Bytes: 32}}
	p.Pack.Shards = []Shard{{0, 1, 4}}
	p.Pack.Units = []Unit{{0, 1}}
	if err := p.In.Survey(&paged{list: list}); err != nil {
		t.Fatal(err)
	}
	if err := Seal(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// pagedPlan is withPages with the plain bytes of its block.
func pagedPlan(f testing.TB) (p *Plan, names, spans []byte) {
	_, names, spans = onePlan(f)
	p = withPages(f, "one", "two")
	var file bytes.Buffer
	var err error
	if p.Pack.blocks, p.In.pages.list, err = write(f.Context(), p, &file); err != nil {
		f.Fatal(err)
	}
	return p, names, spans
}

// TestPagesAreInThePlan: what a source has beside its state decides the digest, and is read back; damage
// of it is noticed.
func TestPagesAreInThePlan(t *testing.T) {
	list := []string{"one", "", string(bytes.Repeat([]byte("three"), 1000))}
	p := withPages(t, list...)
	if q := withPages(t, list[0], list[1], "3"); q.Digest() == p.Digest() {
		t.Error("other pages, and the same digest")
	}
	if a, b := withPages(t), withPages(t, ""); a.Digest() == b.Digest() || a.In.Page() != nil {
		t.Error("no pages are not one empty page")
	}
	store := memory.New()
	for i := range 2 {
		if err := Publish(t.Context(), p, store); err != nil {
			t.Fatal(err)
		}
		q, err := Load(store)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []*Plan{p, q} {
			for k, want := range list {
				if b, err := x.In.Page()(k); err != nil || string(b) != want {
					t.Errorf("page %d: %.20q, %v", k, b, err)
				}
			}
			if _, err := x.In.Page()(len(list)); !errors.Is(err, shardify.ErrCorrupt) {
				t.Error("a page too many:", err)
			}
		}
		if q.Digest() != p.Digest() {
			t.Error("the digest of what was read differs")
		}
		if i == 0 { // a plan that was read is published elsewhere
			p, store = q, memory.New()
		}
	}
	b, err := ReadFile(store, FileName)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1
		q, err := Decode(c)
		for k := range list {
			if err == nil {
				_, err = q.In.Page()(k)
			}
		}
		if err == nil {
			t.Fatalf("flip at byte %d of %d was not noticed", i, len(b))
		}
	}
}
