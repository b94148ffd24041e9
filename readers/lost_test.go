package readers_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/busy"
	"github.com/shardify/shardify/tests/race"
)

// lostSeed is an input: a file, the folder of a set, or a tree.
type lostSeed struct {
	kind, format string
	name         string // of the file that is read, "" for the folder
	options      map[string]string
	files        map[string][]byte
	whole        *lostRead
	// known explains a loss that nothing in the files contradicts.
	known func(files map[string][]byte, times int64, was, is *lostRead) bool
}

// lostRead is what a conversion made of an input.
type lostRead struct {
	fields  map[string]string // types by name
	left    map[string]bool   // fields that the plan says are not read
	damaged []string          // damaged parts that are left out
	notes   map[string]bool   // what the plan and the manifest say besides
	skipped int64             // samples that are listed as left out
	inputs  int               // inputs that are
	samples int64
	shards  string // digests
	blank   int    // blocks of 16 bytes that have the fill value
}

// lostTally counts what became of damaged inputs.
type lostTally struct {
	count, refused, same, values, named, noted, skipped, known int
	lost                                                       []string
	note                                                       string // an example
}

func (s *lostSeed) write(t testing.TB, dir string, files map[string][]byte) string {
	for name, b := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, s.name)
}

// read converts inputs together.
func (s *lostSeed) read(out, onError string, inputs ...string) (*lostRead, error) {
	x := newLostRead()
	defer os.RemoveAll(out)
	ctx, cancel := context.WithTimeout(context.Background(), 3*lostTime)
	defer cancel()
	planned := func(p *pipeline.Prepared) {
		f := p.Facts()
		x.leave(f.LeftOut)
		for _, n := range f.Notes {
			x.notes[n] = true
		}
		x.inputs += len(f.Skipped)
	}
	r, err := pipeline.Convert(pipeline.WithHooks(ctx, pipeline.Hooks{Planned: planned}), pipeline.Settings{
		Inputs: inputs, From: s.format, Options: s.options, Output: out, Format: index.FormatMmap, ShardSamples: 500,
		Jobs: 1, Memory: lostBudget, Sync: "none", OnError: onError,
	})
	if err != nil {
		return nil, err
	}
	m := r.Manifest
	x.leave(m.LeftOut)
	x.samples, x.skipped = m.Samples, r.Skipped()
	for _, f := range m.Schema {
		x.field(&f)
	}
	if m.Static != nil {
		for _, f := range m.Static.Schema {
			x.field(&f)
		}
	}
	for _, sh := range m.Shards {
		x.shards += sh.Digest
		b, err := os.ReadFile(filepath.Join(out, sh.Name))
		if err != nil {
			return nil, err
		}
		x.blanks(b)
	}
	return x, nil
}

// The bytes in place of a missing chunk.
var (
	blankZero = make([]byte, 16)
	blankNaN  = bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 4)
)

// lostBlocks are those of a chunk of the seeds; a mutation clears fewer.
const lostBlocks = 4

// What a damaged input may take of processor time and of memory.
const (
	lostTime   = 10 * time.Second
	lostBudget = 64 << 20
	lostMemory = 2 * lostBudget
)

// lostWay is a way to read inputs together, each of which is the files of one.
type lostWay func(s *lostSeed, onError string, inputs ...map[string][]byte) (*lostRead, error)

