package readers

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// idle are inputs for which an option has no effect, and inputs for which it has one.
type idle struct {
	format, option, value string
	useless               string   // the value for without; "": value
	without, with         []string // inputs
	columns               []string // of without, which may be with
	others                format.Options
}

// TestEachOptionSaysWhenItHasNoEffect, or that it always has one: for each that says it, one input
// where it is an error and one where it is accepted.
func TestEachOptionSaysWhenItHasNoEffect(t *testing.T) {
	have := map[string]bool{}
	for _, c := range idles(t) {
		have[c.format+" "+c.option] = true
		f := mustLookup(t, c.format)
		for _, effect := range []bool{false, true} {
			given := format.Options{c.option: c.value}
			if !effect && c.useless != "" {
				given[c.option] = c.useless
			}
			for k, v := range c.others {
				given[k] = v
			}
			options, err := format.CheckOptions(f.Options, given)
			if err != nil {
				t.Fatal(err)
			}
			r := Request{Inputs: c.with, Options: options}
			if !effect {
				r.Inputs, r.Columns = c.without, c.columns
			}
			o, err := Open(t.Context(), f, r)
			if err != nil {
				t.Errorf("%s --%s %s: %v", c.format, c.option, c.value, err)
				continue
			}
			err = o.Idle(&f, given)
			decl := f.Options[slices.IndexFunc(f.Options, func(o format.Option) bool { return o.Name == c.option })]
			satisfied := slices.Contains(decl.Off, given[c.option]) // where the thing is not there
			if (effect || satisfied) && err != nil || !effect && !satisfied && (!errors.Is(err, shardify.ErrUsage) || !strings.Contains(err.Error(), " has no effect: ") || !strings.Contains(err.Error(), "--"+c.option)) {
				t.Errorf("%s --%s %s of %v: effect %v, %v", c.format, c.option, c.value, r.Inputs, effect, err)
			}
			if err := o.Idle(&f, format.Options{c.option: options[c.option]}); effect && err != nil {
				t.Error(err)
			}
			o.Source.Close()
		}
	}
	for i := range Formats {
		for _, o := range Formats[i].Options {
			name := Formats[i].Name + " " + o.Name
			switch always := o.Idle == format.Always || o.Idle == format.Permission; {
			case o.Idle == "":
				t.Errorf("%s does not say when it has no effect", name)
			case always == have[name]:
				t.Errorf("%s has no effect where %s; tested: %v", name, o.Idle, have[name])
			}
		}
	}
}

