package hdf5

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/pandas"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/local"
)

// counts checks that a column counts up from first, file by file.
func counts(t *testing.T, s *memory, name string, perFile ...int) {
	t.Helper()
	c := s.cols[name]
	if c == nil {
		t.Errorf("no column %s", name)
		return
	}
	var want []float64
	for _, n := range perFile {
		for i := range n * c.Elem() {
			want = append(want, float64(i))
		}
	}
	if got := values(c); !slices.Equal(got, want) {
		t.Errorf("%s %s %v: %v", name, c.DType, c.Shape, got)
	}
}

func TestEveryLayoutGivesItsRows(t *testing.T) {
	s := mustLoad(t, []string{"rows_a.h5", "rows_b.h5"}, nil, format.Options{"cf": "off"}) // one has a scale_factor
	if s.samples != 32 {
		t.Errorf("%d samples", s.samples)
	}
	for _, name := range []string{"contiguous", "big", "gzip", "edges", "deep", "channels", "stored", "tiled", "group/inside"} {
		counts(t, s, name, 23, 9)
	}
	for i, v := range values(s.cols["sparse"]) {
		row := i / 2
		want := -7.0
		if row >= 23 {
			row -= 23
		}
		if row >= 4 && row < 8 {
			want = float64(2*row + i%2)
		}
		if v != want {
			t.Errorf("sparse row %d is %v, want %v", row, v, want)
		}
	}
	for _, v := range values(s.cols["never"]) {
		if v != 9 {
			t.Errorf("a data set without storage gives %v, not its fill value 9", v)
		}
	}
	c := s.cols["group/constant"]
	if v := values(c); len(v) != 32 || slices.Min(v) != 2.5 || slices.Max(v) != 2.5 || c.Attrs["unit"] != "GeV" {
		t.Errorf("constant: %v, attributes %v", v, c.Attrs)
	}
	if a := s.cols["contiguous"].Attrs; a["unit"] != "cm" || a["scale_factor"] != "0.5" {
		t.Errorf("attributes %v", a)
	}
	if s.left["second"] == "" {
		t.Errorf("a second name of a data set is not reported: %v", s.left)
	}
}

