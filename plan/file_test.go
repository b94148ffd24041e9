package plan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	_ "github.com/shardify/shardify/tests/race"
)

func TestPlanFileRoundTrip(t *testing.T) {
	p := &Plan{Version: Version, In: Inputs{Table: &format.Table{Roots: []string{"in"}}, State: []byte("state")}, Sample: Sample{Schema: someFields}, Pack: Packing{Samples: 10}}
	for i := range 5 {
		p.In.Table.Append(0, fmt.Sprintf("dir/file%d", i), 99, int64(i))
		p.Pack.Spans = append(p.Pack.Spans, shardify.Span{Input: uint32(i), Hi: 2, Bytes: 64})
	}
	p.Pack.Shards = []Shard{{0, 2, 4}, {2, 3, 2}, {3, 5, 4}}
	p.Pack.Units = []Unit{{0, 2}, {2, 3}}
	if err := Seal(p); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	_, _, err := write(t.Context(), p, &file)
	b := file.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	q, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if q.Digest() != p.Digest() || q.In.Table.Name(3) != "dir/file3" || q.In.Table.ModTime(3) != 3 || string(q.In.State) != "state" ||
		!slices.Equal(q.Pack.Spans, p.Pack.Spans) || !slices.Equal(q.Pack.Units, p.Pack.Units) || !slices.Equal(q.Pack.Shards, p.Pack.Shards) {
		t.Errorf("read back %+v\nwant %+v", q, p)
	}
	Seal(q)
	if q.Digest() != p.Digest() {
		t.Error("the digest of what was read differs")
	}
	for i := range b {
		c := slices.Clone(b)
		c[i] ^= 1
		if _, err := Decode(c); err == nil {
			t.Fatalf("flip at byte %d of %d was not noticed", i, len(b))
		}
		if _, err := Decode(b[:i]); err == nil {
			t.Fatalf("cut at byte %d was not noticed", i)
		}
	}
	other := *p
	other.In.Table = &format.Table{Roots: []string{"elsewhere"}}
	for i := range p.In.Table.Len() {
		other.In.Table.Append(0, p.In.Table.Name(i), p.In.Table.Size(i), 77)
	}
	other.stored.open = nil
	Seal(&other)
	if other.Digest() != p.Digest() {
		t.Error("the digest depends on where the inputs lie")
	}
}

// TestAPlanOfAnEarlierVersionIsNamed: this version cannot read it, but it is not damaged.
func TestAPlanOfAnEarlierVersionIsNamed(t *testing.T) {
	for _, magic := range []string{planMagic, oldMagic} {
		_, err := Decode(append([]byte(magic), 2, 0, 0, 0, 'x'))
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "version 2") {
			t.Errorf("%s: %v", magic, err)
		}
	}
}
