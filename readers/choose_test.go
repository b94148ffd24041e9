package readers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// write makes files below dir; a name that ends in / is an empty folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(p, 0o777); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	npy  = "\x93NUMPY\x01\x00"
	zipf = "PK\x03\x04"
	cdf  = "CDF\x01"
	hdf  = "\x89HDF\r\n\x1a\n"
	png  = "\x89PNG\r\n\x1a\n"
)

var (
	dicm   = strings.Repeat("\x00", 128) + "DICM"
	nifti1 = "\x5c\x01\x00\x00" + strings.Repeat("\x00", 340) + "ni1\x00" // the header alone
)

func TestFormatIsFoundByFirstBytesThenNameThenCensus(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		inputs []string
		want   string // format, or "" for an error that holds says
		says   string
	}{
		{"npy by its bytes, whatever its name", map[string]string{"x.dat": npy}, []string{"x.dat"}, "npz", "first bytes"},
		{"npz by its name", map[string]string{"x.npz": zipf}, []string{"x.npz"}, "npz", ""},
		{"image", map[string]string{"a": png}, []string{"a"}, "files", ""},
		{"mmap set", map[string]string{"s/shardify.json": "{\n  \"shardify\": 1,\n  \"format\": \"mmap\","}, []string{"s"}, "mmap", "data set"},
		{"wds set by its manifest", map[string]string{"s/shardify.json": "{\n  \"shardify\": 1,\n  \"format\": \"wds\","}, []string{"s/shardify.json"}, "wds", ""},
		{"folder of arrays", map[string]string{"d/1.npz": zipf, "d/e/2.npy": npy, "d/README.txt": ""}, []string{"d"}, "npz", "2 of 2 files"},
		{"folder of images", map[string]string{"d/a/1.jpg": "", "d/b/2.png": ""}, []string{"d"}, "files", "folder of files"},
		{"a table about images", map[string]string{"d/1.jpg": "", "d/2.jpg": "", "d/metadata.parquet": ""}, []string{"d"}, "files", "folder of files"},
		{"a table beside images", map[string]string{"d/1.jpg": "", "d/2.jpg": "", "d/3.jpg": "", "d/x.parquet": ""}, []string{"d"}, "", "--from parquet or --from files"},
		{"a table called metadata", map[string]string{"d/metadata.parquet": ""}, []string{"d"}, "parquet", "1 of 1 files"},
		{"netCDF by its bytes", map[string]string{"a.nc": cdf}, []string{"a.nc"}, "netcdf3", "first bytes"},
		{"folder of netCDF-3", map[string]string{"d/a.nc": cdf, "d/b.nc": cdf}, []string{"d"}, "netcdf3", "first bytes"},
		{"folder of NetCDF-4", map[string]string{"d/a.nc": hdf, "d/b.nc": hdf}, []string{"d"}, "hdf5", "2 of 2 files"},
		{"pattern of netCDF-3", map[string]string{"a.nc": cdf, "b.nc": cdf}, []string{"*.nc"}, "netcdf3", "first bytes"},
		{"netCDF-3 beside NetCDF-4", map[string]string{"a.nc": cdf, "b.nc": hdf}, []string{"a.nc", "b.nc"}, "", "a.nc is netcdf3"},
		{"DICOM without extensions", map[string]string{"d/a/IM1": dicm, "d/a/1.2.840.7": dicm, "d/DICOMDIR": dicm}, []string{"d"}, "dicom", "first bytes"},
		{"files without extensions", map[string]string{"d/a/IM1": "x", "d/a/1.2.840.7": "y"}, []string{"d"}, "files", "folder of files"},
		{"headers and values of NIfTI", map[string]string{"d/1.hdr": nifti1, "d/1.img": "x", "d/2.hdr": nifti1, "d/2.img": "x"}, []string{"d"}, "nifti", "first bytes"},
		{"headers and values of others", map[string]string{"d/1.hdr": "ENVI", "d/1.img": "x"}, []string{"d"}, "files", "folder of files"},
		{"folder of texts", map[string]string{"d/a/1.txt": "x\n", "d/b/2.txt": "y\n"}, []string{"d"}, "files", "folder of files"},
		{"a text without a setting for its samples", map[string]string{"x.txt": "x\n"}, []string{"x.txt"}, "", "neither the first bytes nor the name"},
		{"arrays beside images of one stem are members", map[string]string{"d/1.jpg": "", "d/1.npy": npy, "d/2.jpg": "", "d/2.npy": npy}, []string{"d"}, "files", "one stem"},
		{"litter does not count", map[string]string{"d/1.npz": zipf, "d/._1.npz": "", "d/.DS_Store": "", "d/Thumbs.db": "", "d/.x": ""}, []string{"d"}, "npz", "1 of 1"},
		{"a Zarr store by its root", map[string]string{"d/zarr.json": "", "d/x/c/0": ""}, []string{"d"}, "zarr", "folder with zarr.json"},
		{"stores in a folder", map[string]string{"d/a.zarr/.zgroup": "", "d/b.zarr/.zgroup": "", "d/notes.txt": ""}, []string{"d"}, "zarr", "2 of 3 files"},
		{"a group in a store", map[string]string{"d.zarr/.zgroup": "", "d.zarr/x/.zarray": ""}, []string{"d.zarr:x"}, "zarr", ""},
		{"a store in an archive", map[string]string{"x.zip": zipf}, []string{"x.zip"}, "zarr", "first bytes"},
		{"images beside an archive", map[string]string{"d/1.jpg": "", "d/2.jpg": "", "d/x.zip": zipf}, []string{"d"}, "files", "folder of files"},
		{"hdf5 by its bytes", map[string]string{"x.dat": hdf}, []string{"x.dat"}, "hdf5", "first bytes"},
		{"root by its bytes", map[string]string{"x.dat": "root\x00\x00\xf2\xd8"}, []string{"x.dat"}, "root", "first bytes"},
		{"folder of hdf5", map[string]string{"d/1.h5": hdf, "d/2.hdf5": hdf, "d/notes.txt": ""}, []string{"d"}, "hdf5", "2 of 3 files"},
		{"folder of two formats", map[string]string{"d/1.h5": hdf, "d/2.npz": zipf}, []string{"d"}, "", "hdf5 and of npz: choose with --from"},
		{"a tree in a file", map[string]string{"x.root": "root\x00\x00\xf2\xd8"}, []string{"x.root:dir/Events"}, "root", ""},
		{"a tree in files of a pattern", map[string]string{"x.root": "root\x00\x00\xf2\xd8"}, []string{"*.root:Events"}, "root", ""},
		{"a colon in a name", map[string]string{"a:b.npz": zipf}, []string{"a:b.npz"}, "npz", ""},
		{"mixture", map[string]string{"d/1.npz": zipf, "d/a.jpg": "", "d/b.jpg": ""}, []string{"d"}, "", "--from npz or --from files"},
		{"quoted pattern", map[string]string{"d/1.npz": zipf}, []string{"d/*.npz"}, "npz", ""},
		{"quoted pattern without a name", map[string]string{"d/a/1.jpg": "", "d/b/2.jpg": ""}, []string{"d/*"}, "files", "folder of files"},
		{"quoted pattern of files without a name", map[string]string{"d/1.dat": npy, "d/2.dat": npy}, []string{"d/*"}, "npz", "first bytes"},
		{"two formats", map[string]string{"a.npz": zipf, "b.jpg": png}, []string{"a.npz", "b.jpg"}, "", "is npz"},
		{"a conversion that is not finished", map[string]string{"s/.shardify/plan": "", "s/shard-000000.tar": "x"}, []string{"s"}, "", "shardify status s shows"},
		{"a split of one", map[string]string{"s/.shardify/plan": "", "s/train/shard-000000.safetensors": "x"}, []string{"s/train/"}, "", "shardify status s shows"},
		{"a damaged manifest", map[string]string{"s/shardify.json": "garbage"}, []string{"s"}, "", "shardify verify s says more"},
		{"a shard in place of its set", map[string]string{"s/shardify.json": "{}", "s/shard-000000.safetensors": "x"}, []string{"s/shard-000000.safetensors"}, "", "name its folder, s"},
		{"unknown bytes and name", map[string]string{"a.xyz": "what"}, []string{"a.xyz"}, "", "neither the first bytes nor the name"},
		{"empty folder", map[string]string{"d/": ""}, []string{"d"}, "", "no input files"},
		{"missing", nil, []string{"none.npz"}, "", "does not exist"},
		{"address", nil, []string{"s3a://b/k"}, "", "aws s3"},
		{"another tool's kind", map[string]string{"t.array_record": "a,b"}, []string{"t.array_record"}, "", "array_record reads it"},
		{"a table", map[string]string{"t.csv": "a,b"}, []string{"t.csv"}, "csv", "name of t.csv"},
		{"a table beside images", map[string]string{"d/1.jpg": "", "d/2.jpg": "", "d/3.jpg": "", "d/labels.csv": "a,b"}, []string{"d"}, "files", ""},
		{"a data set of Hugging Face", map[string]string{"d/train/data-00000-of-00001.arrow": "", "d/train/state.json": "{}", "d/train/dataset_info.json": "{}", "d/dataset_dict.json": "{}"}, []string{"d"}, "arrow", "1 of 1 files"},
		{"a table beside arrays", map[string]string{"d/1.npz": zipf, "d/labels.csv": "a,b"}, []string{"d"}, "npz", "1 of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			write(t, dir, c.files)
			f, why, err := Choose(context.Background(), nil, "", c.inputs)
			if c.want == "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%s, %v; want an error with %q", f.Name, err, c.says)
				}
				return
			}
			if err != nil || f.Name != c.want || !strings.Contains(why, c.says) {
				t.Fatalf("%s (%s), %v; want %s (%s)", f.Name, why, err, c.want, c.says)
			}
		})
	}
}

