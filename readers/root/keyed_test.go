package root

import (
	"context"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

func keyedOptions(friend string) format.Options {
	return format.Options{"object": "Events", "friend": testdata("keys/" + friend), "on": "run=runNumber,event"}
}

// checkKeyed holds the friend's values to the keys of the main table. It returns how many
// samples have none.
func checkKeyed(t *testing.T, got *loaded) (missing int) {
	t.Helper()
	run, event := shardify.View[uint32](got.cols["run"].Data), shardify.View[uint64](got.cols["event"].Data)
	score, hits, pt := got.cols["score"], got.cols["hits"], got.cols["Scores.pt"]
	values := shardify.View[int32](hits.Data)
	for i := range run {
		lo, hi := hits.Offsets[0][i], hits.Offsets[0][i+1]
		if score.Valid != nil && score.Valid[i] == 0 {
			missing++
			if hi != lo || hits.Valid[i] != 0 || shardify.View[float64](score.Data)[i] != 0 {
				t.Errorf("sample %d has no friend, but values", i)
			}
			continue
		}
		if want := float64(run[i])*1000 + float64(event[i]); shardify.View[float64](score.Data)[i] != want {
			t.Fatalf("sample %d: score %v, want %v", i, shardify.View[float64](score.Data)[i], want)
		}
		if hi-lo != int64(event[i]%4) || hi > lo && values[hi-1] != int32(event[i])+int32(hi-lo)-1 {
			t.Fatalf("sample %d (event %d): hits %v", i, event[i], values[lo:hi])
		}
		if shardify.View[float32](pt.Data)[i] != -float32(event[i]) || shardify.View[float32](got.cols["pt"].Data)[i] != float32(event[i]) {
			t.Fatalf("sample %d: pt of the wrong tree", i)
		}
	}
	return missing
}

func TestFriendsAreJoinedByKey(t *testing.T) {
	a, b := testdata("keys/keyed-0.root"), testdata("keys/keyed-1.root")
	for _, target := range []int64{1 << 9, 1 << 20} {
		got, err := load(keyedOptions("keyed-friend.root"), nil, target, a, b)
		if err != nil {
			t.Fatal(err)
		}
		if checkKeyed(t, got) != 0 || got.samples != 250 || got.cols["runNumber"] != nil {
			t.Errorf("%d samples, fields %v", got.samples, got.order)
		}
	}
	o := keyedOptions("keyed-few.root")
	o["unmatched"] = "fill"
	got, err := load(o, nil, 1<<10, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if n := checkKeyed(t, got); n != 1 {
		t.Errorf("%d samples have no friend, want 1", n)
	}
}

// TestKeysThatDoNotMatch: each error names the key, before anything is read.
func TestKeysThatDoNotMatch(t *testing.T) {
	with := func(friend string, more ...string) format.Options {
		o := keyedOptions(friend)
		for i := 0; i < len(more); i += 2 {
			o[more[i]] = more[i+1]
		}
		return o
	}
	for _, c := range []struct {
		what string
		o    format.Options
		says string
	}{
		{"missing", with("keyed-few.root"), "keyed-few.root:Scores has no entry with the key run=1, event=7; --unmatched fill"},
		{"twice in the friend", with("keyed-twice.root"), "entries 7 and 290 of friend keyed-twice.root:Scores have the key run=1, event=7"},
		{"twice in the friend, filled", with("keyed-twice.root", "unmatched", "fill", "repeated", "allow"), "have the key run=1, event=7"},
		{"a key twice", with("keyed-friend.root", "on", "run=runNumber,run=event"), "--on names run twice"},
		{"one key of two", with("keyed-friend.root", "on", "run=runNumber"), "have the key run="},
		{"no such field", with("keyed-friend.root", "on", "run,event"), "Scores: it has no field run, which --on names"},
		{"a float", with("keyed-friend.root", "on", "pt"), "field pt is not a key"},
		{"a list", with("keyed-friend.root", "on", "event=hits"), "field hits is not a key"},
		{"no name", with("keyed-friend.root", "on", "=event"), "want names of fields"},
		{"no friend", format.Options{"object": "Events", "on": "run"}, "--on goes with --friend"},
		{"no key", format.Options{"object": "Events", "unmatched": "fill"}, "go with --on"},
	} {
		_, err := openFiles(c.o, nil, testdata("keys/keyed-0.root"))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.what, err, c.says)
		}
	}
	// The events of keyed-0.root, by their number alone: those of another run come later.
	o := format.Options{"object": "Scores", "friend": testdata("keys/keyed-1.root") + ":Events", "on": "event", "unmatched": "fill"}
	if _, err := openFiles(o, nil, testdata("keys/keyed-few.root")); err == nil || !strings.Contains(err.Error(), "has the key event=") || !strings.Contains(err.Error(), "--repeated allow") {
		t.Errorf("%v", err)
	}
	o["repeated"] = "allow"
	if _, err := load(o, nil, 1<<20, testdata("keys/keyed-few.root")); err != nil {
		t.Error(err)
	}
}

// TestPlansKnowFriendsByKey: a reader made from a plan's state reads the same, and refuses a
// friend that has changed since.
func TestPlansKnowFriendsByKey(t *testing.T) {
	dir := t.TempDir()
	friend := filepath.Join(dir, "f.root")
	copyTo(t, testdata("keys/keyed-friend.root"), friend)
	args := format.OpenArgs{Table: tableOf(testdata("keys/keyed-0.root")), Options: keyedOptions("")}
	args.Options["friend"] = friend
	src, err := Format.Open(context.Background(), args)
	if err != nil {
		t.Fatal(err)
	}
	if what, n := src.(format.Piecer).LargestPiece(); !strings.Contains(what, "keys of friend f.root:Scores") || n < 290*16 {
		t.Errorf("the index is not declared: %s, %d bytes", what, n)
	}
	if args.State, err = src.(format.Stater).State(); err != nil {
		t.Fatal(err)
	}
	src.Close()
	again, err := Format.Open(context.Background(), args)
	if err != nil {
		t.Fatal(err)
	}
	all, err := loadSource(again, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	checkKeyed(t, all)
	again.Close()
	copyTo(t, testdata("keys/keyed-few.root"), friend)
	if again, err = Format.Open(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := readertest.Load(again, 1<<20); err == nil || !strings.Contains(err.Error(), "--friend has another size") {
		t.Errorf("a friend that has changed: %v", err)
	}
}

// TestKeysOfOtherTypes: numbers are compared, not bits.
func TestKeysOfOtherTypes(t *testing.T) {
	x := &keyIndex{width: 1, wide: []bool{true}, seed: maphash.MakeSeed()}
	k := &keyed{names: []string{"id"}, index: x, path: "f"}
	x.keys = []uint64{1<<64 - 1, 5}
	x.slots = make([]uint32, 4)
	for e := range int64(2) {
		at, _ := x.find(x.key(e))
		x.slots[at] = uint32(e + 1)
	}
	if rows, err := k.lookup([]uint64{5, 1<<64 - 1}, []bool{true}, 0, nil); err != nil || fmt.Sprint(rows) != "[1 0]" {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := k.lookup([]uint64{5, 1<<64 - 1}, []bool{false}, 10, nil); err == nil || !strings.Contains(err.Error(), "id=-1") || !strings.Contains(err.Error(), "sample 11") {
		t.Errorf("-1 is taken for 2^64-1: %v", err)
	}
}
