package format

import (
	"testing"

	"github.com/shardify/shardify"
)

func TestIdentityDependsOnTheInputAloneAndIsUnique(t *testing.T) {
	one, two := &Table{Roots: []string{"/a"}}, &Table{Roots: []string{"/elsewhere"}}
	two.Append(0, "before.npz", 1, 1)
	for _, name := range []string{"x.npz", "y.npz"} {
		one.Append(0, name, 1, 1)
		two.Append(0, name, 2, 2)
	}
	seen := map[uint64]bool{}
	for input := range uint32(2) {
		a := one.Identity(nil, &shardify.Batch{Samples: 500, First: shardify.ID{Input: input, Sample: 7}})
		b := two.Identity(nil, &shardify.Batch{Samples: 500, First: shardify.ID{Input: input + 1, Sample: 7, Copy: 3}})
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("sample %d of input %d: identity differs when an input is added", i, input)
			}
			if seen[a[i]] {
				t.Fatalf("sample %d of input %d has the identity of another", i, input)
			}
			seen[a[i]] = true
		}
	}
}

// TestFilesOfOneNameAreDifferentSamples: sig/a.root and bg/a.root, given as two folders.
// The identities of the other files do not change when the second folder is added.
func TestFilesOfOneNameAreDifferentSamples(t *testing.T) {
	alone, both := &Table{Roots: []string{"sig"}}, &Table{Roots: []string{"sig", "bg", "more"}}
	alone.Append(0, "a.root", 1, 1)
	for k := range both.Roots {
		both.Append(k, "a.root", 1, 1)
		both.Append(k, "b.root", 1, 1)
	}
	seen := map[uint64]bool{}
	for input := range uint32(6) {
		for _, id := range both.Identity(nil, &shardify.Batch{Samples: 100, First: shardify.ID{Input: input}}) {
			if seen[id] {
				t.Fatalf("input %d has the identity of another", input)
			}
			seen[id] = true
		}
	}
	if alone.NameHash(0) != both.NameHash(0) {
		t.Fatal("the first file is another when further folders are added")
	}
}