func TestLinkedFoldersCount(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"real/1.npz": zipf, "in/": ""})
	if err := errors.Join(os.Symlink("../real", filepath.Join(dir, "in", "link")), os.Symlink("..", filepath.Join(dir, "in", "up"))); err != nil {
		t.Skip(err)
	}
	if f, why, err := Choose(context.Background(), nil, "", []string{filepath.Join(dir, "in")}); err != nil || f.Name != "npz" {
		t.Errorf("%s (%s), %v", f.Name, why, err)
	}
}

func TestFormatAskedForWins(t *testing.T) {
	if f, why, err := Choose(context.Background(), nil, "files", []string{"a.npz"}); err != nil || f.Name != "files" || why != "asked for" {
		t.Errorf("%s (%s), %v", f.Name, why, err)
	}
	if _, _, err := Choose(context.Background(), nil, "nope", nil); !errors.Is(err, ErrUndecided) {
		t.Errorf("unknown format: %v", err)
	}
	if f, _ := ChooseListed(context.Background(), nil, []string{"x/.hidden", "x/1.npz"}); f.Name != "npz" {
		t.Errorf("list of npz: %s", f.Name)
	}
	old := filepath.Join(t.TempDir(), "old.nc")
	if err := os.WriteFile(old, []byte(cdf), 0o666); err != nil {
		t.Fatal(err)
	}
	if f, _ := ChooseListed(context.Background(), nil, []string{old, "x/2.nc"}); f.Name != "netcdf3" {
		t.Errorf("list of netCDF-3: %s", f.Name)
	}
	if f, _ := ChooseListed(context.Background(), nil, []string{"data/LICENSE", "data/0001"}); f.Name != "files" {
		t.Errorf("list of files without a telling name: %s", f.Name)
	}
}

