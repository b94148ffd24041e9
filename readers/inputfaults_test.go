package readers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/local"
)

// injected are inputs of every format that reads through an FS. The shards of our own sets
// (mmap, wds) are files of this machine.
var injected = []struct{ format, name string }{
	{"files", "files"}, {"npz", "stored.npz"}, {"npz", "deflated.npz"}, {"npz", "rows.npy"},
	{"hdf5", "rows_earliest.h5"}, {"hdf5", "groups_latest.h5"}, {"root", "tree.root"}, {"root", "ntuple.root"},
	{"parquet", "plain.parquet"}, {"parquet", "snappy.parquet"}, {"tar", "samples.tar"},
}

func openInjected(ctx context.Context, format string, fs storage.FS, path string) (shardify.Source, error) {
	f, _ := readers.Lookup(format)
	options, err := shardify.CheckOptions(f.Options, nil)
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
		path, err := filepath.Abs(filepath.Join("testdata", "mutate", in.name))
		if in.format == "files" {
			path = t.TempDir()
			for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
				if err := os.WriteFile(filepath.Join(path, name), bytes.Repeat([]byte(name), 20), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			bg := context.Background()
			clean, err := openInjected(bg, in.format, local.Files, path)
			if err != nil {
				t.Fatal(err)
			}
			defer clean.Close()
			want, err := readInjected(bg, clean)
			if err != nil {
				t.Fatal(err)
			}
			info, err := local.Files.Stat(bg, path)
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Base(path)
			if in.format == "files" {
				base, info.Size = "a.txt", 100
			}
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
				{"grown since the plan", fault.Fault{Stamp: larger}, []error{shardify.ErrChanged}, in.format != "files"},
			} {
				if in.format == "files" && c.fault.Read != 0 && c.fault.From != 0 {
					continue // it tries again for a while
				}
				for _, when := range []string{"plan", "read"} {
					if when == "plan" && (c.fault.Stamp != nil || in.format == "files" && c.fault.Read != 0) {
						continue
					}
					fs := fault.NewFiles(local.Files)
					if when == "plan" {
						fs.Set(c.fault)
					}
					got, err := func() (*readertest.Content, error) {
						src, err := openInjected(bg, in.format, fs, path)
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
			fs := fault.NewFiles(local.Files)
			src, err := openInjected(bg, in.format, fs, path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			fs.Set(fault.Fault{Slow: 20 * time.Millisecond})
			ctx, cancel := context.WithTimeoutCause(bg, 30*time.Millisecond, context.Canceled)
			defer cancel()
			start := time.Now()
			if _, err := readInjected(ctx, src); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("slow and cancelled: %v", err)
			}
			if took := time.Since(start); took > 5*time.Second {
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
