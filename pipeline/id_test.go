package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/verify"
)

func TestIDOfSetAndSplits(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	os.WriteFile("a.csv", []byte("x,cls\n1,cat\n2,dog\n3,cat\n4,dog\n5,cat\n"), 0o666)
	os.WriteFile("b.csv", []byte("x,cls\n1,cat\n2,dog\n3,cat\n4,dog\n5,cat\n"), 0o666)
	made := func(s Settings) string {
		t.Helper()
		s.Encode = []string{"cls"}
		if _, err := Convert(ctx, s); err != nil {
			t.Fatal(err)
		}
		id, err := ID(ctx, s.Output)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	a := made(Settings{Inputs: []string{"a.csv"}, Output: "a"})
	if b := made(Settings{Inputs: []string{"b.csv"}, Output: "b"}); b != a {
		t.Errorf("the same samples from another file: %s and %s", a, b)
	}
	if c := made(Settings{Inputs: []string{"a.csv"}, Output: "c", Where: []string{"x < 5"}}); c == a {
		t.Errorf("a sample less, and the same id %s", c)
	}
	whole := made(Settings{Inputs: []string{"a.csv"}, Output: "s", Split: "train=0.6,val=0.4"})
	part, err := ID(ctx, "s/train")
	if err != nil || part == whole {
		t.Fatal(part, err)
	}
	for _, c := range []struct {
		dir, id string
		ok      bool
	}{{"a", a, true}, {"a/shardify.json", a, true}, {"b", a, true}, {"c", a, false}, {"s", whole, true}, {"s/train", whole, true}, {"s/train", part, true}, {"s/val", part, false}, {"s", part, false}} {
		r, err := Verify(ctx, []string{c.dir}, verify.Options{ID: c.id}, Hooks{})
		if ok := err == nil && r.ID == c.id; ok != c.ok || !c.ok && !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("verify %s --id %s: %v", c.dir, c.id, err)
		}
		set, err := gpuload.Open(ctx, c.dir)
		if err != nil { // splits
			continue
		}
		if err := set.Are(ctx, []string{c.id}); err == nil != c.ok || !c.ok && !strings.Contains(err.Error(), "not the set "+c.id) {
			t.Errorf("gpuload %s: %v", c.dir, err)
		}
		if err := set.Are(ctx, []string{c.id, c.id}); !errors.Is(err, shardify.ErrUsage) {
			t.Error(err)
		}
	}
	if _, err := Verify(ctx, []string{"a"}, verify.Options{ID: "id1:3"}, Hooks{}); !errors.Is(err, shardify.ErrUsage) {
		t.Error(err)
	}
	t.Chdir("s/train")
	if r, err := Verify(ctx, []string{"."}, verify.Options{ID: whole}, Hooks{}); err != nil || r.ID != whole {
		t.Errorf("verify . in a split: %v", err)
	}
	t.Chdir("../..")
	// A split of another conversion in the place of one of the set's.
	os.Rename("s/val", "old")
	os.CopyFS(filepath.Join("s", "val"), os.DirFS("a"))
	if _, err := ID(ctx, "s"); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
	if _, err := ID(ctx, "nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