// TestZipKeepsInputsApart: files of one folder share a root, except where each
// input stands for columns of its own.
func TestZipKeepsInputsApart(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{"x.npy": npy, "y.npy": npy})
	npzFormat, _ := Lookup("npz")
	for zip, want := range map[string]int{"true": 2, "false": 1} {
		table, _, err := List(context.Background(), npzFormat, Request{Inputs: []string{"x.npy", "y.npy"}, Options: format.Options{"zip": zip}})
		if err != nil || table.Len() != 2 || len(table.Roots) != want {
			t.Errorf("zip %s: %v, roots %v", zip, err, table.Roots)
		}
		if err == nil && (table.Path(0) != "x.npy" || table.Path(1) != "y.npy") {
			t.Errorf("zip %s: %s, %s", zip, table.Path(0), table.Path(1))
		}
	}
}

func TestDataSetsAreNamedOnceEach(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/shardify.json": "{}", "b/shardify.json": "{}"})
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	table, err := sets(context.Background(), local.Files, []string{a, filepath.Join(b, "shardify.json")})
	if err != nil || table.Len() != 2 || table.Path(1) != filepath.Join(b, "shardify.json") || table.Name(0) != "shardify.json" {
		t.Errorf("%v %+v", err, table)
	}
	if _, err := sets(context.Background(), local.Files, []string{a, filepath.Join(a, "shardify.json")}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("one set twice: %v", err)
	}
	if _, err := sets(context.Background(), local.Files, []string{filepath.Join(dir, "c"), filepath.Join(dir, "d")}); err == nil || strings.Count(err.Error(), "no such file") != 2 {
		t.Errorf("two missing sets: %v", err)
	}
}

