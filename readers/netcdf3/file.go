package netcdf3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/netcdf3/internal/cdf"
	"github.com/shardify/shardify/storage"
)

// file is a file as a store: the chunks of a variable have the names "VARIABLE/0.0".
type file struct {
	in  storage.File
	far bool
	*cdf.File
	named map[string]*cdf.Variable
}

func open(_ context.Context, fs storage.FS, name string, in storage.File) (store.Files, error) {
	f, err := cdf.Parse(in, in.Size())
	if err != nil {
		return nil, err
	}
	_, own := storage.Path(fs, name)
	x := &file{in, !own, f, map[string]*cdf.Variable{}}
	for i := range f.Variables {
		x.named[f.Variables[i].Name] = &f.Variables[i]
	}
	return x, nil
}

func scan(_ context.Context, f store.Files, c *store.Choice) (*store.Tree, error) {
	x := f.(*file)
	t := &store.Tree{Files: f, Whole: true, Notes: slices.Clone(x.Notes())}
	for i := range x.Variables {
		v := &x.Variables[i]
		if !c.Wants(v.Name) {
			continue
		}
		a := x.array(v)
		if !x.far && a.Err == nil {
			a.Notes = x.unwritten(v)
		}
		t.Arrays = append(t.Arrays, a)
	}
	return t, nil
}

// fills are the values that the netCDF library writes where nothing was written, by type; bytes have
// none, as for the library.
var fills = map[string]string{
	">i2": "\x80\x01", ">i4": "\x80\x00\x00\x01", ">f4": "\x7c\xf0\x00\x00", ">f8": "\x47\x9e\x00\x00\x00\x00\x00\x00", ">u2": "\xff\xff", ">u4": "\xff\xff\xff\xff",
	">i8": "\x80\x00\x00\x00\x00\x00\x00\x02", ">u8": "\xff\xff\xff\xff\xff\xff\xff\xfe",
}

// unwritten notes a variable that ends with such a value and has no attribute that makes it missing.
func (f *file) unwritten(v *cdf.Variable) []string {
	_, fill := v.Attributes["_FillValue"]
	_, missing := v.Attributes["missing_value"]
	want := fills[v.Type.NumPy]
	if want == "" || fill || missing || v.Record && f.Records == 0 {
		return nil
	}
	at := v.Begin + v.Size - v.Type.Size
	if v.Record {
		at += (f.Records - 1) * f.RecordSize
	}
	last := make([]byte, v.Type.Size)
	if full(f.in, last, at) != nil || string(last) != want {
		return nil
	}
	return []string{"its last value is the one that netCDF writes where nothing was written; it counts as a value, as for xarray"}
}

func reopen(_ context.Context, f store.Files, names []string) (*store.Tree, error) {
	x := f.(*file)
	t := &store.Tree{Files: f, Whole: true}
	for _, name := range names {
		v := x.named[name]
		if v == nil {
			return nil, fmt.Errorf("%w: there is no variable %s", shardify.ErrChanged, name)
		}
		t.Arrays = append(t.Arrays, x.array(v))
	}
	return t, nil
}

// array is a variable as an array.
func (f *file) array(v *cdf.Variable) store.Array {
	a := store.Array{Path: v.Name, Attributes: v.Attributes, Digest: v.Digest, Err: v.Err, Grows: v.Record, Layout: "contiguous"}
	if v.Record {
		a.Layout = fmt.Sprintf("in records of %d bytes", f.RecordSize)
	}
	if a.Err == nil {
		a.Array, a.Err = node.Plain(v.Type.NumPy, v.Shape, chunkOf(v), v.Dims)
	}
	if a.Err == nil {
		a.Type.Name, a.Type.Chars = v.Type.Name, a.Type.Kind == node.Fixed
	}
	return a
}

// chunkBytes is about the size of a chunk.
const chunkBytes = 1 << 20

// chunkOf is the shape of the chunks of a variable: of the last dimensions all, of the one before them
// a part, of the first ones 1.
func chunkOf(v *cdf.Variable) []int64 {
	out := make([]int64, len(v.Shape))
	left := chunkBytes / v.Type.Size
	for d := len(out) - 1; d >= 0; d-- {
		out[d] = max(min(v.Shape[d], left), 1)
		left /= out[d]
		if out[d] < v.Shape[d] {
			left = 1
		}
	}
	return out
}

// Open implements store.Files.
func (f *file) Open(_ context.Context, key string) (storage.Blob, error) {
	name, place, _ := strings.Cut(key, "/")
	v := f.named[name]
	if v == nil {
		return nil, fs.ErrNotExist
	}
	c := &chunk{in: f.in, at: v.Begin, n: v.Type.Size, runs: 1}
	shape := chunkOf(v)
	step := v.Type.Size // from one place to the next along the dimension
	c.size = step
	for d, index := range slices.Backward(strings.Split(place, ".")[:len(shape)]) {
		i, err := strconv.ParseInt(index, 10, 64)
		if err != nil {
			return nil, fs.ErrNotExist
		}
		from := i * shape[d]
		n := min(shape[d], v.Shape[d]-from) // at the end there are fewer
		if c.size *= shape[d]; d == 0 && v.Record {
			step = f.RecordSize
			c.runs, c.step = n, step
		} else {
			c.n *= n
		}
		c.at += from * step
		step *= v.Shape[d]
	}
	return c, nil
}

// List implements store.Files: it is not asked, as all chunks are there.
func (f *file) List(context.Context, string) ([]storage.Entry, error) {
	return nil, errors.ErrUnsupported
}

// Far implements store.Files.
func (f *file) Far() bool { return f.far }

// Notes implements store.Files.
func (f *file) Notes() []string { return f.File.Notes }

// CheckNames implements store.Files.
func (f *file) CheckNames() error { return nil }

// chunk is the bytes of a chunk, filled up with zeros behind the end of the variable.
type chunk struct {
	in   storage.File
	at   int64
	n    int64 // bytes of a run
	runs int64
	step int64 // from one run to the next
	size int64
}

func (c *chunk) Size() int64  { return c.size }
func (c *chunk) Close() error { return nil }

// together is the most bytes between two runs that are read with them; a read of its own takes about as long.
const together = 16 << 10

var regions = sync.Pool{New: func() any { b := make([]byte, chunkBytes); return &b }}

// ReadAt implements io.ReaderAt.
func (c *chunk) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		run, in := (off+int64(done))/c.n, (off+int64(done))%c.n
		if run >= c.runs {
			clear(p[done:])
			return len(p), nil
		}
		if many := min(c.runs-run, chunkBytes/max(c.step, 1), int64(len(p)-done)/c.n); in == 0 && many > 1 && c.step-c.n <= together {
			if err := c.gather(p[done:], run, many); err != nil {
				return done, err
			}
			done += int(many * c.n)
			continue
		}
		k := int(min(int64(len(p)-done), c.n-in))
		if err := full(c.in, p[done:done+k], c.at+run*c.step+in); err != nil {
			return done, err
		}
		done += k
	}
	return done, nil
}

// gather reads runs with what is between them.
func (c *chunk) gather(p []byte, run, many int64) error {
	buf := regions.Get().(*[]byte)
	defer regions.Put(buf)
	b := (*buf)[:(many-1)*c.step+c.n]
	if err := full(c.in, b, c.at+run*c.step); err != nil {
		return err
	}
	for i := range many {
		copy(p[i*c.n:(i+1)*c.n], b[i*c.step:])
	}
	return nil
}

func full(f storage.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return fmt.Errorf("%d of %d bytes at %d: %w", n, len(p), off, cmp.Or(err, io.ErrUnexpectedEOF))
}
