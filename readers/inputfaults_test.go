package readers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/local"
)

// injected are inputs of every format.
var injected = []struct {
	format, name string
	options      string // NAME=VALUE ...
	// at is the end of the name of the file that the faults concern, "" for the input. It
	// is beside the input: what the plan has not looked at it does not compare.
	at string
	// once: it is read when the input is opened, and not again.
	once bool
}{
	{"files", "files", "", "a.txt", false}, {"npz", "stored.npz", "", "", false}, {"npz", "deflated.npz", "", "", false}, {"npz", "rows.npy", "", "", false},
	{"hdf5", "rows_earliest.h5", "", "", false}, {"hdf5", "groups_latest.h5", "", "", false}, {"root", "tree.root", "", "", false}, {"root", "ntuple.root", "", "", false},
	{"parquet", "plain.parquet", "", "", false}, {"parquet", "snappy.parquet", "", "", false}, {"tar", "samples.tar", "", "", false},
	{"csv", "rows.csv", "", "", false}, {"jsonl", "rows.jsonl", "", "", false}, {"star", "rows.star", "", "", false}, {"xyz", "frames.xyz", "", "", false}, {"mtx", "cells", "", "matrix.mtx", false}, {"mtx", "cells", "", "barcodes.tsv", false}, {"tfrecord", "../../tfrecord/testdata/some.tfrecord", "", "", false}, {"arrow", "../../arrow/testdata/types_lz4.feather", "", "", false}, {"arrow", "../../arrow/testdata/stream.arrows", "", "", false},
	{"netcdf3", "../../netcdf3/testdata/weather_1.nc", "", "", false},
	{"dicom", "../../dicom/testdata/ct_rescale.dcm", "", "", false}, {"dicom", "../../dicom/testdata/rle_u16_2frames_no_bot.dcm", "", "", false}, {"dicom", "../../dicom/testdata/deflated_u16.dcm", "", "", false},
	{"fits", "../../fits/testdata/table_lists.fits", "", "", false}, {"fits", "../../fits/testdata/multi_hdu.fits", "", "", false}, {"fits", "../../fits/testdata/gz.fits.gz", "", "", false}, {"fits", "../../fits/testdata/tile_RICE_1_i2.fits", "", "", false},
	{"mat", "../../mat/testdata/columns.mat", "", "", false}, {"mat", "../../mat/testdata/types_z.mat", "", "", false},
	{"nifti", "../../nifti/testdata/bold4d.nii.gz", "", "", false}, {"nifti", "../../nifti/testdata/pair.hdr", "", "", false}, {"nifti", "../../nifti/testdata/pair.hdr", "", "pair.img", false},
	{"mrc", "../../mrc/testdata/stack.mrcs", "", "", false}, {"wav", "../../wav/testdata/i24_1ch.wav", "", "", false},
	{"zarr", "../../../testdata/demo/digits.zarr.zip", "object=x", "", false},
	{"mmap", "mmap set", "", "shard-000000.safetensors", false}, {"mmap", "mmap set", "", "shardify.json", true},
	{"wds", "wds set", "", "shard-000000.tar", false}, {"wds", "wds set", "", "shard-000000.tar.idx", false},
	{"root", "../../root/testdata/events-0.root", "object=Events friend=TMP/friend-{}.root", "friend-events-0.root", false},
	{"hdf5", "../../hdf5/testdata/external.h5", "external=true object=/x", "external.raw", false},
	{"hdf5", "../../hdf5/testdata/virtual.h5", "", "source.h5", false},
	{"files", "labelled.csv", "labels=TMP/labels.csv key=name", "labels.csv", true},
	{"files", "labelled.jsonl", "labels=TMP/labels.jsonl key=name", "labels.jsonl", true},
}

func openInjected(ctx context.Context, kind, given string, fs storage.FS, path string) (shardify.Source, error) {
	f, _ := readers.Lookup(kind)
	var set format.Options
	for _, o := range strings.Fields(given) {
		if set == nil {
			set = format.Options{}
		}
		name, value, _ := strings.Cut(o, "=")
		set[name] = value
	}
	options, err := format.CheckOptions(f.Options, set)
	if err != nil {
		return nil, err
	}
	o, err := readers.Open(ctx, f, readers.Request{FS: fs, Inputs: []string{path}, Options: options, Jobs: 1, Asked: true})
	if err != nil {
		return nil, err
	}
	return o.Source, nil
}

