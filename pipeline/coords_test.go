package pipeline

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
)

const gridFile = "../readers/hdf5/testdata/grid_a.nc"

// TestCoordinatesOfGridsAreKept: a set knows where the rows and columns of its fields are, of
// channels, too, and so does a set that is made of it.
func TestCoordinatesOfGridsAreKept(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	grid := func(name, sel string) string {
		t.Helper()
		out := filepath.Join(dir, name)
		s := Settings{Inputs: []string{gridFile}, Output: out, Options: format.Options{"sel": sel, "channels": "x=deep@850,plain,deep@500"}, Columns: []string{"x", "step", "deep"}}
		if _, err := Convert(ctx, s); err != nil {
			t.Fatal(err)
		}
		return out
	}
	set := grid("set", "latitude=-30..60,longitude=-60..30")
	m, _ := manifestOf(t, set)
	if got := slices.Sorted(maps.Keys(m.Coords)); !slices.Equal(got, []string{"channel", "latitude", "latitude.weight_area", "latitude.weight_cos", "longitude"}) {
		t.Fatalf("coordinates %v", got)
	}
	if c := m.Coords["latitude"]; c.DType != format.CoordF32 || !slices.Equal(c.Floats, []float64{60, 30, 0, -30}) || c.Attrs["unit"] != "degrees_north" {
		t.Errorf("latitude: %+v", c)
	}
	if c := m.Coords["longitude"]; !slices.Equal(c.Floats, []float64{300, 330, 0, 30}) {
		t.Errorf("longitude: %+v", c)
	}
	if c := m.Coords["channel"]; !slices.Equal(c.Texts, []string{"deep@850", "plain", "deep@500"}) {
		t.Errorf("channels: %+v", c)
	}
	for _, f := range m.Schema {
		if want := []string{"channel", "latitude", "longitude"}; f.Name == "x" && !slices.Equal(f.Dims(), want) || f.Name == "step" && !slices.Equal(f.Dims(), want[1:]) {
			t.Errorf("%s has the dimensions %v", f.Name, f.Dims())
		}
	}
	d, err := gpuload.Open(ctx, set)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := d.Coords(); err != nil || !reflect.DeepEqual(c, m.Coords) {
		t.Errorf("the loader has %v, %v", c, err)
	}

	again := filepath.Join(dir, "again")
	if _, err := Convert(ctx, Settings{Inputs: []string{set}, Output: again, Format: "wds", Columns: []string{"step"}}); err != nil {
		t.Fatal(err)
	}
	n, _ := manifestOf(t, again)
	if len(n.Coords) != 4 || !reflect.DeepEqual(n.Coords["latitude"], m.Coords["latitude"]) {
		t.Errorf("made again: %v", n.Coords)
	}

	merge := func(name string, inputs ...string) error {
		_, err := MergeSets(ctx, MergeSettings{Inputs: inputs, Output: filepath.Join(dir, name)})
		return err
	}
	if err := merge("both", set, grid("same", "latitude=-30..60,longitude=-60..30,time=2018-01-02")); err != nil {
		t.Fatal(err)
	}
	if b, _ := manifestOf(t, filepath.Join(dir, "both")); !reflect.DeepEqual(b.Coords, m.Coords) {
		t.Errorf("merged: %v", b.Coords)
	}
	other := grid("other", "latitude=-60..30,longitude=-60..30")
	if err := merge("all", set, other); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "coordinate latitude has other values: 30 ... -60 here, 60 ... -30 there") {
		t.Errorf("merged sets of two grids: %v", err)
	}
	if _, err := Convert(ctx, Settings{Inputs: []string{set, other}, Output: filepath.Join(dir, "joined")}); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("converted sets of two grids: %v", err)
	}
}

// TestExtensionsHaveTheGridOfTheSet: the same coordinates stay, others are refused before any work.
func TestExtensionsHaveTheGridOfTheSet(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	rows := func(name, latitude string) string {
		t.Helper()
		out := filepath.Join(dir, name)
		s := Settings{Inputs: []string{gridFile}, Output: out, Options: format.Options{"sel": "latitude=" + latitude}, Columns: []string{"step"}}
		if _, err := Convert(ctx, s); err != nil {
			t.Fatal(err)
		}
		return out
	}
	set, same, other := rows("set", "-30..60"), rows("same", "-30..60"), rows("other", "-60..30")
	from := rows("from", "-30..60")
	again := filepath.Join(dir, "again")
	if _, err := Convert(ctx, Settings{Inputs: []string{from}, Output: again}); err != nil {
		t.Fatal(err)
	}
	want, _ := manifestOf(t, set)
	if _, err := Extend(ctx, again, Settings{Inputs: []string{other}}, false); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "coordinate latitude has other values") {
		t.Fatalf("extended by another grid: %v", err)
	}
	if _, err := Extend(ctx, again, Settings{Inputs: []string{same}}, false); err != nil {
		t.Fatal(err)
	}
	m, _ := manifestOf(t, again)
	if m.Samples != 2*want.Samples || len(m.Coords) == 0 || !reflect.DeepEqual(m.Coords, want.Coords) {
		t.Errorf("extended: %d samples, %v", m.Samples, m.Coords)
	}
}

