package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/walk"
)

// openTars makes a set of tars as WebDataset writes them: those in a folder or of a pattern, or one. Their
// headers are read, and the index is in memory. Without tars it returns nil. With indexed, an index in
// TarsIndexName spares this for tars that did not change.
func openTars(ctx context.Context, in storage.FS, path string, indexed bool) (*Set, error) {
	path = Folder(path)
	root, pattern := path, strings.ContainsAny(path, "*?[")
	st, err := in.Stat(ctx, path)
	switch {
	case pattern && err != nil:
		root = storage.Dir(path)
		for strings.ContainsAny(root, "*?[") {
			root = storage.Dir(root)
		}
	case err != nil:
		return nil, nil
	case st.Type != storage.Folder:
		if root = storage.Dir(path); !isTar(path) && !packedTar(path) {
			return nil, nil
		}
	}
	var known *tarsIndex
	if indexed {
		if known, err = readTarsIndex(ctx, in, root); err != nil {
			return nil, err
		}
		if known != nil && known.Root != "" {
			if path != root {
				known = nil
			} else if err := emptyOfSets(ctx, in, path); err != nil {
				return nil, shardify.Annotate(err, "open", storage.Join(path, TarsIndexName), "")
			} else {
				path, root = known.Root, known.Root
			}
		}
	}
	var packed atomic.Pointer[string]
	var ours atomic.Bool // tars with an index of ours are those of a set without its manifest
	keep := func(base string) bool {
		if strings.HasSuffix(base, ".tar"+tar.IndexExt) {
			ours.Store(true)
		}
		if packedTar(base) {
			packed.CompareAndSwap(nil, &base)
		}
		return isTar(base)
	}
	t, _, err := walk.Walk(ctx, walk.Request{FS: in, Inputs: []string{path}, Keep: keep, AnyKind: true})
	if name := packed.Load(); name != nil || err == nil && t.Len() == 1 && packedTar(t.Path(0)) {
		if name == nil {
			name = &path
		}
		return nil, shardify.Unsupported("%s is compressed, and has to be read from its beginning for each sample: shardify convert %s -o FOLDER converts it", filepath.Base(*name), printable.Quote(path))
	}
	if errors.Is(err, walk.ErrNone) || ours.Load() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Set{FS: in, Path: root, Foreign: true}
	if err := s.tarSplits(t); err != nil {
		return nil, err
	}
	return s, s.scan(ctx, t, known, path == root)
}

// splitNames are what folders of splits are called.
var splitNames = []string{"dev", "eval", "test", "train", "training", "val", "valid", "validation"}

// tarSplits refuses to make one set of the tars of several splits.
func (s *Set) tarSplits(t *format.Table) error {
	e := &SplitSet{Folder: s.Path}
	for i := range t.Len() {
		name, _, below := strings.Cut(t.Name(i), "/")
		if below && slices.Contains(splitNames, strings.ToLower(name)) && !slices.Contains(e.Names, name) {
			e.Names = append(e.Names, name)
		}
	}
	if len(e.Names) < 2 {
		return nil
	}
	return e
}

func isTar(base string) bool { return strings.EqualFold(filepath.Ext(base), ".tar") }

func packedTar(base string) bool {
	lower := strings.ToLower(base)
	return slices.ContainsFunc([]string{".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz"}, func(ext string) bool { return strings.HasSuffix(lower, ext) })
}

