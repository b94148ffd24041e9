package pipeline

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/diff"
	"github.com/shardify/shardify/storage/storagetest"
)

func TestDiffOfSetsAndInputs(t *testing.T) {
	ctx := context.Background()
	m := storagetest.Scheme(t, "mem")
	t.Chdir(t.TempDir())
	os.WriteFile("a.csv", []byte("id,x,cls\n1,0.5,cat\n2,0.25,dog\n3,1,cat\n4,2,dog\n"), 0o666)
	os.WriteFile("b.csv", []byte("id,x,cls,note\n2,0.25,dog,hello\n1,0.75,cat,you\n3,1,cow,<script>\n5,2,dog,c\n"), 0o666)
	for _, s := range []Settings{{Inputs: []string{"a.csv"}, Output: "a"}, {Inputs: []string{"b.csv"}, Output: "b", Format: "wds"}, {Inputs: []string{"b.csv"}, Output: "s", Split: "train=0.5,val=0.5"}} {
		s.Encode = []string{"cls"}
		if _, err := Convert(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"shardify.json", "shard-000000.safetensors"} {
		b, err := os.ReadFile("a/" + name)
		if err != nil {
			t.Fatal(err)
		}
		m.Set("set/"+name, b)
	}
	for _, c := range [][2]string{{"a", "b"}, {"a", "s"}, {"mem://set", "b"}, {"mem://set/", "b/shardify.json"}} {
		r, err := Diff(ctx, c[0], c[1], Comparison{By: "id", Show: 10})
		if err != nil || r.Equal != 1 || r.Changed != 2 || r.Added != 1 || r.Removed != 1 || len(r.Samples) != 4 || r.Same {
			t.Fatalf("%s: %+v, %v", c, r, err)
		}
		if s := r.Samples[0]; s.Change != diff.Changed || s.Key != "1" || s.Values[0] != [2]string{"0.5", "0.75"} {
			t.Errorf("%s: %+v", c, s)
		}
		if s := r.Samples[1]; s.Key != "3" || s.Values[0] != [2]string{"0 (cat)", "1 (cow)"} {
			t.Errorf("%s: %+v", c, s)
		}
		var text strings.Builder
		if r.WriteText(&text); !strings.Contains(text.String(), "cls cow: 0, then 1 (+1)") {
			t.Errorf("%s: %s", c, text.String())
		}
	}
	if r, err := Diff(ctx, "a", "mem://set", Comparison{}); err != nil || !r.Same || r.By != "" || r.Equal != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Diff(ctx, "a.csv", "a", Comparison{By: "id"}); err != nil || r.Equal != 4 || r.Same { // texts became codes
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Diff(ctx, "a.csv", "a.csv", Comparison{}); err != nil || !r.Same || r.By != diff.ByContents {
		t.Errorf("%+v, %v", r, err)
	}
	shards, _ := filepath.Glob("s/val/shard-*.safetensors")
	for _, name := range append(shards, "b/shard-000000.tar") {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := len(whole) - 1; at >= 0; at -= 1 + len(whole)/40 {
			b := bytes.Clone(whole)
			b[at] ^= 4
			os.WriteFile(name, b, 0o666)
			if r, err := Diff(ctx, "a", name[:1], Comparison{}); r != nil || !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("byte %d of %s is changed: %+v, %v", at, name, r, err)
			}
		}
		os.WriteFile(name, whole, 0o666)
	}
	for _, pair := range [][2]string{{"a", "nowhere"}, {"nowhere", "a"}} {
		if _, err := Diff(ctx, pair[0], pair[1], Comparison{}); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}