// readInjected reads all samples, in spans of the size that tests of few samples need.
func readInjected(ctx context.Context, src shardify.Source) (*readertest.Content, error) {
	out, pool := readertest.NewContent(), shardify.NewPool(64<<20)
	r, err := src.Reader(0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for sp, err := range src.Spans(ctx, 2<<10) {
		if err != nil {
			return nil, err
		}
		if sp.Run != 0 {
			r.Close()
			if r, err = src.Reader(sp.Run); err != nil {
				return nil, err
			}
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return nil, err
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			for c := range b.Columns { // streams read when they are written
				if b.Columns[c].Stream != nil && err == nil {
					var data []byte
					err = b.Columns[c].Stream(func(p []byte) error { data = append(data, p...); return nil })
					b.Columns[c].Data, b.Columns[c].Stream = data, nil
				}
			}
		}
		if err != nil {
			mem.Release()
			return nil, err
		}
		out.Add(b, 0, b.Samples)
		mem.Release()
	}
	return out, nil
}

// TestInputFaultsAreErrorsThatNameTheFile: whatever a storage does while inputs are listed,
// planned and read, what comes is the same samples or an error that says where and what:
// no other samples, no fewer, no file taken for damaged that could not be read, no hang.
func TestInputFaultsAreErrorsThatNameTheFile(t *testing.T) {
	larger := func(s storage.Stamp) storage.Stamp { s.Size++; return s }
	for _, in := range injected {
		name := in.name
		if in.at != "" {
			name += " " + in.at
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bg := context.Background()
			path, tmp := makeInjected(t, in.format, in.name)
			in.options = strings.ReplaceAll(in.options, "TMP", tmp)
			seen := &watched{FS: local.Files, at: in.at}
			clean, err := openInjected(bg, in.format, in.options, seen, path)
			if err != nil {
				t.Fatal(err)
			}
			defer clean.Close()
			want, err := readInjected(bg, clean)
			if err != nil {
				t.Fatal(err)
			}
			base := in.at
			if base == "" {
				base = filepath.Base(path)
				seen.name = path
			}
			if seen.name == "" {
				t.Fatalf("%s is not read", in.at)
			}
			info, err := local.Files.Stat(bg, seen.name)
			if err != nil {
				t.Fatal(err)
			}
			beside := in.at != "" && in.format != "files"
			for _, c := range []struct {
				what  string
				fault fault.Fault
				is    []error // one of them
				must  bool    // be an error
			}{
				{"open", fault.Fault{Open: syscall.EACCES}, []error{syscall.EACCES}, true},
				{"EIO from the start", fault.Fault{Read: syscall.EIO}, []error{syscall.EIO}, true},
				{"EIO from the middle", fault.Fault{Read: syscall.EIO, From: info.Size / 2}, []error{syscall.EIO}, true},
				{"EIO at the end", fault.Fault{Read: syscall.EIO, From: info.Size - 1}, []error{syscall.EIO}, false},
				{"short reads", fault.Fault{Short: true}, []error{shardify.ErrChanged, shardify.ErrCorrupt, io.ErrUnexpectedEOF}, false},
				{"cut in the middle", fault.Fault{End: info.Size / 2}, []error{shardify.ErrChanged, shardify.ErrCorrupt, io.ErrUnexpectedEOF}, true},
				{"grown since the plan", fault.Fault{Stamp: larger}, []error{shardify.ErrChanged, shardify.ErrCorrupt}, in.format != "files" && !beside},
			} {
				c.fault.Name = in.at
				if in.format == "files" && !in.once && c.fault.Read != 0 && c.fault.From != 0 {
					continue // it tries again for a while
				}
				for _, when := range []string{"plan", "read"} {
					if when == "read" && in.once {
						continue
					}
					if when == "plan" && (c.fault.Stamp != nil || in.format == "files" && !in.once && c.fault.Read != 0) {
						continue
					}
					fs := fault.NewFiles(local.Files)
					if when == "plan" {
						fs.Set(c.fault)
					}
					got, err := func() (*readertest.Content, error) {
						src, err := openInjected(bg, in.format, in.options, fs, path)
						if err != nil {
							return nil, err
						}
						defer src.Close()
						fs.Set(c.fault)
						return readInjected(bg, src)
					}()
					switch {
					case err == nil && c.must:
						t.Errorf("%s at %s: no error", c.what, when)
					case err == nil:
						if err := got.Equal(want); err != nil {
							t.Errorf("%s at %s: other samples: %v", c.what, when, err)
						}
					case !strings.Contains(err.Error(), base):
						t.Errorf("%s at %s: the error names no file: %v", c.what, when, err)
					case !isOne(err, c.is):
						t.Errorf("%s at %s: %v", c.what, when, err)
					case c.fault.Read != 0 && errors.Is(err, shardify.ErrCorrupt):
						t.Errorf("%s at %s: taken for damage: %v", c.what, when, err)
					}
				}
			}
			if in.once {
				return
			}
			fs := fault.NewFiles(local.Files)
			bound := storage.NewBound(fs)
			src, err := openInjected(bg, in.format, in.options, bound, path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			fs.Set(fault.Fault{Name: in.at, Slow: time.Minute})
			ctx, cancel := context.WithTimeoutCause(bg, 30*time.Millisecond, context.Canceled)
			defer cancel()
			storage.Until(ctx, bound)
			start := time.Now()
			if _, err := readInjected(ctx, src); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("slow and cancelled: %v", err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%v after it was cancelled", took)
			}
		})
	}
}

func isOne(err error, list []error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// watched notes the file that the faults are about.
type watched struct {
	storage.FS
	at, name string
}

// Unwrap is the FS below.
func (w *watched) Unwrap() any { return w.FS }

func (w *watched) Path(string) (string, bool) { return "", false }

func (w *watched) see(folder, name string) {
	if w.at != "" && strings.HasSuffix(name, w.at) {
		if w.name = name; folder != "" {
			w.name = storage.Join(folder, name)
		}
	}
}

func (w *watched) Open(ctx context.Context, name string) (storage.File, error) {
	w.see("", name)
	return w.FS.Open(ctx, name)
}

func (w *watched) OpenOwn(ctx context.Context, name string) (storage.File, error) {
	w.see("", name)
	return storage.OpenOwn(ctx, w.FS, name)
}

func (w *watched) OpenBelow(ctx context.Context, folder, name string) (storage.File, error) {
	w.see(folder, name)
	return storage.OpenBelow(ctx, w.FS, folder, name)
}

func (w *watched) Lstat(ctx context.Context, name string) (storage.Info, error) {
	return storage.Lstat(ctx, w.FS, name)
}

// makeInjected is where an input is, and a folder of what belongs to it.
func makeInjected(t *testing.T, format, name string) (path, tmp string) {
	t.Helper()
	tmp = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		os.MkdirAll(filepath.Dir(filepath.Join(tmp, name)), 0o777)
		if err := os.WriteFile(filepath.Join(tmp, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case format == "csv", format == "jsonl":
		text := map[string]string{"csv": "name,y\n"}[format]
		for i := range 100 {
			text += fmt.Sprintf(map[string]string{"csv": "%q,%d\n", "jsonl": "{\"name\": %q, \"y\": %d}\n"}[format], fmt.Sprint("n", i), i)
		}
		write(name, text)
		return filepath.Join(tmp, name), tmp
	case format == "mtx":
		write(name+"/matrix.mtx", "%%MatrixMarket matrix coordinate integer general\n3 50 100\n"+strings.Repeat("1 7 5\n3 9 2\n", 50))
		write(name+"/barcodes.tsv", strings.Repeat("AAAC-1\n", 50))
		write(name+"/features.tsv", "ENSG1\tA\nENSG2\tB\nENSG3\tC\n")
		return filepath.Join(tmp, name), tmp
	case format == "star":
		write(name, "data_\nloop_\n_name\n_y\n"+strings.Repeat("000001@a.mrcs 1.5\n", 100))
		return filepath.Join(tmp, name), tmp
	case format == "xyz":
		write(name, strings.Repeat("2\nProperties=species:S:1:pos:R:3 e=1.5\nH 0 0 0\nO 0 0 1\n", 50))
		return filepath.Join(tmp, name), tmp
	case format == "files":
		csv, jsonl := "name,y\n", ""
		for i, n := range []string{"a", "b", "c"} {
			write("in/"+n+".txt", strings.Repeat(n+".txt", 20))
			csv += fmt.Sprintf("%s,%d\n", n, i)
			jsonl += fmt.Sprintf("{\"name\": %q, \"y\": %d}\n", n, i)
		}
		write("labels.csv", csv)
		write("labels.jsonl", jsonl)
		return filepath.Join(tmp, "in"), tmp
	case strings.HasSuffix(name, " set"):
		path = filepath.Join(tmp, "set")
		if _, err := pipeline.Convert(context.Background(), pipeline.Settings{Inputs: []string{"testdata/mutate/plain.parquet"}, Output: path, Format: format, ShardSamples: 7}); err != nil {
			t.Fatal(err)
		}
		return path, tmp
	case strings.HasPrefix(name, "../../root"):
		for _, n := range []string{"events-0", "friend-0"} {
			b, err := os.ReadFile("root/testdata/" + n + ".root")
			if err != nil {
				t.Fatal(err)
			}
			write(strings.Replace(n, "friend-0", "friend-events-0", 1)+".root", string(b))
		}
		return filepath.Join(tmp, "events-0.root"), tmp
	}
	path, err := filepath.Abs(filepath.Join("testdata", "mutate", name))
	if err != nil {
		t.Fatal(err)
	}
	return path, tmp
}
