package root

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func TestTreeIsChosenOrAllAreNamed(t *testing.T) {
	corpus := func(name string) string { return filepath.Join(corpus.Dir(t, "root"), name) }
	for _, c := range []struct {
		name, file, object string
		samples            int64
		says               string // of the error
	}{
		{"the only one", testdata("order.root"), "", 768, ""},
		{"several", testdata("events-0.root"), "", 0, "several trees: --object Events makes 300 samples of Events; --object Runs makes 1 sample of Runs"},
		{"by name", testdata("events-0.root"), "Runs", 1, ""},
		{"by path with a slash before it", testdata("events-0.root"), "/Events", 300, ""},
		{"not there", testdata("events-0.root"), "Evts", 0, "no object of this name; there are Events, Runs"},
		{"highest cycle", corpus("ttree/tree_cycles_hist.root"), "Events", 6, ""},
		{"in a folder", corpus("ttree/uproot-nesteddirs.root"), "one/two/tree", 100, ""},
		{"no tree", corpus("ttree/uproot-issue70.root"), "", 0, "no tree"},
		{"older RNTuple", corpus("rntuple/ntpl001_staff_pre-1.0.root"), "", 0, "before version 1.0"},
	} {
		got, err := load(format.Options{"object": c.object}, nil, 1<<20, c.file)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want an error with %q", c.name, err, c.says)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case got.samples != c.samples:
			t.Errorf("%s: %d samples, want %d", c.name, got.samples, c.samples)
		}
	}
}

func TestEachTreeIsAWay(t *testing.T) {
	readertest.Ways(t, func(columns []string, o format.Options) (shardify.Source, error) {
		return openFiles(o, columns, testdata("events-0.root"))
	}, "300 samples of Events", "1 sample of Runs")
}