// scan reads the headers of all tars, several at a time, but of those that are known and did not change. whole: the
// tars are all of the folder.
func (s *Set) scan(ctx context.Context, t *format.Table, known *tarsIndex, whole bool) error {
	list := make([]tarScan, t.Len())
	sets := Besides{Format: index.FormatWDS}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(min(runtime.GOMAXPROCS(0), 16))
	for i := range t.Len() {
		g.Go(func() error {
			path := t.Path(i)
			err := alone(ctx, s.FS, &sets, path)
			if err == nil {
				err = list[i].open(ctx, s.FS, path, tarName(s.Path, path), known)
			}
			return shardify.Annotate(err, "open", path, "")
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	m := &index.Manifest{Version: 1, Format: index.FormatWDS, Keyed: true}
	s.Manifest, s.loose = m, &loose{members: map[string]int{}}
	facts, left := map[string]*memberFacts{}, map[string]int64{}
	var h xxh3.Hasher
	for i := range list {
		x := &list[i]
		m.Shards = append(m.Shards, shardify.Shard{Name: x.Name, Samples: x.Samples, Bytes: x.Bytes})
		m.Samples, m.Bytes = m.Samples+x.Samples, m.Bytes+x.Bytes
		s.loose.places, s.loose.scans = append(s.loose.places, x.places), append(s.loose.scans, x)
		fmt.Fprintf(&h, "%s %d\n", x.Name, x.Bytes)
		var b [8]byte
		for _, at := range x.places {
			binary.LittleEndian.PutUint64(b[:], uint64(at))
			_, _ = h.Write(b[:])
		}
		for ext, f := range x.Facts {
			if have := facts[ext]; have != nil {
				have.merge(f)
			} else {
				first := *f
				facts[ext] = &first
			}
		}
		for why, k := range x.Left {
			left[why] += k
		}
	}
	if m.Samples == 0 {
		return shardify.Annotate(shardify.Unsupported("the tars have no samples, which are files NAME.EXT"), "open", s.Path, "")
	}
	sum := h.Sum128().Bytes()
	m.Digest = fmt.Sprintf("%x", sum)
	for _, why := range slices.Sorted(maps.Keys(left)) {
		s.loose.left = append(s.loose.left, fmt.Sprintf("left out in the tars: %d %s", left[why], why))
	}
	if known != nil {
		if text := known.note(list, whole); text != "" {
			s.loose.left = append(s.loose.left, text)
		}
	}
	return s.fieldsOf(facts)
}

// fieldsOf makes the schema of the extensions, as a conversion does; what some samples lack is nullable.
func (s *Set) fieldsOf(facts map[string]*memberFacts) (err error) {
	member := 0
	var fields []shardify.Field
	owner := map[string]string{}
	for _, ext := range slices.Sorted(maps.Keys(facts)) {
		f := facts[ext].field(ext)
		if _, taken := facts[f.Name]; taken {
			f.Name = ext
		}
		f.Nullable = facts[ext].Members < s.Samples
		owner[f.Name] = ext
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b shardify.Field) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range fields {
		s.loose.members[owner[f.Name]] = member
		member++
		s.Schema = append(s.Schema, f)
		if f.Ragged {
			s.Schema = append(s.Schema, shardify.Field{Name: f.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{len(facts[owner[f.Name]].Dims)}})
		}
	}
	s.Layout, err = index.NewLayout(s.Schema, true)
	return err
}

// memberFacts is what all members of an extension have in common.
type memberFacts struct {
	Members int64           `json:"members"`
	Class   bool            `json:"class,omitempty"` // all are whole numbers
	DType   *shardify.DType `json:"dtype,omitempty"` // of arrays: all are NumPy files of one type and rank
	Dims    []int64         `json:"dims"`            // of arrays; those of the first
	Fixed   bool            `json:"fixed,omitempty"` // and one shape
	Inner   bool            `json:"inner,omitempty"` // and one shape behind the first dimension
}

// Array reports whether all are arrays of one type and rank.
func (f *memberFacts) Array() bool { return f.DType != nil }

func (f *memberFacts) merge(o *memberFacts) {
	f.Members += o.Members
	f.Class = f.Class && o.Class
	if !f.Array() || !o.Array() || *f.DType != *o.DType || len(f.Dims) != len(o.Dims) {
		f.DType, f.Dims, f.Fixed, f.Inner = nil, nil, false, false
		return
	}
	f.Fixed = f.Fixed && o.Fixed && slices.Equal(f.Dims, o.Dims)
	f.Inner = f.Inner && o.Inner && slices.Equal(f.Dims[1:], o.Dims[1:])
}

// field is the field of an extension.
func (f *memberFacts) field(ext string) shardify.Field {
	last := ext[strings.LastIndexByte(ext, '.')+1:]
	switch {
	case f.Class:
		return shardify.Field{Name: ext, DType: shardify.I64}
	case !f.Array():
		if last == "" || last == "image" {
			last = "bin"
		}
		return shardify.Field{Name: ext, DType: shardify.U8, Levels: 1, Media: last}
	}
	x := shardify.Field{Name: strings.TrimSuffix(ext, ".npy"), DType: *f.DType}
	dims := f.Dims
	switch {
	case f.Fixed:
	case f.Inner && !slices.Contains(dims[1:], 0):
		x.Levels, dims = 1, dims[1:]
	default:
		x.Levels, x.Ragged, dims = 1, true, nil
	}
	for _, d := range dims {
		x.Shape = append(x.Shape, int(d))
	}
	return x
}

// tarScan is what the headers of a tar say.
type tarScan struct {
	tarRecord
	places []int64 // where samples begin, and where the last one ends
	arr    npy.Array
	again  bool // an index does not have it as it is
}

// scanInput reads a tar from its beginning, and skips the data of large members.
type scanInput struct {
	f      storage.File
	buf    []byte
	lo, hi int64 // what of the tar is in buf
}

const (
	scanAhead = 256 << 10
	scanLeast = 8 << 10 // behind a member that was skipped
)

// Bytes implements tar.Input.
func (s *scanInput) Bytes(at int64, n int) ([]byte, int64, error) {
	size := s.f.Size()
	n = int(max(min(int64(n), size-at), 0))
	if at < s.lo || at+int64(n) > s.hi {
		want := scanLeast
		if at >= s.lo && at <= s.hi {
			want = scanAhead // it goes on: members are small
		}
		want = int(min(max(int64(want), int64(n)), size-min(at, size)))
		if cap(s.buf) < want {
			s.buf = make([]byte, max(want, scanAhead))
		}
		if err := ReadFull(s.f, s.buf[:want], at); err != nil {
			return nil, size, err
		}
		s.lo, s.hi = at, at+int64(want)
	}
	return s.buf[at-s.lo:][:n], size, nil
}

// read reads the headers of a tar.
func (x *tarScan) read(ctx context.Context, f storage.File) error {
	x.Facts, x.Left = map[string]*memberFacts{}, map[string]int64{}
	from := &scanInput{f: f}
	w := tar.NewForeign(from)
	var last string
	seen, have := map[string]bool{}, map[string]bool{}
	end := int64(0)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := w.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		end = w.At()
		key, ext, why, err := tar.SplitMember(&m)
		switch {
		case err != nil:
		case why != "":
			x.Left[why]++
			continue
		case m.Size > x.Bytes-m.Data:
			err = shardify.Corrupt(m.Data, "%d bytes of data, the tar ends before", m.Size)
		case string(key) == last && have[ext]:
			err = shardify.Mismatch("sample %s has two members .%s", key, ext)
		case string(key) != last && seen[string(key)]:
			err = shardify.Mismatch("sample %s has members in several places: shardify convert puts them together", key)
		default:
			if string(key) != last || len(x.places) == 0 {
				last = string(key)
				seen[last] = true
				clear(have)
				x.places = append(x.places, m.Offset)
			}
			have[ext] = true
			err = x.look(from, &m, ext)
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Object = string(m.Name); e.Offset < 0 {
					e.Offset = m.Offset
				}
			})
		}
	}
	x.places = append(x.places, end)
	return nil
}