func TestEveryTypeGivesItsValues(t *testing.T) {
	const n = 11
	s := mustLoad(t, []string{"types.h5"}, nil, nil)
	for _, name := range s.order {
		if strings.HasPrefix(name, "n_") {
			counts(t, s, name, n)
		}
	}
	for _, name := range []string{"time", "table/id", "table/p4", "table/jet/pt", "table/jet/tag", "e4m3"} {
		counts(t, s, name, n)
	}
	if f := s.cols["time"].Attrs["time"]; f != "ns" {
		t.Errorf("time of unit %q", f)
	}
	for i := range n {
		if b := s.cols["bool"].Data[i]; b != byte(i%2) {
			t.Errorf("bool %d is %d", i, b)
		}
		if v := values(s.cols["bits"])[i]; v != float64(i-5) {
			t.Errorf("an integer of 20 bits from bit 2: %v, want %d", v, i-5)
		}
		if v := values(s.cols["complex"])[2*i:][:2]; v[0] != float64(i) || v[1] != 1 {
			t.Errorf("complex %d is %v", i, v)
		}
		if v := values(s.cols["codes"])[i]; v != float64(i%2*5-3) {
			t.Errorf("code %d is %v", i, v)
		}
		if v := textsOf(s.cols["fixed"])[i]; v != strings.Repeat("x", i%5) {
			t.Errorf("fixed text %d is %q", i, v)
		}
		if v := textsOf(s.cols["text"])[i]; v != strings.Repeat(fmt.Sprintf("é%d", i), i%3) {
			t.Errorf("text %d is %q", i, v)
		}
		if v := textsOf(s.cols["words"])[2*i:][:2]; v[0] != fmt.Sprintf("a%d", i) || v[1] != "b" {
			t.Errorf("words %d are %q", i, v)
		}
		if v := textsOf(s.cols["table/name"])[i]; v != fmt.Sprintf("n%d", i) {
			t.Errorf("name %d is %q", i, v)
		}
		if v := s.cols["void"].Data[3*i:][:3]; v[0] != byte(i) || v[2] != byte(i+2) {
			t.Errorf("void %d is %v", i, v)
		}
		list := func(name string, k int) (out []float64) {
			o := s.cols[name].Offsets[0]
			return values(s.cols[name])[o[k]:o[k+1]]
		}
		if v := list("jagged", i); len(v) != i%4 || len(v) > 0 && v[len(v)-1] != float64(i%4-1) {
			t.Errorf("list %d is %v", i, v)
		}
		hits, ch := list("hits/t", i), list("hits/ch", i)
		if len(hits) != i%3 || len(ch) != i%3 || len(hits) > 1 && (hits[1] != float64(1+i) || ch[1] != 1) {
			t.Errorf("hits %d are %v of channels %v", i, hits, ch)
		}
	}
	if l := s.cols["enum"].Labels(); !slices.Equal(l, []string{"cat", "dog", "owl"}) {
		t.Errorf("labels %q", l)
	}
	if a := s.cols["codes"].Attrs["enum"]; a != "LOW=-3\nHIGH=2" && a != "HIGH=2\nLOW=-3" {
		t.Errorf("names of codes %q", a)
	}
	for name, why := range map[string]string{"refs": "reference", "long": "long double"} {
		if !strings.Contains(s.left[name], why) {
			t.Errorf("%s is left out because %q", name, s.left[name])
		}
	}
	if _, err := load([]string{"types.h5"}, []string{"refs"}, nil); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("references asked for by name: %v", err)
	}
}

func TestGroupsAreSamplesInNaturalOrder(t *testing.T) {
	sizes := []int{3, 1, 4, 1, 5, 2, 2, 3, 1, 1, 2, 6}
	s := mustLoad(t, []string{"groups.h5"}, nil, nil)
	if s.samples != 12 || !slices.Equal(s.order, []string{"actions", "actions.shape", "goal", "label", "obs/pixels", "obs/pixels.shape", "task"}) {
		t.Fatalf("%d samples of %q", s.samples, s.order)
	}
	counts(t, s, "label", 12)
	a := s.cols["actions"]
	for i, n := range sizes {
		lo, hi := a.Offsets[0][i], a.Offsets[0][i+1]
		v := values(a)[lo:hi]
		shape := values(s.cols["actions.shape"])[2*i:][:2]
		if len(v) != 7*n || v[0] != float64(1000*i) || v[len(v)-1] != float64(1000*i+7*n-1) || shape[0] != float64(n) || shape[1] != 7 {
			t.Errorf("demo_%d has %v of shape %v", i, v, shape)
		}
		if g := values(s.cols["goal"])[3*i:][:3]; g[2] != float64(i+2) {
			t.Errorf("goal %d is %v", i, g)
		}
		if x := textsOf(s.cols["task"])[i]; x != fmt.Sprintf("task %d", i) {
			t.Errorf("task %d is %q", i, x)
		}
	}
	if s.left["mask/train"] == "" {
		t.Errorf("what is in no sample group is not reported: %v", s.left)
	}
	if both := mustLoad(t, []string{"groups.h5", "groups_more.h5"}, nil, nil); both.samples != 14 {
		t.Errorf("two files have %d samples", both.samples)
	}
}

