package h5

import (
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// reached counts what a walk got to.
type reached struct {
	objects, datasets, tables, chunks, attributes, strings int
}

// maxWalk bounds a walk: files made to be hostile may have more paths than time.
const maxWalk = 20_000

// walkAll asks for everything a file has and returns the first error.
func walkAll(f *File, r *reached) error {
	w := &walker{f: f, r: r, seen: map[int64]bool{}, heap: heap.New(f.File, 1<<20)}
	if w.r == nil {
		w.r = &reached{}
	}
	w.object(f.Root, "/")
	return w.err
}

type walker struct {
	f    *File
	r    *reached
	seen map[int64]bool
	heap *heap.Heap
	err  error
}

func (w *walker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *walker) object(addr int64, path string) {
	if w.seen[addr] || len(w.seen) > maxWalk {
		return
	}
	w.seen[addr] = true
	o, err := w.f.Object(addr, path)
	if err != nil {
		w.fail(err)
		return
	}
	w.r.objects++
	attrs, err := o.Attributes()
	w.fail(err)
	for _, a := range attrs {
		w.fail(a.Err)
		if a.Err == nil {
			w.r.attributes++
			w.values(a.Type, a.Data)
		}
	}
	switch o.Kind {
	case KindGroup:
		links, err := o.Children()
		w.fail(err)
		for _, l := range links {
			w.fail(l.Err)
			p := strings.TrimSuffix(path, "/") + "/" + l.Name
			if l.Kind == HardLink {
				w.object(l.Addr, p)
			} else if len(w.seen) < 1000 && len(p) < 1000 {
				w.f.Lookup(p)
			}
		}
	case kindType:
		w.fail(namedType(o))
	case KindDataset:
		w.dataset(o)
	}
}

func (w *walker) dataset(o *Object) {
	ds, err := o.Dataset()
	if err != nil {
		w.fail(err)
		return
	}
	w.r.datasets++
	switch ds.Layout.Class {
	case dataset.Compact:
		w.values(ds.Type, ds.Layout.Data)
	case dataset.Contiguous:
		if n, _ := ds.Space.Bytes(ds.Type.Size); ds.Layout.Addr != meta.Undefined && n > 0 && n < 1<<20 && ds.Type.HasVarLen() {
			b, err := w.f.View(ds.Layout.Addr, n, "data")
			w.fail(err)
			w.values(ds.Type, b)
		}
	case dataset.Chunked:
		t, err := ds.Chunks()
		w.fail(err)
		if err == nil {
			w.r.tables++
			for range t.All {
				w.r.chunks++
			}
		}
	case dataset.Virtual:
		_, err := ds.Mappings()
		w.fail(err)
	}
}

// values follows variable-length elements and region references, one level deep.
func (w *walker) values(t *datatype.Type, b []byte) {
	for i := 0; len(b) >= t.Size && i < 1000; i++ {
		switch {
		case t.Class == datatype.VarLen:
			_, err := w.heap.View(b, t.Base.Size)
			w.fail(err)
			w.r.strings++
		case t.Class == datatype.Reference && t.RefKind == 1:
			if a, err := w.f.Address(b); err == nil && a != meta.Undefined {
				at := w.f.OffsetSize
				_, err := w.heap.Object(a, uint32(meta.Uint(b[at:at+4])))
				w.fail(err)
			}
		}
		b = b[t.Size:]
	}
}

// namedType parses the type of a committed datatype.
func namedType(o *Object) error {
	for _, m := range o.msgs {
		if m.typ == msgType {
			_, err := o.f.typeMessage(m)
			return err
		}
	}
	return shardify.Corrupt(o.Addr, "not a datatype")
}
