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
)

func TestPlanFileRoundTrip(t *testing.T) {
	p := &Plan{Version: Version, Table: &format.Table{Roots: []string{"in"}}, Schema: someFields, State: []byte("state"), Samples: 10}
	for i := range 5 {
		p.Table.Append(0, fmt.Sprintf("dir/file%d", i), 99, int64(i))
		p.Spans = append(p.Spans, shardify.Span{Input: uint32(i), Hi: 2, Bytes: 64})
	}
	p.Shards = []Shard{{0, 2, 4}, {2, 3, 2}, {3, 5, 4}}
	p.Units = []Unit{{0, 2}, {2, 3}}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	_, err := p.write(t.Context(), &file)
	b := file.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	q, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if q.Digest() != p.Digest() || q.Table.Name(3) != "dir/file3" || q.Table.ModTime(3) != 3 || string(q.State) != "state" ||
		!slices.Equal(q.Spans, p.Spans) || !slices.Equal(q.Units, p.Units) || !slices.Equal(q.Shards, p.Shards) {
		t.Errorf("read back %+v\nwant %+v", q, p)
	}
	q.Seal()
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
	other.Table = &format.Table{Roots: []string{"elsewhere"}}
	for i := range p.Table.Len() {
		other.Table.Append(0, p.Table.Name(i), p.Table.Size(i), 77)
	}
	other.file = nil
	other.Seal()
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