func TestFilesAreSamples(t *testing.T) {
	s := mustLoad(t, []string{"cosmo_0.hdf5", "cosmo_1.hdf5", "cosmo_2.hdf5"}, nil, nil)
	if s.samples != 3 || !slices.Equal(s.cols["full"].Shape, []int{4, 4, 4, 2}) || values(s.cols["full"])[2*128+5] != 7 {
		t.Errorf("%d samples of %v", s.samples, s.cols["full"].Shape)
	}
	if got := textsOf(s.cols["namePar"]); len(got) != 6 || got[5] != "sigma_8" {
		t.Errorf("names %q", got)
	}
	if s := mustLoad(t, []string{"deepcam.h5"}, nil, nil); s.samples != 1 {
		t.Errorf("a DeepCAM file is %d samples", s.samples)
	}
	v := mustLoad(t, []string{"volume_0.h5", "volume_1.h5"}, nil, nil)
	im := v.cols["image"]
	if v.samples != 2 || !im.Ragged || im.Offsets[0][1] != 24 || im.Offsets[0][2] != 60 {
		t.Fatalf("%d samples, image %+v", v.samples, im.Field)
	}
	if got := values(v.cols["image.shape"]); !slices.Equal(got, []float64{2, 3, 4, 3, 3, 4}) {
		t.Errorf("shapes %v", got)
	}
	if got := values(im); got[23] != 23 || got[24] != 0 || got[59] != 35 {
		t.Errorf("values %v", got)
	}
}

func TestConventionsConvertAsTheirUsersExpect(t *testing.T) {
	for _, c := range []struct {
		file    string
		options format.Options
		samples int64
		fields  []string
	}{
		{"netcdf.nc", nil, 6, []string{"t2m", "time"}},
		{"calo.hdf5", nil, 20, []string{"incident_energies", "showers"}},
		{"pytables.h5", nil, 20, []string{"events/id", "events/when", "events/exact", "events/good", "events/word", "events/vec"}},
		{"frame_table.h5", nil, 15, []string{"df/table/index", "df/table/a", "df/table/b", "df/table/n"}},
		{"frame_fixed.h5", nil, 15, []string{"df/axis1", "df/a", "df/b", "df/n"}},
		{"matlab.mat", nil, 6, []string{"x"}},
		{"rows_a.h5", format.Options{"object": "/group"}, 23, []string{"group/constant", "group/inside"}},
		{"rows_a.h5", format.Options{"object": "/g*"}, 23, []string{"group/constant", "group/inside", "gzip"}},
		{"rows_a.h5", format.Options{"object": "/soft,/big"}, 23, []string{"big", "soft"}},
		{"groups.h5", format.Options{"object": "/data/demo_4"}, 5, nil},
	} {
		t.Run(c.file+c.options["object"], func(t *testing.T) {
			s, err := load([]string{c.file}, nil, c.options)
			if c.fields == nil {
				if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "demo_4/actions [5 7]") {
					t.Errorf("data sets that disagree: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.samples != c.samples || !slices.Equal(s.order, c.fields) {
				t.Errorf("%d samples of %q, left out %v", s.samples, s.order, s.left)
			}
			if len(s.notes) == 0 {
				t.Error("nothing said about what a sample is")
			}
		})
	}
}

func TestConventionsKeepTheirFacts(t *testing.T) {
	s := mustLoad(t, []string{"netcdf.nc"}, nil, nil)
	if a := s.cols["t2m"].Attrs; a["unit"] != "K" || a["long_name"] != "temperature" || a["_FillValue"] != "" {
		t.Errorf("attributes %v", a)
	}
	if !strings.Contains(s.left["x"], "netCDF dimension") || s.left["lat"] == "" {
		t.Errorf("left out: %v", s.left)
	}
	p := mustLoad(t, []string{"pytables.h5"}, nil, nil)
	for i, v := range values(p.cols["events/exact"]) {
		if v != float64(i)+0.25 {
			t.Errorf("time %d is %v", i, v)
		}
	}
	counts(t, p, "events/vec", 20)
	if p.cols["events/good"].DType != shardify.Bool || p.cols["events/when"].Attrs["time"] != "s" || !strings.Contains(p.left["objects"], "pickle") {
		t.Errorf("good is %s, when has %v, left out %v", p.cols["events/good"].DType, p.cols["events/when"].Attrs, p.left)
	}
	for _, file := range []string{"frame_table.h5", "frame_fixed.h5"} {
		s := mustLoad(t, []string{file}, nil, nil)
		for name, c := range s.cols {
			if !strings.Contains(name, "values") {
				continue
			}
			want := map[int]string{2: "a\nb", 1: "n"}[c.Elem()]
			if c.Attrs["columns"] != want {
				t.Errorf("%s %s: columns %q, want %q", file, name, c.Attrs["columns"], want)
			}
		}
	}
	if _, err := load([]string{"weights.h5"}, nil, nil); err == nil || !strings.Contains(err.Error(), "Keras") {
		t.Errorf("model weights: %v", err)
	}
}

func TestVirtualDataSets(t *testing.T) {
	s := mustLoad(t, []string{"virtual.h5"}, nil, nil)
	t.Log(s.order, s.left)
	want := make([]float64, 36)
	for i := range want {
		switch row := i / 3; {
		case row < 8:
			want[i] = float64(i)
		case row == 9:
			want[i] = float64(3 + i%3)
		case row == 10:
			want[i] = float64(9 + i%3)
		default:
			want[i] = -1
		}
	}
	if got := values(s.cols["v"]); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for i, v := range values(s.cols["own"]) {
		if i%2 == 0 && v != float64(i/2) || i%2 == 1 && v != 5 {
			t.Errorf("own value %d is %v", i, v)
		}
	}
	if _, err := load([]string{"missing_source.h5"}, nil, nil); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "nowhere.h5") {
		t.Errorf("a missing source: %v", err)
	}
}