// written is a way with files in a folder.
func written(t *testing.T, dir string, read func(s *lostSeed, onError string, inputs ...string) (*lostRead, error)) lostWay {
	return func(s *lostSeed, onError string, inputs ...map[string][]byte) (*lostRead, error) {
		var names []string
		for i, files := range inputs {
			names = append(names, s.write(t, filepath.Join(dir, strconv.Itoa(i)), files))
		}
		is, err := read(s, onError, names...)
		for i := range inputs {
			if err := os.RemoveAll(filepath.Join(dir, strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		return is, err
	}
}

// held is the way of readers alone, of files in memory. Those of databases are in a folder, since their readers map
// files.
func held(t *testing.T) lostWay {
	onDisk := written(t, lostFolder(t), func(s *lostSeed, onError string, inputs ...string) (*lostRead, error) {
		return s.load(nil, onError, inputs...)
	})
	return func(s *lostSeed, onError string, inputs ...map[string][]byte) (*lostRead, error) {
		if s.format == "sqlite" || s.format == "lmdb" {
			return onDisk(s, onError, inputs...)
		}
		fs, names := memory.Files{Store: memory.New(), Prefix: "mem://"}, []string{}
		for i, files := range inputs {
			for name, b := range files {
				fs.Store.Set(path.Join(strconv.Itoa(i), name), b)
			}
			names = append(names, fs.Prefix+path.Join(strconv.Itoa(i), s.name))
		}
		return s.load(fs, onError, names...)
	}
}

// load is the way of readers alone.
func (s *lostSeed) load(fs storage.FS, onError string, inputs ...string) (*lostRead, error) {
	f, ok := readers.Lookup(s.format)
	o, err := format.CheckOptions(f.Options, s.options)
	if !ok || err != nil {
		return nil, fmt.Errorf("%s: %v", s.format, err)
	}
	r := readers.Request{FS: fs, Inputs: inputs, Options: o, Jobs: 1, SkipDamaged: onError != "", Scratch: memory.New(), Asked: true}
	ctx, cancel := context.WithTimeout(context.Background(), 3*lostTime)
	defer cancel()
	opened, err := readers.Open(ctx, f, r)
	if err != nil {
		return nil, err
	}
	defer opened.Source.Close()
	x, pool := newLostRead(), shardify.NewPool(lostBudget)
	x.leave(opened.LeftOut)
	if r, ok := opened.Source.(format.Reporter); ok {
		x.leave(r.Leftovers())
	}
	if n, ok := opened.Source.(format.Noter); ok {
		for _, n := range n.Notes() {
			x.notes[n] = true
		}
	}
	if k, ok := opened.Source.(format.Skipper); ok {
		x.inputs = len(k.Skipped())
	}
	for _, f := range opened.Source.Schema() {
		x.field(&f)
	}
	if c, ok := opened.Source.(format.Constant); ok {
		columns, err := c.Static(ctx, nil, pool)
		if err != nil {
			return nil, err
		}
		for i := range columns {
			x.field(&columns[i].Field)
		}
	}
	spans := []shardify.Span{}
	for sp, err := range opened.Source.Spans(ctx, lostBudget/8) {
		if err != nil {
			return nil, err
		}
		spans = append(spans, sp)
	}
	if c, ok := opened.Source.(format.Collector); ok {
		if err := c.Collect(ctx, spans, pool, 1, r.Scratch); err != nil {
			return nil, err
		}
	}
	for _, sp := range spans {
		if err := x.span(ctx, opened.Source, sp, pool); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// span adds what a reader makes of a span.
func (x *lostRead) span(ctx context.Context, src shardify.Source, sp shardify.Span, pool *shardify.Pool) error {
	r, err := src.Reader(sp.Run)
	if err != nil {
		return err
	}
	defer r.Close()
	mem, err := pool.Grant(ctx, sp.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	b, err := r.Read(ctx, sp, mem)
	if err == nil {
		err = b.Match(src.Schema())
	}
	if err != nil {
		return err
	}
	x.samples += int64(b.Samples)
	for i := range b.Columns {
		x.blanks(b.Columns[i].Data)
	}
	return nil
}

func newLostRead() *lostRead {
	return &lostRead{fields: map[string]string{}, left: map[string]bool{}, notes: map[string]bool{}}
}

// leave adds what a list leaves out.
func (x *lostRead) leave(list []format.Leftover) {
	for _, l := range list {
		if l.Count > 0 {
			x.notes[fmt.Sprint(l.Name, l.Count, l.Reason)] = true
			continue
		}
		x.left[l.Name] = l.Unreadable
		if strings.Contains(l.Reason, shardify.ErrCorrupt.Error()) {
			x.damaged = append(x.damaged, l.Name+": "+l.Reason)
		}
	}
}

// leaves reports whether a field is left out by its name, or with all of a group.
func (x *lostRead) leaves(name string) bool {
	for l, unreadable := range x.left {
		if l == name || unreadable && strings.HasPrefix(name, l+"/") {
			return true
		}
	}
	return false
}

func (x *lostRead) field(f *shardify.Field) {
	x.fields[f.Name] = fmt.Sprint(f.DType, f.Shape, f.Levels, f.Media, f.Ragged)
}

func (x *lostRead) blanks(b []byte) {
	for block := range slices.Chunk(b, 16) {
		if bytes.Equal(block, blankZero) || bytes.Equal(block, blankNaN) {
			x.blank++
		}
	}
}

// lostSeeds are the inputs.
func lostSeeds(t testing.TB) (all []*lostSeed) {
	object := map[string]string{"object": "Events"}
	mutate := func(kind, name, format string, options map[string]string) {
		all = append(all, &lostSeed{kind: kind, format: format, name: filepath.Base(name), options: options, files: lostFiles(t, filepath.Join("testdata", "mutate", name))})
	}
	mutate("root", "tree.root", "root", nil)
	mutate("root", "tree.root", "root", object)
	mutate("root ntuple", "ntuple.root", "root", nil)
	mutate("root ntuple", "ntuple.root", "root", object)
	mutate("hdf5", "rows_earliest.h5", "hdf5", nil)
	mutate("hdf5", "rows_latest.h5", "hdf5", nil)
	mutate("hdf5 groups", "groups_earliest.h5", "hdf5", nil)
	mutate("hdf5 groups", "groups_latest.h5", "hdf5", nil)
	mutate("anndata hdf5", "../../internal/anndata/testdata/all.h5ad", "hdf5", nil)
	all[len(all)-1].known = lostPlace(all[len(all)-1].files["all.h5ad"])
	mutate("anndata zarr", "../../internal/anndata/testdata/all_v3.zarr.zip", "zarr", nil)
	mutate("cells of 10x", "../../internal/anndata/testdata/tenx_gzip.h5", "hdf5", nil)
	mutate("cells of loom", "../../internal/anndata/testdata/small.loom", "hdf5", nil)
	mutate("netcdf", "../../hdf5/testdata/dims_nine.nc", "hdf5", nil)
	mutate("netcdf3", "../../netcdf3/testdata/weather_2.nc", "netcdf3", nil)
	mutate("netcdf3", "../../netcdf3/testdata/fixed_1.nc", "netcdf3", map[string]string{"object": "x,y"})
	mutate("dicom", "../../dicom/testdata/ct_rescale.dcm", "dicom", nil)
	mutate("dicom frames", "../../dicom/testdata/three_frames.dcm", "dicom", map[string]string{"sample": "frame"})
	mutate("fits table", "../../fits/testdata/table_types.fits", "fits", nil)
	mutate("fits sections", "../../fits/testdata/cube.fits", "fits", map[string]string{"sample": "section"})
	mutate("fits gzip", "../../fits/testdata/gz.fits.gz", "fits", nil)
	mutate("mat", "../../mat/testdata/columns.mat", "mat", nil)
	all[len(all)-1].known = lostVariables
	mutate("mat compressed", "../../mat/testdata/types_z.mat", "mat", map[string]string{"sample": "file"})
	all[len(all)-1].known = lostVariables
	mutate("nifti", "../../nifti/testdata/scaled_i16.nii", "nifti", nil)
	mutate("nifti gzip", "../../nifti/testdata/bold4d.nii.gz", "nifti", map[string]string{"sample": "volume"})
	mutate("mrc", "../../mrc/testdata/stack.mrcs", "mrc", nil)
	mutate("wav", "../../wav/testdata/i24_1ch.wav", "wav", nil)
	mutate("npz", "stored.npz", "npz", nil)
	mutate("npz", "deflated.npz", "npz", nil)
	mutate("npy", "rows.npy", "npz", nil)
	mutate("parquet", "plain.parquet", "parquet", nil)
	mutate("parquet", "snappy.parquet", "parquet", nil)
	mutate("arrow", "../../arrow/testdata/polars.arrow", "arrow", nil)
	mutate("arrow", "../../arrow/testdata/lists_in_structs.feather", "arrow", nil)
	mutate("arrow stream", "../../arrow/testdata/deltas.arrows", "arrow", nil)
	mutate("tfrecord", "../../tfrecord/testdata/some.tfrecord", "tfrecord", nil)
	all[len(all)-1].known = lostRecords
	mutate("lmdb", "entries.lmdb", "lmdb", nil)
	mutate("lmdb", "named.lmdb", "lmdb", nil)
	mutate("sqlite", "rows.db", "sqlite", nil)
	mutate("atoms of ase sqlite", "atoms.db", "sqlite", nil)
	mutate("atoms of ase lmdb", "atoms.aselmdb", "lmdb", nil)
	mutate("tar", "samples.tar", "tar", nil)
	text := func(kind, name, format string, data []byte, head int) {
		all = append(all, &lostSeed{kind: kind, format: format, name: name, files: map[string][]byte{name: data}, known: lostLines(name, head, 1)})
	}
	var csv, jsonl, lines []byte
	csv = append(csv, "id,x,name,ok\n"...)
	for i := range 40 {
		csv = fmt.Appendf(csv, "%d,%v,\"name, %d\",%v\n", i, float64(i)/4, i, i%2 == 0)
		jsonl = fmt.Appendf(jsonl, "{\"id\": %d, \"x\": %v, \"name\": \"name %d\", \"list\": [%d, 2]}\n", i, float64(i)+.25, i, i)
		lines = fmt.Appendf(lines, "line %d of a text\n", i)
	}
	text("csv", "rows.csv", "csv", csv, 1)
	text("csv gzip", "rows.csv.gz", "csv", readertest.Gzip(csv), 1)
	text("jsonl", "rows.jsonl", "jsonl", jsonl, 0)
	star := []byte("data_\nloop_\n_name\n_x\n")
	for i := range 40 {
		star = fmt.Appendf(star, "%06d@stack.mrcs %v\n", i+1, float64(i)/4)
	}
	text("star", "rows.star", "star", star, 4)
	all[len(all)-1].known = lostTable("rows.star", all[len(all)-1].known)
	var atoms []byte
	for i := range 12 {
		atoms = fmt.Appendf(atoms, "2\nProperties=species:S:1:pos:R:3 energy=%v tag=frame%d\nH %16.8f %16.8f %16.8f\nO 0.5 %d.25 2.0\n", -float64(i)-.5, i, float64(i)/8, -1., 1.5, i)
	}
	all = append(all, &lostSeed{kind: "xyz", format: "xyz", name: "a.xyz", files: map[string][]byte{"a.xyz": atoms}, known: lostFrames("a.xyz")})
	cells := map[string][]byte{
		"matrix.mtx":   []byte("%%MatrixMarket matrix coordinate integer general\n%made by hand\n3 4 5\n1 1 5\n3 1 2\n2 2 7\n1 4 1\n3 4 9\n"),
		"barcodes.tsv": []byte("AAAC-1\nAAAG-1\nAAAT-1\nACAT-1\n"), "features.tsv": []byte("ENSG1\tA\nENSG2\tB\nENSG3\tC\n"),
	}
	all = append(all, &lostSeed{kind: "cells of mtx", format: "mtx", files: cells})
	text("text", "lines.txt", "text", lines, 0)
	all[len(all)-1].options = map[string]string{"text-docs": "line"}
	tree := func(kind, dir, format string, options map[string]string) {
		all = append(all, &lostSeed{kind: kind, format: format, options: options, files: lostFiles(t, dir)})
	}
	tree("zarr 2", "zarr/testdata/v2_consolidated.zarr/train", "zarr", nil)
	tree("zarr 3", "zarr/testdata/era5_shards_v3.zarr", "zarr", nil)
	plain := lostZarr()
	all = append(all, &lostSeed{kind: "zarr zip", format: "zarr", name: "a.zarr.zip", files: map[string][]byte{"a.zarr.zip": lostZip(t, plain)}})
	all = append(all, &lostSeed{kind: "zarr 2", format: "zarr", name: "a.zarr", files: inFolder("a.zarr", plain)})
	pictures := map[string][]byte{}
	for i := range 6 {
		pictures[fmt.Sprintf("c%d/%03d.bin", i%2, i)] = bytes.Repeat([]byte{byte(i)}, 100+i*37)
		pictures[fmt.Sprintf("c%d/%03d.txt", i%2, i)] = fmt.Appendf(nil, "text %d", i)
	}
	all = append(all, &lostSeed{kind: "files", format: "files", files: pictures})
	for _, dir := range []string{"plain", "packed"} {
		tree("mds of others", "mds/testdata/"+dir, "mds", nil)
		// Parts that are left out have as many samples as a damaged index says; the line about them
		// has both numbers.
		all[len(all)-1].known = func(_ map[string][]byte, _ int64, _, is *lostRead) bool { return is.skipped > 0 }
	}
	dir := t.TempDir()
	for i, c := range []struct{ kind, format, schema, split, zip string }{
		{"mmap set", "mmap", "x:f32[3],y:i64,t:txt*12", "", ""},
		{"wds set", "wds", "x:f32[3],y:i64,t:txt*12", "", ""},
		{"mds set", "mds", "x:f32[3],y:i64,t:txt*12", "", ""},
		{"mds set", "mds", "x:f32[3],y:i64,t:txt*12", "", "zstd"},
		{"megatron set", "megatron", "tokens:u16*9", "", ""},
		{"split set", "mmap", "x:f32[3],y:i64", "a=20,b=rest", ""},
	} {
		out := filepath.Join(dir, strconv.Itoa(i))
		options := map[string]string{"samples": "40", "schema": c.schema}
		if c.zip != "" {
			options["mds-compression"] = c.zip
		}
		if _, err := pipeline.Convert(context.Background(), pipeline.Settings{From: "synth", Options: options, Output: out, Format: c.format, ShardSamples: 15, Split: c.split, Sync: "none", Memory: lostBudget}); err != nil {
			t.Fatal(err)
		}
		if c.split != "" {
			out = filepath.Join(out, "b")
		}
		files := lostFiles(t, out)
		for f := range files {
			if strings.HasPrefix(f, ".shardify") || c.format == index.FormatWDS && (strings.HasSuffix(f, ".yaml") || strings.HasSuffix(f, ".json") && f != index.ManifestName) {
				delete(files, f) // not read
			}
		}
		all = append(all, &lostSeed{kind: c.kind, format: c.format, files: files})
		if c.format == index.FormatMegatron {
			others := maps.Clone(files)
			delete(others, index.ManifestName)
			all = append(all, &lostSeed{kind: "megatron of others", format: c.format, files: others})
		}
	}
	all = slices.DeleteFunc(all, func(s *lostSeed) bool { return !strings.Contains(s.kind, os.Getenv("SHARDIFY_KIND")) })
	slices.SortStableFunc(all, func(a, b *lostSeed) int { return strings.Compare(a.kind, b.kind) })
	for _, s := range all {
		var err error
		if s.whole, err = s.read(filepath.Join(dir, "whole"), "", s.write(t, t.TempDir(), s.files)); err != nil {
			t.Fatalf("%s: %v", s.kind, err)
		}
	}
	return all
}

// lostFiles are the files of a folder, or one file.
func lostFiles(t testing.TB, root string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if p == root {
			rel = filepath.Base(p)
		}
		files[rel], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func inFolder(dir string, files map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for name, b := range files {
		out[dir+"/"+name] = b
	}
	return out
}

// lostZarr is a store of format 2 with three arrays, without compression and with zlib.
func lostZarr() map[string][]byte {
	files := map[string][]byte{".zgroup": []byte(`{"zarr_format": 2}`)}
	for name, codec := range map[string]string{"x": "null", "y": `{"id": "zlib", "level": 1}`} {
		files[name+"/.zarray"] = fmt.Appendf(nil, `{"chunks": [8, 2], "compressor": %s, "dtype": "<f4", "fill_value": 0.0, "filters": null, "order": "C", "shape": [24, 2], "zarr_format": 2}`, codec)
		for k := range 3 {
			var b []byte
			for i := range 16 {
				b = binary.LittleEndian.AppendUint32(b, uint32(0x3f800000+k*1000+i))
			}
			if name == "y" {
				var z bytes.Buffer
				w := zlib.NewWriter(&z)
				w.Write(b)
				w.Close()
				b = z.Bytes()
			}
			files[fmt.Sprintf("%s/%d.0", name, k)] = b
		}
	}
	return files
}

func lostZip(t testing.TB, files map[string][]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lostLines knows files of lines, where a line that is cut off or joined with another one is
// another file without a fault: there are as many samples as lines. Of one that ends within a sample,
// that sample is listed, and nothing is known of those behind it.
func lostLines(name string, head, each int) func(map[string][]byte, int64, *lostRead, *lostRead) bool {
	return func(files map[string][]byte, times int64, was, is *lostRead) bool {
		lines := 0
		for l := range bytes.SplitSeq(files[name], []byte("\n")) {
			if len(bytes.TrimSpace(l)) > 0 {
				lines++
			}
		}
		rows := (lines - head + each - 1) / each
		return ((lines-head)%each == 0 || is.skipped > 0) && is.samples+is.skipped == (times-1)*was.samples+int64(rows) && len(is.fields) >= len(was.fields)
	}
}

// lostVariables knows MAT-files that end behind one of their variables: nothing in them says how many there are.
func lostVariables(files map[string][]byte, _ int64, _, _ *lostRead) bool {
	for _, b := range files {
		at := 128
		for at+8 <= len(b) {
			packed := binary.LittleEndian.Uint32(b[at:]) == 15
			if at += 8 + int(binary.LittleEndian.Uint32(b[at+4:])); !packed {
				at = (at + 7) &^ 7
			}
		}
		if at != len(b) {
			return false
		}
	}
	return true
}

// lostTable knows STAR files without the names of some columns: there are as many fields as are left of them, and as many
// samples as lines behind them.
func lostTable(name string, lines func(map[string][]byte, int64, *lostRead, *lostRead) bool) func(map[string][]byte, int64, *lostRead, *lostRead) bool {
	return func(files map[string][]byte, times int64, was, is *lostRead) bool {
		_, text, ok := strings.Cut(string(files[name]), "loop_\n")
		columns, rows := 0, int64(0)
		for l := range strings.Lines(text) {
			if rows == 0 && strings.HasPrefix(l, "_") {
				columns++
			} else if strings.TrimSpace(l) != "" {
				rows++
			}
		}
		return lines(files, times, was, is) || ok && columns > 0 && len(is.fields) >= columns && is.samples+is.skipped == (times-1)*was.samples+rows
	}
}

// lostFrames knows files of frames where a number of atoms has become another one: there are as many samples,
// or samples that are listed as left out, as the numbers say that there are frames.
func lostFrames(name string) func(map[string][]byte, int64, *lostRead, *lostRead) bool {
	each := lostLines(name, 0, 4)
	return func(files map[string][]byte, times int64, was, is *lostRead) bool {
		text := strings.Split(strings.TrimRight(string(files[name]), "\n\r \t\v\f"), "\n")
		frames, at := int64(0), 0
		for ; at < len(text); frames++ {
			n, err := strconv.Atoi(strings.TrimSpace(text[at]))
			if err != nil || n < 0 || n > len(text) {
				break
			}
			at += n + 2
		}
		return each(files, times, was, is) || at == len(text) && is.samples+is.skipped == (times-1)*was.samples+frames
	}
}

// lostPlace knows a file of which places, and nothing else, have become other ones in the file: what is read from
// there may be zeros, and the file has no sums.
func lostPlace(whole []byte) func(map[string][]byte, int64, *lostRead, *lostRead) bool {
	return func(files map[string][]byte, _ int64, _, _ *lostRead) bool {
		for _, b := range files {
			if len(b) != len(whole) {
				return false
			}
			seen := 0 // all changes before it are of places
			for at := 0; at+8 <= len(b); at++ {
				was, is := binary.LittleEndian.Uint64(whole[at:]), binary.LittleEndian.Uint64(b[at:])
				if was != is && max(was, is) < uint64(len(b)) && was >= 1<<9 && is > 0 && bytes.Equal(whole[seen:max(seen, at)], b[seen:max(seen, at)]) {
					seen = at + 8
				}
			}
			if seen == 0 || !bytes.Equal(whole[seen:], b[seen:]) {
				return false
			}
		}
		return true
	}
}

// lostRecords knows TFRecord files that end behind a record: such files have neither an end nor a number of records.
func lostRecords(files map[string][]byte, times int64, was, is *lostRead) bool {
	b, n := files["some.tfrecord"], int64(0)
	for len(b) >= 16 && binary.LittleEndian.Uint64(b) <= uint64(len(b)-16) {
		b, n = b[16+binary.LittleEndian.Uint64(b):], n+1
	}
	return len(b) == 0 && is.samples == (times-1)*was.samples+n
}

// damage changes one of the files in one to three places.
func (s *lostSeed) damage(rng *rand.Rand) map[string][]byte {
	names := slices.Sorted(maps.Keys(s.files))
	out := maps.Clone(s.files)
	if rng.IntN(4) == 0 {
		for _, i := range rng.Perm(len(names)) {
			if b := aimed(rng, bytes.Clone(out[names[i]])); b != nil {
				out[names[i]] = b
				return out
			}
		}
	}
	name := names[rng.IntN(len(names))]
	b := bytes.Clone(out[name])
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		at := rng.IntN(len(b))
		for try := 0; try < 4 && b[at] == 0 && !bytes.ContainsFunc(b[max(at-4, 0):min(at+5, len(b))], func(r rune) bool { return r != 0 }); try++ {
			at = rng.IntN(len(b)) // rather not in padding
		}
		number := readertest.Interesting[rng.IntN(len(readertest.Interesting))]
		switch rng.IntN(9) {
		case 0, 1, 2:
			b[at] ^= 1 << rng.IntN(8)
		case 3:
			b[at] = byte(rng.Uint32())
		case 4:
			copy(b[at:], binary.LittleEndian.AppendUint64(nil, number)[:1<<rng.IntN(4)])
		case 5:
			copy(b[at:], binary.BigEndian.AppendUint64(nil, number)[8-1<<rng.IntN(4):])
		case 6:
			clear(b[at:min(at+1+rng.IntN(16), len(b))])
		case 7: // one place as another
			k := rng.IntN(len(b))
			copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(32), len(b))]))
		case 8:
			if rng.IntN(4) == 0 && at > 0 {
				b = b[:at]
			} else {
				b[at]++
			}
		}
	}
	out[name] = b
	return out
}

// numbers are those of JSON, outside of texts.
var numbers = regexp.MustCompile(`[:\[,]\s*(-?[0-9]+)`)

// aimed damages what few bytes say, and is hit rarely by chance: a name in the directory of a zip
// file, or a number in JSON. It is nil for a file without those.
func aimed(rng *rand.Rand, b []byte) []byte {
	if bytes.HasPrefix(b, []byte("PK\x03\x04")) {
		const head = 46 // of an entry, before its name
		var all [][]byte
		for at := bytes.Index(b, []byte("PK\x01\x02")); bytes.HasPrefix(b[at:], []byte("PK\x01\x02")); {
			name := b[at+head:][:binary.LittleEndian.Uint16(b[at+28:])]
			all = append(all, name)
			at += head + len(name) + int(binary.LittleEndian.Uint16(b[at+30:])+binary.LittleEndian.Uint16(b[at+32:]))
		}
		one, other := all[rng.IntN(len(all))], all[rng.IntN(len(all))]
		if len(one) == len(other) && rng.IntN(2) == 0 {
			was := bytes.Clone(one)
			copy(one, other)
			copy(other, was)
		} else {
			one[rng.IntN(len(one))] = other[rng.IntN(len(other))]
		}
		return b
	}
	if !json.Valid(b) {
		return nil
	}
	all := numbers.FindAllSubmatchIndex(b, -1)
	if len(all) == 0 {
		return nil
	}
	at := all[rng.IntN(len(all))]
	lo, hi := at[2], at[3]
	n, _ := strconv.ParseInt(string(b[lo:hi]), 10, 64)
	to := []string{"null", "0", fmt.Sprint(n - 1), fmt.Sprint(n + 1), fmt.Sprint(n / 2), fmt.Sprint(2 * n), fmt.Sprint(readertest.Interesting[rng.IntN(len(readertest.Interesting))])}
	return slices.Concat(b[:lo], []byte(to[rng.IntN(len(to))]), b[hi:])
}

// summed reports whether the files have sums of all values.
func (s *lostSeed) summed() bool {
	return strings.HasSuffix(s.kind, " set") || s.kind == "npz" || s.kind == "zarr zip" || s.kind == "csv gzip"
}

// judge compares what was made of a damaged input, alone or beside a good one, with what is there.
func (x *lostTally) judge(s *lostSeed, files map[string][]byte, is *lostRead, times int64, where string) {
	samples := times * s.whole.samples
	var missing []string
	for name := range s.whole.fields {
		if _, ok := is.fields[name]; !ok {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	unread := 0
	for _, l := range is.left {
		if l {
			unread++
		}
	}
	named := !slices.ContainsFunc(missing, func(name string) bool { return !is.leaves(name) })
	note := ""
	for n := range is.notes {
		if !s.whole.notes[n] {
			note = n
		}
	}
	enough := is.samples >= samples
	switch {
	case len(is.damaged) > 0:
		x.lost = append(x.lost, fmt.Sprintf("%s: damaged, and left out: %v", where, is.damaged))
	case is.skipped > 0 && is.samples+is.skipped >= samples, is.inputs > 0:
		x.skipped++
	case s.summed() && times == 1 && enough && is.shards != s.whole.shards && unread == 0:
		x.lost = append(x.lost, where+": other bytes than those whose sum is in the files")
	case (s.format == "zarr" || s.format == "hdf5") && note == "" && maps.Equal(is.fields, s.whole.fields) && is.blank >= int(times)*s.whole.blank+lostBlocks:
		if s.known != nil && s.known(files, times, s.whole, is) {
			x.known++
			return
		}
		x.lost = append(x.lost, fmt.Sprintf("%s: %d blocks are blank, %d were", where, is.blank, int(times)*s.whole.blank))
	case enough && len(missing) == 0 && maps.Equal(is.fields, s.whole.fields):
		x.same++
	case enough && len(missing) == 0:
		x.values++ // of another type
	case enough && len(is.fields) >= len(s.whole.fields):
		x.values++ // with another name
	case enough && (named || len(is.fields)+unread >= len(s.whole.fields)):
		x.named++ // the plan says so, whatever is asked for
	case s.known != nil && s.known(files, times, s.whole, is):
		x.known++
	case note != "":
		x.noted, x.note = x.noted+1, note
	default:
		x.lost = append(x.lost, fmt.Sprintf("%s: %d samples of %d; without %v; has %v, left out %v", where, is.samples, samples, missing, slices.Sorted(maps.Keys(is.fields)), is.left))
	}
}

// TestMutatedInputsLoseNothingSilently: of inputs that are damaged anywhere, alone or beside
// a good one, either the conversion ends with an error, or all columns and samples are there, or a
// line of the plan or the manifest names what is not. Of sets of ours, whose shards have digests,
// and of zip and gzip files, nothing is converted that is not what was written. No conversion panics, takes more than ten
// seconds of the processor, or more than twice its memory. SHARDIFY_MUTATIONS is the number of
// inputs, SHARDIFY_MUTATION the first one, and SHARDIFY_KIND a part of the names of their kinds.
func TestMutatedInputsLoseNothingSilently(t *testing.T) {
	race.Sequential(t)
	dir := lostFolder(t)
	lostAll(t, readertest.Mutations(t, 480), lostSeeds(t), written(t, dir, func(s *lostSeed, onError string, inputs ...string) (*lostRead, error) {
		return s.read(filepath.Join(dir, "out"), onError, inputs...)
	}))
}

// TestMutatedSourcesLoseNothingSilently is the same of readers alone: nothing is planned or written, so that
// several times as many inputs take the same time.
func TestMutatedSourcesLoseNothingSilently(t *testing.T) {
	race.Sequential(t)
	seeds, way := lostSeeds(t), held(t)
	for _, s := range seeds {
		var err error
		if s.whole, err = way(s, "", s.files); err != nil {
			t.Fatalf("%s: %v", s.kind, err)
		}
	}
	lostAll(t, readertest.Mutations(t, 480), seeds, way)
}

// lostAll damages inputs, and judges what a way to read them made.
func lostAll(t *testing.T, count int, seeds []*lostSeed, way lostWay) {
	runtime.GC()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(lostBudget))
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // the limit of memory holds
	w := readertest.Watch{Limit: 12 * lostTime, Memory: lostMemory}
	defer w.Start()()
	tally := map[string]*lostTally{}
	began := time.Now()
	slowest := time.Duration(0)
	first, _ := strconv.Atoi(os.Getenv("SHARDIFY_MUTATION"))
	for i := first; i < first+count; i++ {
		s := seeds[i%len(seeds)]
		x := tally[s.kind]
		if x == nil {
			x = &lostTally{}
			tally[s.kind] = x
		}
		before, lost := busy.Processor(), len(x.lost)
		s.one(t, &w, x, way, uint64(i))
		took := busy.Processor() - before
		if slowest = max(slowest, took); took > lostTime {
			x.lost = append(x.lost, fmt.Sprintf("mutation %d of %s: %v of the processor", i, s.kind, took))
		}
		for _, l := range x.lost[lost:] {
			t.Log(l)
		}
		if n := i + 1 - first; n%10_000 == 0 {
			t.Logf("%d damaged inputs after %v", n, time.Since(began).Round(time.Second))
		}
		if t.Failed() {
			break
		}
	}
	total := lostTally{}
	for _, kind := range slices.Sorted(maps.Keys(tally)) {
		x := tally[kind]
		t.Logf("%-18s %6d damaged: %6d refused, %6d whole, %5d with other types or names, %4d with fields that the plan says are not read, %4d skipped by name, %4d with a note, %4d that nothing contradicts, %d lost something",
			kind, x.count, x.refused, x.same, x.values, x.named, x.skipped, x.noted, x.known, len(x.lost))
		if x.note != "" {
			t.Logf("    a note: %s", x.note)
		}
		total.count, total.refused, total.lost = total.count+x.count, total.refused+x.refused, append(total.lost, x.lost...)
		for _, l := range x.lost[:min(len(x.lost), 40)] {
			t.Errorf("    %s", l)
		}
	}
	t.Logf("%d kinds, %d damaged inputs: %d refused, %d lost something; 0 panics, heap at most %s, %v of the processor at most; %v", len(tally), total.count, total.refused, len(total.lost), shardify.FormatSize(w.Heap()), slowest, time.Since(began).Round(time.Second))
}

// lostFolder is a folder in memory, if there is one.
func lostFolder(t *testing.T) string {
	if dir, err := os.MkdirTemp("/dev/shm", "shardify-mutants"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// mutant is damaged files of a seed, and how they are read.
func (s *lostSeed) mutant(i uint64) (files map[string][]byte, beside bool, onError string) {
	rng := rand.New(rand.NewPCG(41, i))
	files = s.damage(rng)
	if beside = rng.IntN(2) == 0; rng.IntN(4) == 0 {
		onError = "skip"
	}
	return files, beside, onError
}

func (s *lostSeed) one(t *testing.T, w *readertest.Watch, x *lostTally, way lostWay, i uint64) {
	w.Begin(i)
	x.count++
	files, beside, onError := s.mutant(i)
	var data []byte
	for name := range files {
		if !bytes.Equal(files[name], s.files[name]) {
			data = files[name]
		}
	}
	defer w.Judge(t, i, s.kind, data, fmt.Sprintf("lost-%d-%s", i, filepath.Base(s.name)))
	inputs := []map[string][]byte{files}
	if beside {
		inputs = []map[string][]byte{s.files, files}
	}
	before := busy.Processor()
	is, err := way(s, onError, inputs...)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && busy.Processor()-before < lostTime/2: // the machine has no time for it
		x.count--
		t.Logf("mutation %d of %s: no end after %v, of which the processor had %v: it does not count", i, s.kind, 3*lostTime, busy.Processor()-before)
		return
	case errors.Is(err, context.DeadlineExceeded):
		x.lost = append(x.lost, fmt.Sprintf("mutation %d of %s: no end after %v", i, s.kind, 3*lostTime))
		return
	case err != nil:
		x.refused++
		return
	}
	x.judge(s, files, is, int64(len(inputs)), fmt.Sprintf("mutation %d of %s (%s), %d inputs%s", i, s.kind, s.name, len(inputs), onError))
}

// TestOneMutation shows one mutation, SHARDIFY_MUTATION, for debugging a reader.
func TestOneMutation(t *testing.T) {
	n, err := strconv.ParseUint(os.Getenv("SHARDIFY_MUTATION"), 10, 64)
	if err != nil {
		t.Skip("SHARDIFY_MUTATION is not the number of one")
	}
	seeds := lostSeeds(t)
	s := seeds[n%uint64(len(seeds))]
	files, _, onError := s.mutant(n)
	for name, b := range files {
		if len(b) != len(s.files[name]) {
			t.Logf("%s: %d bytes of %d, %.500q", name, len(b), len(s.files[name]), b)
			continue
		}
		for i := range b {
			if b[i] != s.files[name][i] {
				t.Logf("%s, byte %d: %#x, was %#x, in %q", name, i, b[i], s.files[name][i], s.files[name][max(i-20, 0):min(i+20, len(s.files[name]))])
			}
		}
	}
	if keep := os.Getenv("SHARDIFY_KEEP"); keep != "" {
		s.write(t, keep, files)
	}
	if os.Getenv("SHARDIFY_FAIL") != "" {
		onError = ""
	}
	is, err := s.read(filepath.Join(t.TempDir(), "out"), onError, s.write(t, t.TempDir(), files))
	t.Logf("%+v: %v; whole: %+v", is, err, s.whole)
}