// TestCoordinatesThatOnlySomeSetsHaveAreNamed: sets are of one grid where all know it, and of none
// where two know others.
func TestCoordinatesThatOnlySomeSetsHaveAreNamed(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	convert := func(name string, s Settings) string {
		t.Helper()
		s.Output, s.Columns, s.Sync, s.Jobs = filepath.Join(dir, name), []string{"step"}, "none", 1
		if _, err := Convert(ctx, s); err != nil {
			t.Fatal(name, err)
		}
		return s.Output
	}
	rows := func(name, latitude string) string {
		return convert(name, Settings{Inputs: []string{gridFile}, Options: format.Options{"sel": "latitude=" + latitude}})
	}
	set, other := rows("set", "-30..60"), rows("other", "-60..30")
	plain := rows("plain", "-30..60")
	m, _ := manifestOf(t, plain)
	m.Coords = nil
	text, err := m.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(plain, index.ManifestName), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"latitude", "latitude.weight_area", "latitude.weight_cos", "longitude"}

	var lost []string
	s := MergeSettings{Inputs: []string{plain, set}, Output: filepath.Join(dir, "merged"), Jobs: 1, Sync: "none", Planned: func(p SetsPlan) { lost = p.Coords }}
	if _, err := MergeSets(ctx, s); err != nil {
		t.Fatal(err)
	}
	if m, _ := manifestOf(t, s.Output); m.Coords != nil || !slices.Equal(lost, want) {
		t.Errorf("merged: %v, left out %v", m.Coords, lost)
	}
	s.Inputs, s.Output = []string{plain, set, other}, filepath.Join(dir, "three")
	if _, err := MergeSets(ctx, s); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("merged sets of two grids behind one without: %v", err)
	}

	if m, _ := manifestOf(t, convert("again", Settings{Inputs: []string{plain, set}})); m.Coords != nil || len(m.LeftOut) != len(want) || m.LeftOut[0].Name != "coordinate "+want[0] {
		t.Errorf("made again: %v, left out %v", m.Coords, m.LeftOut)
	}

	base := convert("base", Settings{Inputs: []string{rows("from", "-30..60")}})
	var left []format.Leftover
	x := Settings{Inputs: []string{plain}, Sync: "none", Jobs: 1}
	if _, err := Extend(WithHooks(ctx, Hooks{Planned: func(p *Prepared) { left = p.Facts().LeftOut }}), base, x, false); err != nil {
		t.Fatal(err)
	}
	if m, _ := manifestOf(t, base); m.Coords != nil || len(left) != len(want) || left[3].Name != "coordinate "+want[3] {
		t.Errorf("extended: %v, left out %v", m.Coords, left)
	}
}

// TestCoordinatesThatAreTooLongAreNamed: a set keeps those of the part that was taken.
func TestCoordinatesThatAreTooLongAreNamed(t *testing.T) {
	in, dir := t.TempDir(), t.TempDir()
	const cells = format.MaxCoord + 10
	array := func(name, shape, dims string, values []float32) {
		t.Helper()
		folder := filepath.Join(in, name)
		chunk := "0" + strings.Repeat(".0", strings.Count(shape, ","))
		for file, text := range map[string]string{
			".zarray": `{"zarr_format":2,"shape":[` + shape + `],"chunks":[` + shape + `],"dtype":"<f4","order":"C","compressor":null,"fill_value":null,"filters":null}`,
			".zattrs": `{"_ARRAY_DIMENSIONS":[` + dims + `]}`, chunk: string(shardify.Bytes(values)),
		} {
			if err := errors.Join(os.MkdirAll(folder, 0o777), os.WriteFile(filepath.Join(folder, file), []byte(text), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(in, ".zgroup"), []byte(`{"zarr_format":2}`), 0o666); err != nil {
		t.Fatal(err)
	}
	n := strconv.Itoa(cells)
	at := make([]float32, cells)
	for i := range at {
		at[i] = float32(i)
	}
	array("cell", n, `"cell"`, at)
	array("time", "2", `"time"`, []float32{0, 1})
	array("x", "2,"+n, `"time","cell"`, make([]float32, 2*cells))
	for sel, want := range map[string]int{"": 0, "cell=5..7": 3} {
		s := Settings{Inputs: []string{in}, Output: filepath.Join(dir, "set"+sel), Sync: "none", Jobs: 1, Columns: []string{"x"}}
		if sel != "" {
			s.Options = format.Options{"sel": sel}
		}
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		m, _ := manifestOf(t, s.Output)
		c := m.Coords["cell"]
		named := slices.ContainsFunc(m.LeftOut, func(l format.Leftover) bool {
			return l.Name == "coordinate cell" && strings.HasPrefix(l.Reason, n+" values")
		})
		if c.Len() != want || named != (want == 0) {
			t.Errorf("sel %q: %d values, left out %v", sel, c.Len(), m.LeftOut)
		}
	}
}