func TestOtherFilesOnlyOnRequestAndBelowTheFolder(t *testing.T) {
	yes := format.Options{"external": "true"}
	if _, err := load([]string{"external.h5"}, nil, nil); err == nil || !strings.Contains(err.Error(), "--external") {
		t.Errorf("without the option: %v", err)
	}
	s := mustLoad(t, []string{"external.h5"}, []string{"x"}, yes)
	want := []float64{2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5}
	if got := values(s.cols["x"]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	counts(t, mustLoad(t, []string{"external.h5"}, []string{"link"}, yes), "link", 8)
	if _, err := load([]string{"escape.h5"}, nil, yes); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "not below") {
		t.Errorf("data outside the folder: %v", err)
	}
	dir := t.TempDir()
	b, err := os.ReadFile("testdata/external.h5")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"a/external.h5": b, "secret": make([]byte, 100)} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "a/external.raw")); err != nil {
		t.Skip(err)
	}
	if _, err := load([]string{filepath.Join(dir, "a/external.h5")}, []string{"x"}, yes); err == nil {
		t.Error("a symbolic link led out of the folder")
	}
}

// TestSizesWithoutBytesAreNotBelieved opens data sets that claim what no file
// could hold, and stores nothing.
func TestSizesWithoutBytesAreNotBelieved(t *testing.T) {
	for _, name := range []string{"rows", "huge", "row", "chunk"} {
		if s, err := load([]string{"claims.h5"}, []string{name}, format.Options{"sample": "axis"}); !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
	s := mustLoad(t, []string{"claims.h5"}, []string{"few"}, nil)
	if v := values(s.cols["few"]); !slices.Equal(v, []float64{3, 3, 3, 3}) {
		t.Errorf("few: %v", v)
	}
	if g := mustLoad(t, []string{"claims_groups.h5"}, nil, nil); g.samples != 2 || g.left["x"] == "" || g.cols["y"] == nil {
		t.Errorf("groups: %d samples of %q, left out %v", g.samples, g.order, g.left)
	}
}

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		head, name string
		want       bool
	}{
		{signature, "x.bin", true}, {"MATLAB 7.3 MAT-file", "x.mat", true}, {"MATLAB 5.0 MAT-file", "x.mat", false},
		{"CDF\x01", "x.nc", false}, {"\x0e\x03\x13\x01", "x.hdf", false}, {"", "x.H5", true}, {"", "x.he5", true}, {"", "x.txt", false}, {"any", "x.txt", false},
	} {
		if got := sniff([]byte(c.head), c.name); got != c.want {
			t.Errorf("%q %s: %v", c.head, c.name, got)
		}
	}
}