func TestFriendsAreJoinedByEntry(t *testing.T) {
	files := []string{testdata("events-0.root"), testdata("events-1.root")}
	o := format.Options{"object": "Events", "friend": testdata("{}.root")}
	o["friend"] = "testdata/friend-{}.root"
	// The files are named events-N and friend-N: {} is the name of the input.
	dir := t.TempDir()
	for i, f := range files {
		n := "f" + string(rune('0'+i)) + ".root"
		link(t, f, filepath.Join(dir, n))
		link(t, strings.Replace(f, "events", "friend", 1), filepath.Join(dir, "extra-"+n))
	}
	o["friend"] = filepath.Join(dir, "extra-{}.root")
	in := []string{filepath.Join(dir, "f0.root"), filepath.Join(dir, "f1.root")}
	got, err := load(o, []string{"event", "score", "weight", "extra.weight"}, 1<<10, in...)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := load(nil, nil, 1<<20, filepath.Join(dir, "extra-f0.root"), filepath.Join(dir, "extra-f1.root"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.cols["score"].Data) != string(alone.cols["score"].Data) || string(got.cols["extra.weight"].Data) != string(alone.cols["weight"].Data) {
		t.Error("other values than the friend has alone")
	}
	main, err := load(format.Options{"object": "Events"}, nil, 1<<20, in...)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.cols["weight"].Data) != string(main.cols["weight"].Data) {
		t.Error("a friend's column took the place of one of the tree")
	}
	if _, err := load(format.Options{"object": "Events", "friend": testdata("friend-1.root")}, nil, 1<<20, in[0]); err == nil || !strings.Contains(err.Error(), "300 entries, its friend extra has 170") {
		t.Errorf("friend of another length: %v", err)
	}
	if _, err := load(format.Options{"object": "Events", "friend": testdata("friend-0.root")}, nil, 1<<20, in...); err == nil || !strings.Contains(err.Error(), "write {}") {
		t.Errorf("one friend of two inputs: %v", err)
	}
	same, err := load(format.Options{"object": "Events", "friend": ":Events"}, nil, 1<<20, in[0])
	if err != nil || string(same.cols["Jet_pt"].Data) != string(same.cols["Events.Jet_pt"].Data) || same.cols["Events.Jet_pt"].Counter == same.cols["Jet_pt"].Counter {
		t.Errorf("the tree as its own friend: %v", err)
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	abs, err := filepath.Abs(from)
	if err == nil {
		err = os.Symlink(abs, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnreadableIsLeftOutUnlessAskedFor(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "root"), "ttree")
	e := format.Options{"object": "E"}
	got, err := load(e, nil, 1<<20, filepath.Join(dir, "uproot-issue465-flat.root"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.left, func(l format.Leftover) bool { return l.Name == "Evt.AAObject.any" })
	if i < 0 || !strings.Contains(got.left[i].Reason, "pointer to an object") {
		t.Errorf("left out: %+v", got.left)
	}
	if _, err := load(e, []string{"Evt.AAObject.any"}, 1<<20, filepath.Join(dir, "uproot-issue465-flat.root")); err == nil || !strings.Contains(err.Error(), "pointer to an object") {
		t.Errorf("asked for by name: %v", err)
	}
	file := filepath.Join(dir, "uproot-stl_containers.root")
	if one, err := load(nil, []string{"vector_*32"}, 1<<20, file); err != nil || len(one.cols) != 3 {
		t.Errorf("by a wildcard: %v, %v", one, err)
	}
}

// TestThreeLevelsAreTwoFields: lists of lists of strings are lists of strings, with the
// lengths of the lists beside them, in whatever spans they are read.
func TestThreeLevelsAreTwoFields(t *testing.T) {
	file := filepath.Join(corpus.Dir(t, "root"), "ttree", "uproot-stl_containers.root")
	for _, span := range []int64{1, 1 << 20} {
		got, err := load(nil, []string{"vector_vector_string"}, span, file)
		if err != nil || len(got.cols) != 2 {
			t.Fatalf("%v: %v", got, err)
		}
		c, n := got.cols["vector_vector_string"], got.cols["vector_vector_string.lengths"]
		if c.Levels != 2 || c.Media != "txt" || n.Levels != 1 || c.CounterName() == n.CounterName() {
			t.Errorf("fields are %+v and %+v", c.Field, n.Field)
		}
		// [["one"]], [["one"], ["one","two"]], [["one"], ["one","two"], ["one","two","three"]] ...
		if v := shardify.View[int64](n.Data); !slices.Equal(v[:6], []int64{1, 1, 2, 1, 2, 3}) || !slices.Equal(n.Offsets[0][:4], []int64{0, 1, 3, 6}) {
			t.Errorf("lengths %v of %v", v, n.Offsets[0])
		}
		if !slices.Equal(c.Offsets[0][:4], []int64{0, 1, 4, 10}) || string(c.Data[:15]) != "oneoneonetwoone" {
			t.Errorf("lists end at %v, %q", c.Offsets[0], c.Data)
		}
	}
	for _, columns := range [][]string{{"vector_vector_string.lengths"}, {"!vector_vector_string"}} {
		got, err := load(nil, columns, 1<<20, file)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := got.cols["vector_vector_string"]; ok || (len(got.cols) == 1) != (got.cols["vector_vector_string.lengths"] != nil) {
			t.Errorf("%v: %d columns", columns, len(got.cols))
		}
	}
}

func TestMapsGiveKeysAndValues(t *testing.T) {
	got, err := load(nil, []string{"map_int32_int16*"}, 1<<20, filepath.Join(corpus.Dir(t, "root"), "ttree", "uproot-stl_containers.root"))
	if err != nil {
		t.Fatal(err)
	}
	first, second := got.cols["map_int32_int16.first"], got.cols["map_int32_int16.second"]
	if first == nil || second == nil || first.DType != shardify.I32 || second.DType != shardify.I16 || string(lengths(first.Offsets[0])) != string(lengths(second.Offsets[0])) {
		t.Fatalf("%+v %+v", first, second)
	}
	if n := first.Offsets[0][len(first.Offsets[0])-1]; n != 15 || first.Data[0] != 1 || second.Data[0] != 1 {
		t.Errorf("%d pairs, first %d: %d", n, first.Data[0], second.Data[0])
	}
}

func TestRepeatedNamesStayApart(t *testing.T) {
	got, err := load(format.Options{"object": "Delphes"}, []string{"Particle_size", "Particle_size_2"}, 1<<20, filepath.Join(corpus.Dir(t, "root"), "ttree", "uproot-issue513.root"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := got.cols["Particle_size"], got.cols["Particle_size_2"]
	if a == nil || b == nil || string(a.Data) == string(b.Data) {
		t.Errorf("%v, %v", a, b)
	}
}

func TestTextIsCheckedOrBytes(t *testing.T) {
	c := &shardify.Column{Field: shardify.Field{Name: "s", DType: shardify.U8, Levels: 2, Media: "txt"},
		Data: []byte("abc\xffd"), Offsets: [][]int64{{0, 1, 2}, {0, 3, 5}}}
	err := rows.CheckText(c, 100)
	if err == nil || !strings.Contains(err.Error(), "s sample 101") {
		t.Errorf("%v", err)
	}
	c.Data = []byte("abc\xc3\xa9")
	if err := rows.CheckText(c, 100); err != nil {
		t.Error(err)
	}
	// Two halves of one character in two strings are no text.
	c.Offsets[1] = []int64{0, 4, 5}
	if err := rows.CheckText(c, 100); err == nil {
		t.Error("halves of a character passed")
	}
}

// TestDamageIsLocated: an error in a basket names file, tree, branch, entry and the
// byte of the file where the basket is.
func TestDamageIsLocated(t *testing.T) {
	race.Sequential(t)
	data, err := os.ReadFile(testdata("events-0.root"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "bad.root")
	located := 0
	for at := 2000; at < len(data)-2000; at += len(data) / 97 {
		bad := slices.Clone(data)
		bad[at] ^= 0x55
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		src, err := openFiles(format.Options{"object": "Events"}, nil, name)
		if err != nil {
			continue // in the metadata
		}
		_, err = loadSource(src, 1<<20)
		src.Close()
		if err == nil {
			continue
		}
		var e *shardify.Error
		if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("byte %d: %v", at, err)
			continue
		}
		if e.File != "bad.root" || e.Object != "Events" || e.Field == "" || e.Sample < 0 || e.Offset <= 0 || e.Offset > int64(at) {
			t.Errorf("byte %d: %v (file %q object %q field %q sample %d offset %d)", at, err, e.File, e.Object, e.Field, e.Sample, e.Offset)
			continue
		}
		located++
	}
	if located < 10 {
		t.Errorf("%d errors in baskets", located)
	}
}

// TestCutsAreWhereAllBasketsBegin: what several branches have in common, and of a
// friend's tree too.
func TestCutsAreWhereAllBasketsBegin(t *testing.T) {
	for _, c := range []struct {
		file, object, friend string
		at                   []int64
	}{
		{testdata("events-0.root"), "Events", "", []int64{100}},
		{testdata("events-1.root"), "Events", "", nil},
		{testdata("ntuple-0.root"), "", "", []int64{100}},
		{testdata("events-0.root"), "Events", testdata("friend-0.root"), nil},
		{testdata("events-0.root"), "Events", testdata("ntuple-0.root"), []int64{100}},
	} {
		f, err := rows.OpenFile(context.Background(), local.Files, c.file, -1)
		if err != nil {
			t.Fatal(err)
		}
		j, err := (&source{fs: local.Files, opts: format.Options{"object": c.object}, friends: parseFriends(context.Background(), local.Files, c.friend)}).openJoined(context.Background(), f, "f", c.file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.list {
			j.wanted = append(j.wanted, i)
		}
		if b := j.borders(); !slices.Equal(b.At, c.at) || len(c.at) == 0 && b.Every != j.tables[0].entries() {
			t.Errorf("%s and %s: %+v, want %v", c.file, c.friend, b, c.at)
		}
		j.Close()
	}
	if got := intersect([]int64{0, 4, 8, 9, 12}, []int64{0, 3, 8, 12, 15}); !slices.Equal(got, []int64{0, 8, 12}) {
		t.Errorf("%v", got)
	}
}

// TestFewBytesAreDecodedTwice: where a tree may be cut, baskets of at least nine
// tenths of its bytes begin.
func TestFewBytesAreDecodedTwice(t *testing.T) {
	for _, name := range []string{"uproot-HZZ-zlib", "uproot-small-dy-withoffsets", "uproot-issue412", "tree_with_clusters", "uproot-issue64", "nanoAOD_2015_CMS_Open_Data_ttbar"} {
		f, err := rows.OpenFile(context.Background(), local.Files, filepath.Join(corpus.Dir(t, "root"), "ttree", name+".root"), -1)
		if err != nil {
			t.Fatal(err)
		}
		object := map[string]string{"uproot-issue64": "events/events", "nanoAOD_2015_CMS_Open_Data_ttbar": "Events"}[name]
		j, err := (&source{fs: local.Files, opts: format.Options{"object": object}}).openJoined(context.Background(), f, name, name)
		if err != nil {
			t.Fatal(err)
		}
		x := j.tables[0].(*tree)
		at := x.borders(x.all()).At
		for _, cut := range at {
			total, good := int64(0), int64(0)
			for _, r := range x.readings {
				if b := r.Branch; b.Baskets.Len() > 0 && len(r.Columns) > 0 {
					total += max(b.TotBytes, 1)
					if slices.Contains(b.Baskets.First, cut) {
						good += max(b.TotBytes, 1)
					}
				}
			}
			if good*10 < total*9 {
				t.Errorf("%s: cut at %d, where %d of %d bytes begin", name, cut, good, total)
				break
			}
		}
		t.Logf("%s: %d cuts", name, len(at))
		j.Close()
	}
}

func TestNamesAreMadeValid(t *testing.T) {
	for name, want := range map[string]string{"x[10]": "x", "x#1": "x_1", "__index__": "_index__", "a.b.": "a.b", "tab\t": "tab_", "é": "é", "__": "_", "": ""} {
		if got := plainName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
