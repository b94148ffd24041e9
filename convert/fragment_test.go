package convert

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/memory"
)

// TestEveryChangedByteOfAFragmentIsNoticed: or does not matter; and the next run rebuilds it.
func TestEveryChangedByteOfAFragmentIsNoticed(t *testing.T) {
	f := mixed()
	change := shapes(t)["all of it"]
	want, _ := convertFake(t, f, change)
	p := shapedPlan(t, f, change)
	s := memory.New()
	if err := plan.Publish(bg, p, s); err != nil {
		t.Fatal(err)
	}
	if err := shapedJob(p, f, s).Work(bg, p.Pack.Task(0, 1)); err != nil {
		t.Fatal(err)
	}
	names := fragmentsIn(s)
	slices.Sort(names)
	good := s.Files()[names[0]]
	refused, step := 0, 61
	if long() {
		step = 13
	} else if testing.Short() {
		step = 997
	}
	for at := 0; at < len(good); at += step {
		c := s.Clone()
		b := bytes.Clone(good)
		b[at] ^= byte(1 + at%255)
		c.Set(names[0], b)
		_, err := shapedJob(p, f, c).Convert(bg)
		if errors.Is(err, shardify.ErrCorrupt) {
			refused++
			_, err = shapedJob(p, f, c).Convert(bg) // rebuilds the fragment
		}
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if !maps.Equal(published(want), published(c)) {
			t.Fatalf("byte %d of a fragment is changed, and so is the data set", at)
		}
	}
	if refused < len(good)/step/2 {
		t.Fatalf("%d of %d changed bytes were noticed", refused, len(good)/step)
	}
	t.Logf("%d of %d changed bytes were noticed", refused, (len(good)+step-1)/step)
}