func TestFilesThatAreNoHDF5AreLeftOut(t *testing.T) {
	dir := t.TempDir()
	readme := filepath.Join(dir, "README")
	broken := filepath.Join(dir, "x.h5")
	for _, p := range []string{readme, broken} {
		if err := os.WriteFile(p, []byte("no data here"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if s := mustLoad(t, []string{"calo.hdf5", readme}, nil, nil); s.samples != 20 {
		t.Errorf("%d samples beside a README", s.samples)
	}
	if _, err := load([]string{"calo.hdf5", broken}, nil, nil); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a file named .h5 that is not HDF5: %v", err)
	}
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string
		options format.Options
	}{
		{"rows", []string{"rows_a.h5", "rows_b.h5", "rows_a.h5"}, nil},
		{"types", []string{"types.h5", "types.h5"}, nil},
		{"groups", []string{"groups.h5", "groups_more.h5"}, nil},
		{"files", []string{"volume_0.h5", "volume_1.h5", "volume_0.h5"}, nil},
		{"tables", []string{"pytables.h5"}, nil},
		{"virtual", []string{"virtual.h5"}, nil},
		{"dimensions", []string{"dims_nine.nc", "dims_few.nc"}, nil},
		{"sparse", []string{"anndata.h5ad", "anndata_more.h5ad"}, nil},
		{"items", []string{"items.h5", "items.h5"}, asItems},
		{"images", []string{"items_void.h5"}, asItems},
		{"listed items", []string{"items_ids.h5"}, asItems},
		{"frames", []string{"frame_table.h5", "frame_table.h5"}, nil},
		{"fixed frames", []string{"frame_fixed.h5"}, nil},
		{"lists", []string{"lists.h5", "lists.h5"}, nil},
		{"indexed tables", []string{"lists_index.h5"}, nil},
		{"splits", []string{"splits_names.h5", "splits_names.h5"}, nil},
		{"rows of groups", []string{"atoms_spice.h5", "atoms_spice.h5"}, format.Options{"sample": "group-axis"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(c.files...), Columns: columns, State: state, Options: c.options, Jobs: 3, Splits: c.name == "splits"})
			})
		})
	}
}

// TestChunksLargerThanWhatIsKept cuts spans inside chunks, which are then decoded
// again for each.
func TestChunksLargerThanWhatIsKept(t *testing.T) {
	want := mustLoad(t, []string{"rows_a.h5"}, nil, nil)
	for _, c := range []struct{ keep, slab int64 }{{0, 512 << 20}, {0, 100}, {60, 300}, {1 << 20, 1}} {
		func() {
			oldKeep, oldSlab := array.KeepRow, look.SlabBytes
			defer func() { array.KeepRow, look.SlabBytes = oldKeep, oldSlab }()
			array.KeepRow, look.SlabBytes = c.keep, c.slab
			got := mustLoad(t, []string{"rows_a.h5"}, nil, nil)
			for name, col := range want.cols {
				if !bytes.Equal(col.Data, got.cols[name].Data) {
					t.Errorf("keep %d slab %d: %s differs", c.keep, c.slab, name)
				}
			}
		}()
	}
}