// maxExts bounds the different extensions; more of them are parts of names.
const maxExts = 1 << 12

// look finds out about the value of a member whose kind follows from its content.
func (x *tarScan) look(in *scanInput, m *tar.ForeignMember, ext string) error {
	f := memberFacts{Members: 1}
	switch last := ext[strings.LastIndexByte(ext, '.')+1:]; {
	case ext == "cls" && m.Size > 0 && m.Size <= 32:
		b, _, err := in.Bytes(m.Data, int(m.Size))
		if err != nil {
			return err
		}
		_, bad := number(b)
		f.Class = bad == nil
	case last == "npy":
		b, _, err := in.Bytes(m.Data, int(min(m.Size, npy.MostHead)))
		if err != nil {
			return err
		}
		if x.arr.Parse(b, m.Size) {
			f.DType, f.Dims, f.Fixed, f.Inner = &x.arr.DType, x.arr.Dims, true, len(x.arr.Dims) > 0
		}
	}
	have := x.Facts[ext]
	if have == nil {
		if len(x.Facts) == maxExts {
			return shardify.Unsupported("more than %d different extensions: names with dots?", maxExts)
		}
		if f.Array() {
			d := *f.DType
			f.DType, f.Dims = &d, append([]int64{}, f.Dims...)
		}
		x.Facts[ext] = &f
		return nil
	}
	have.merge(&f)
	return nil
}