func idles(t *testing.T) []idle {
	dir := t.TempDir()
	put := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	npy := func(shape string, n int) string {
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape)
		head += strings.Repeat(" ", 127-10-len(head)) + "\n"
		return "\x93NUMPY\x01\x00\x76\x00" + head + strings.Repeat("\x00\x00\x80\x3f", n)
	}
	array := func(store, name, dtype, shape, attrs string, n int) {
		put(store+"/.zgroup", `{"zarr_format":2}`)
		put(store+"/"+name+"/.zarray", fmt.Sprintf(`{"zarr_format":2,"shape":%s,"chunks":%[1]s,"dtype":%q,"compressor":null,"filters":null,"fill_value":null,"order":"C"}`, shape, dtype))
		put(store+"/"+name+"/.zattrs", attrs)
		put(store+"/"+name+"/"+strings.TrimSuffix(strings.Repeat("0.", 1+strings.Count(shape, ",")), "."), strings.Repeat("\x00", n))
	}
	line, matrix := put("line/a.npy", npy("(3,)", 3)), put("matrix/a.npy", npy("(3, 2)", 6))
	for _, name := range []string{"cat/a.1.npy", "cat/b.npy", "dog/c.npy", "dog/d.npy"} {
		put("classes/"+name, npy("(3,)", 3))
	}
	for _, name := range []string{"a", "b", "c"} {
		put("one/"+name+".npy", npy("(3,)", 3))
	}
	array("plain.zarr", "x", "<f4", "[3]", "{}", 12)
	array("all.zarr", "x", "<i2", "[3,2]", `{"scale_factor":0.5}`, 12)
	array("texts.zarr", "s", "<U1", "[3]", "{}", 12)
	array("lists.zarr", "x", "<f4", "[3]", "{}", 12)
	array("lists.zarr", "x_offsets", "<i8", "[3]", "{}", 24)
	for _, class := range []string{"cat", "dog"} {
		for i := range 8 {
			put(fmt.Sprintf("images/%s/%s%d.png", class, class, i), "x")
		}
	}
	put("flat/a.png", "x")
	put("flat/a.txt", "x")
	h5 := func(name string) []string { return []string{"hdf5/testdata/" + name} }
	nc := func(name string) []string { return []string{"netcdf3/testdata/" + name + ".nc"} }
	lists := put("lists.nc", vectors("x", "x_offsets"))
	in := func(name string) []string { return []string{filepath.Join(dir, name)} }
	byFile := format.Options{"sample": "file"}
	list := []idle{
		{format: "npz", option: "axis", value: "0", without: []string{line}, with: []string{matrix}},
		{format: "hdf5", option: "object", value: "/x*,/note", useless: "/x*,/nothing", with: h5("ends.h5"), others: byFile},
		{format: "zarr", option: "object", value: "x,x_offsets", useless: "x,nothing", with: in("lists.zarr")},
		{format: "hdf5", option: "axis", value: "0", without: h5("pytables.h5"), with: h5("calo.hdf5")},
		{format: "hdf5", option: "frame", value: "columns", without: h5("calo.hdf5"), with: h5("frame_fixed.h5")},
		{format: "hdf5", option: "frame", value: "blocks", without: h5("calo.hdf5"), with: h5("frame_fixed.h5")},
		{format: "hdf5", option: "text", value: "bytes", without: h5("calo.hdf5"), with: h5("types.h5")},
		{format: "root", option: "counters", value: "own", without: []string{"root/testdata/friend-0.root"}, with: []string{"root/testdata/keys/own-0.root"}},
		{format: "root", option: "text", value: "bytes", without: []string{"root/testdata/friend-0.root"}, with: []string{"root/testdata/events-0.root:Events"}},
		{format: "parquet", option: "text", value: "bytes", without: []string{"parquet/testdata/split-ints.parquet"}, with: []string{"parquet/testdata/flat.parquet"}},
		{format: "arrow", option: "text", value: "bytes", without: []string{"arrow/testdata/delta_numbers.arrows"}, with: []string{"arrow/testdata/stream.arrows"}},
		{format: "sqlite", option: "text", value: "bytes", with: []string{database(t, put("a.db", ""))}, columns: []string{"x"}},
		{format: "zarr", option: "axis", value: "0", without: in("plain.zarr"), with: in("all.zarr")},
		{format: "zarr", option: "cf", value: "off", without: in("plain.zarr"), with: in("all.zarr")},
		{format: "zarr", option: "cf", value: "off", useless: "on", without: in("plain.zarr"), with: in("all.zarr")},
		{format: "zarr", option: "text", value: "bytes", without: in("plain.zarr"), with: in("texts.zarr")},
		{format: "netcdf3", option: "object", value: "w", useless: "w,nothing", with: nc("fixed_1")},
		{format: "netcdf3", option: "axis", value: "0", without: []string{lists}, with: nc("fixed_1")},
		{format: "netcdf3", option: "text", value: "bytes", without: nc("fixed_1"), with: nc("weather_1")},
		{format: "fits", option: "text", value: "bytes", without: []string{"fits/testdata/cube.fits"}, with: []string{"fits/testdata/table_types.fits"}},
		{format: "mat", option: "object", value: "X", useless: "X,nothing", with: []string{"mat/testdata/columns.mat"}},
		{format: "mat", option: "axis", value: "0", without: []string{"mat/testdata/lines.mat"}, with: []string{"mat/testdata/columns.mat"}},
		{format: "mat", option: "text", value: "bytes", without: []string{"mat/testdata/lines.mat"}, with: []string{"mat/testdata/columns.mat"}},
		{format: "mds", option: "text", value: "bytes", with: []string{"mds/testdata/plain"}, columns: []string{"i"}},
		{format: "tar", option: "text", value: "bytes", with: []string{put("a.tar", members(t, "a.png", "a.txt"))}, columns: []string{"png"}},
		{format: "hdf5", option: "genes", value: "first", without: h5("calo.hdf5"), with: []string{"testdata/cells/a.h5ad"}},
		{format: "zarr", option: "genes", value: "first", without: in("plain.zarr"), with: []string{"testdata/cells/a_v2.zarr.zip"}},
		{format: "hdf5", option: "csc", value: "transpose", without: h5("calo.hdf5"), with: h5("anndata_csc.h5ad")},
		{format: "zarr", option: "csc", value: "transpose", without: in("plain.zarr"), with: []string{"testdata/cells/csc_v2.zarr.zip"}},
		{format: "tfrecord", option: "text", value: "bytes", with: []string{"tfrecord/testdata/some.tfrecord"}, columns: []string{"x"}},
		{format: "files", option: "labels", value: "none", without: in("flat"), with: in("images")},
		{format: "files", option: "text", value: "bytes", without: in("images"), with: in("flat")},
	}
	copies := map[string]string{"hdf5": "hdf5/testdata/cosmo_0.hdf5", "nifti": "nifti/testdata/scaled_i16.nii", "mrc": "mrc/testdata/mode12.mrc", "wav": "wav/testdata/u8_1ch.wav", "fits": "fits/testdata/cube.fits", "dicom": "dicom/testdata/ct_rescale.dcm"}
	for _, f := range []string{"npz", "hdf5", "nifti", "mrc", "wav", "fits", "dicom"} { // which share the options
		with, one, others := in("classes"), in("one"), byFile
		if f == "wav" { // a sample is always a file
			others = nil
		}
		if of := copies[f]; of != "" {
			b, err := os.ReadFile(of)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range []string{"cat/a.1", "cat/b", "dog/c", "dog/d"} {
				put(f+"/"+to+filepath.Ext(of), string(b))
			}
			with, one = in(f), []string{of}
		}
		list = append(list,
			idle{format: f, option: "labels", value: "none", without: one, with: with, others: others},
			idle{format: f, option: "keys", value: "ordinal", without: one, with: with, others: others},
			idle{format: f, option: "stem", value: "last", without: one, with: with, others: others})
	}
	for i := range list {
		if list[i].without == nil {
			list[i].without = list[i].with
		}
	}
	return list
}