// TestEachChunkIsReadOnce reads two data sets whose chunks do not end together.
func TestEachChunkIsReadOnce(t *testing.T) {
	for _, name := range []string{"rows_a.h5", "calo.hdf5"} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf(name)})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		r, _ := src.Reader(0)
		r.(*reader).work.Decoded = map[*array.Array]int{}
		for _, sp := range readertest.Spans(t, src, 1) {
			mem, _ := shardify.NewPool(1<<30).Grant(context.Background(), sp.Bytes)
			if _, err := r.Read(context.Background(), sp, mem); err != nil {
				t.Fatal(err)
			}
		}
		for a, n := range r.(*reader).work.Decoded {
			table, err := a.Set.Chunks()
			if err != nil {
				t.Fatal(err)
			}
			if n != table.Stored() && len(a.Set.Filters) > 0 {
				t.Errorf("%s %s: %d chunks are decoded %d times in all", name, a.Path, table.Stored(), n)
			}
		}
	}
}

func TestTextThatIsNotUTF8(t *testing.T) {
	files := []string{"latin1.h5"}
	_, err := load(files, nil, nil)
	var e *shardify.Error
	if !errors.As(err, &e) || e.Sample != 2 || e.Object == "" || !strings.Contains(err.Error(), "--text bytes") {
		t.Errorf("latin-1 as text: %v", err)
	}
	s := mustLoad(t, files, nil, format.Options{"text": "bytes"})
	if c := s.cols["name"]; c.Media != "bin" || textsOf(c)[2] != "M\xfcller" {
		t.Errorf("as bytes: %s %q", c.Media, textsOf(c))
	}
}

func TestColumnsDoNotChangeWhatASampleIs(t *testing.T) {
	for _, c := range []struct {
		file    string
		columns []string
		samples int64
	}{
		{"rows_a.h5", []string{"group/constant"}, 23},
		{"cosmo_0.hdf5", []string{"unitPar"}, 1},
		{"netcdf.nc", []string{"lat"}, 3}, // it has no place beside the others
		{"groups.h5", []string{"goal"}, 12},
		{"groups.h5", []string{"obs/*"}, 12},
	} {
		if s := mustLoad(t, []string{c.file}, c.columns, nil); s.samples != c.samples {
			t.Errorf("%s %v: %d samples, want %d", c.file, c.columns, s.samples, c.samples)
		}
	}
	if _, err := load([]string{"netcdf.nc"}, []string{"t2m", "lat"}, nil); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("two lengths asked for by name: %v", err)
	}
}

func TestNaturalOrder(t *testing.T) {
	list := []string{"demo_10", "b", "demo_9", "demo_1", "demo_01", "a10", "a9b", "a9"}
	slices.SortFunc(list, naming.Natural)
	if want := []string{"a9", "a9b", "a10", "b", "demo_01", "demo_1", "demo_9", "demo_10"}; !slices.Equal(list, want) {
		t.Errorf("%q", list)
	}
}

func TestPickledNamesAreNeverExecuted(t *testing.T) {
	if got := pandas.PickledTexts("(lp0\nVa\np1\naVb c\np2\na."); !slices.Equal(got, []string{"a", "b c"}) {
		t.Errorf("%q", got)
	}
	for _, s := range []string{"", "(lp0\n", "(lp0\nVa\np1\na", "cos\nsystem\n(S'x'\ntR.", "(lp0\nV\\u00e9\np1\na.", "(lp0\nI1\na.", "(lp0\ncos\nsystem\np1\na."} {
		if got := pandas.PickledTexts(s); got != nil {
			t.Errorf("%q gives %q", s, got)
		}
	}
}