// TestTablesAreFit: what is made from the tables (flags, messages) relies on it.
func TestTablesAreFit(t *testing.T) {
	for _, f := range Formats {
		if f.Name == "" || f.Help == "" || f.Open == nil || strings.HasSuffix(f.Help, ".") {
			t.Errorf("format %q: a name, help without a full stop, and Open", f.Name)
		}
		if g, ok := Lookup(f.Name); !ok || g.Help != f.Help {
			t.Errorf("format %q is listed twice", f.Name)
		}
		for _, o := range f.Options {
			if o.Help == "" || o.Default != "" && o.Check(o.Default) != nil {
				t.Errorf("format %s: option %q: help %q, default %q", f.Name, o.Name, o.Help, o.Default)
			}
		}
	}
}

func TestObjectsInInputsAgreeWithEachOtherAndTheOption(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{"a.root": "", "b.root": "", "c:d.root": ""})
	f, _ := Lookup("root")
	for _, c := range []struct {
		inputs []string
		given  string
		want   string // the object; "" for an error
		files  string
	}{
		{[]string{"a.root:Events", "b.root:Events"}, "", "Events", "a.root b.root"},
		{[]string{"a.root:Events", "b.root"}, "", "Events", "a.root b.root"},
		{[]string{"a.root", "c:d.root:x/y;2"}, "x/y;2", "x/y;2", "a.root c:d.root"},
		{[]string{"a.root:Events", "b.root:Runs"}, "", "", ""},
		{[]string{"a.root:Events"}, "Runs", "", ""},
	} {
		given := format.Options{objectOption: c.given}
		r := Request{Inputs: c.inputs, Options: given}
		err := splitObjects(context.Background(), &f, &r)
		if c.want == "" {
			if !errors.Is(err, shardify.ErrSchema) {
				t.Errorf("%q with %q: %v", c.inputs, c.given, err)
			}
			continue
		}
		if err != nil || r.Options[objectOption] != c.want || strings.Join(r.Inputs, " ") != c.files {
			t.Errorf("%q with %q: %q of %q, %v", c.inputs, c.given, r.Options[objectOption], r.Inputs, err)
		}
		if given[objectOption] != c.given {
			t.Error("the caller's options changed")
		}
	}
}

// TestFoldersWithAMarkAreOfItsFormat: whatever else is in them.
func TestFoldersWithAMarkAreOfItsFormat(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"features.json", "a.labels.txt", "b.labels.txt", "c-train.tfrecord-00000-of-00001"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, why, err := Choose(context.Background(), nil, "", []string{dir})
	if err != nil || f.Name != "tfrecord" || why != "folder with features.json" {
		t.Errorf("%s, %s, %v", f.Name, why, err)
	}
}

func TestIndexesOfTarsElsewhereAreNoSamples(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	const block = 512
	head := []byte("1.txt" + strings.Repeat("\x00", 95) + "0000644\x000000000\x000000000\x0000000000001\x0000000000000\x00        0" + strings.Repeat("\x00", block-157))
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	write(t, dir, map[string]string{"a.tar": string(head) + "x" + strings.Repeat("\x00", 3*block-1)})
	_, b, err := dataset.IndexTars(t.Context(), storages.Files, dir, to)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, map[string]string{dataset.TarsIndexName: string(b)})
	if f, _, err := Choose(t.Context(), nil, "", []string{to}); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%q, %v", f.Name, err)
	}
	write(t, dir, map[string]string{dataset.TarsIndexName: string(b)})
	if f, _, err := Choose(t.Context(), nil, "", []string{dir}); err != nil || f.Name != "tar" {
		t.Errorf("beside tars: %q, %v", f.Name, err)
	}
}