// database has a number and a text.
func database(t *testing.T, name string) string {
	c, err := sqlite.OpenConn(name, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err == nil {
		err = errors.Join(sqlitex.ExecuteScript(c, "CREATE TABLE t(x, s); INSERT INTO t VALUES (1, 'a');", nil), c.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// members is a tar of files.
func members(t *testing.T, names ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: 1, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte("x"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// vectors is a netCDF-3 file of variables of three whole numbers.
func vectors(names ...string) string {
	be := binary.BigEndian
	b := be.AppendUint32([]byte("CDF\x01"), 0)
	list := func(tag uint32, n int) { b = be.AppendUint32(be.AppendUint32(b, tag), uint32(n)) }
	name := func(s string) {
		b = append(be.AppendUint32(b, uint32(len(s))), s...)
		b = append(b, make([]byte, -len(s)&3)...)
	}
	list(10, 1)
	name("n")
	b = append(be.AppendUint32(b, 3), make([]byte, 8)...)
	list(11, len(names))
	var begin []int
	for _, s := range names {
		name(s)
		for _, n := range []uint32{1, 0, 0, 0, 4, 12} { // a dimension, no attributes, int
			b = be.AppendUint32(b, n)
		}
		begin = append(begin, len(b))
		b = be.AppendUint32(b, 0)
	}
	for _, at := range begin {
		be.PutUint32(b[at:], uint32(len(b)))
		b = append(b, make([]byte, 12)...)
	}
	return string(b)
}