func TestOutlineListsDataSetsThatMakeNoTable(t *testing.T) {
	lines, err := outline(context.Background(), local.Files, "testdata/types.h5")
	if err != nil || len(lines) < 10 || !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "/") && strings.Contains(l, "big-endian") }) {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestEveryNameOfADataSetCanBeAskedFor: a data set that NeXus files link from two places,
// or behind a soft link, is found by each of its names, once.
func TestEveryNameOfADataSetCanBeAskedFor(t *testing.T) {
	for _, c := range []struct {
		columns []string
		order   string
		samples int64
		err     string
	}{
		{nil, "", 0, "have 7 rows; /few 3: --columns '!few'"},
		{[]string{"!few"}, "again table/a table/b x", 7, ""},
		{[]string{"group/y"}, "group/y", 7, ""},
		{[]string{"x", "/group/y"}, "group/y x", 7, ""},
		{[]string{"second/y"}, "second/y", 7, ""},
		{[]string{"group/back/x"}, "group/back/x", 7, ""},
		{[]string{"soft"}, "soft", 7, ""},
		{[]string{"view/b", "again"}, "again view/b", 7, ""},
		{[]string{"b"}, "table/b", 7, ""},
		{[]string{"few_too"}, "few_too", 3, ""},
		{[]string{"soft", "x"}, "", 0, "soft: another name of /x"},
		{[]string{"again", "group/y"}, "", 0, "another name of /again"},
		{[]string{"x", "few_too"}, "", 0, "/few_too has 3 rows, /x has 7"},
		{[]string{"nowhere"}, "", 0, `no field "nowhere"`},
		{[]string{"self"}, "", 0, `no field "self"`},
		{[]string{"x/y"}, "", 0, `no field "x/y"`},
	} {
		s, err := load([]string{"links.h5"}, c.columns, nil)
		if err != nil || c.err != "" {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %q", c.columns, err, c.err)
			}
			continue
		}
		if got := strings.Join(s.order, " "); got != c.order || s.samples != c.samples {
			t.Errorf("%v: %d samples of %s, want %s", c.columns, s.samples, got, c.order)
		}
		for _, name := range s.order {
			if v := values(s.cols[name]); name != "table/a" && v[len(v)-1] != float64(len(v)-1) {
				t.Errorf("%v: %s is %v", c.columns, name, v)
			}
		}
	}
}

// TestCategoriesStayWithTheirCodes: pandas keeps them in a table of another length, and
// the codes of two files mean the same only if they agree.
func TestCategoriesStayWithTheirCodes(t *testing.T) {
	s := mustLoad(t, []string{"frame_categories.h5"}, nil, nil)
	c := s.cols["df/table/kind"]
	if c == nil || c.Attrs["labels"] != "sig\nbg" {
		t.Fatalf("%v: %+v", s.order, c)
	}
	if v := values(c)[:4]; !slices.Equal(v, []float64{0, 1, -1, 0}) {
		t.Errorf("codes %v", v)
	}
	if why := s.left["df/meta/values_block_1/meta/table"]; !strings.Contains(why, "categories") {
		t.Errorf("left out %v", s.left)
	}
}

// TestAFileOfOneRowDoesNotDecideForTheOthers: the part of a set that happens to come first
// may hold a single row.
func TestAFileOfOneRowDoesNotDecideForTheOthers(t *testing.T) {
	for _, c := range []struct {
		files   []string
		sample  string
		samples int64
		levels  int // of y
	}{
		{[]string{"part_1.h5", "part_7.h5"}, "auto", 8, 0},
		{[]string{"part_7.h5", "part_1.h5"}, "auto", 8, 0},
		{[]string{"part_1.h5", "part_1.h5", "part_7.h5"}, "auto", 9, 0},
		{[]string{"part_1.h5", "part_1.h5"}, "auto", 2, 0}, // of shape [1]
		{[]string{"part_1.h5"}, "axis", 1, 0},
		{[]string{"part_1.h5", "part_7.h5"}, "file", 2, 1},
	} {
		s, err := load(c.files, nil, format.Options{"sample": c.sample})
		if err != nil || s.samples != c.samples || s.cols["y"].Levels != c.levels {
			t.Errorf("%v --sample %s: %+v, %v", c.files, c.sample, s, err)
		}
	}
	if _, err := load([]string{"part_1.h5"}, nil, nil); err == nil || !strings.Contains(err.Error(), "all data sets have one row: /x [1 2], /y [1]: --sample axis") {
		t.Errorf("one row alone: %v", err)
	}
}
