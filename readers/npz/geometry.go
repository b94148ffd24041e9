package npz

import (
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/storage/zips"
)

// region is the bytes of one column in one file, seen as rows along axis 0.
type region struct {
	*part
	item  *npy.Type
	rows  int64
	inner []int64
	// perRow are the items, rowBytes the bytes of one row.
	perRow, rowBytes int64
	// The bytes are stored as before times rows times after bytes: after is the bytes of
	// one row that are together, before what is slower than the rows.
	axis          int
	before, after int64
}

// region finds column j in a file.
func (g *group) region(file, j int, byFile bool) region {
	c := &g.columns[j]
	p := &g.parts[file*len(g.columns)+j]
	r := region{part: p, item: &g.types[p.typ], rows: g.files[file].samples, inner: c.inner}
	if c.single {
		r.rows = 1
	}
	if byFile {
		shape := c.inner
		if c.ragged {
			shape = g.shape(file, j)
		}
		r.rows, r.inner = 1, nil
		if len(shape) > 0 {
			r.rows, r.inner = shape[0], shape[1:]
		}
	}
	r.perRow = product(r.inner)
	r.rowBytes = r.perRow * int64(r.item.Size)
	r.place(c.axis)
	return r
}

// shape is that of a ragged column in one file.
func (g *group) shape(file, j int) []int64 {
	perFile, at := 0, 0
	for k := range g.columns {
		if !g.columns[k].ragged {
			continue
		}
		if k < j {
			at += len(g.columns[k].inner)
		}
		perFile += len(g.columns[k].inner)
	}
	at += file * perFile
	return g.dims[at : at+len(g.columns[j].inner)]
}

// size is that of the array with its header: of the decoded member.
func (r *region) size() int64 { return int64(r.head) + r.rows*r.rowBytes }

// place finds what comes before and after the samples' axis.
func (r *region) place(axis int) {
	r.axis = axis
	outer, inner := r.inner[:axis], r.inner[axis:]
	if r.flags&inFortran != 0 {
		outer, inner = inner, outer
	}
	r.before, r.after = product(outer), product(inner)*int64(r.item.Size)
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// turned: the file has the values of a row in another order.
func (r *region) turned() bool { return r.flags&inFortran != 0 || r.axis > 0 }

// scattered: the rows of the array are not consecutive in the file.
func (r *region) scattered() bool { return r.turned() && (r.axis == 0 || r.before != 1) }

const (
	// maxWhole bounds arrays that must be held whole: compressed, and their rows scattered.
	maxWhole = 1 << 30
	// chunkBytes is what is read, summed and converted at once: it stays in the
	// cache between the steps.
	chunkBytes = 256 << 10
	// maxStreams bounds the decoders that a reader keeps, of some 400 KiB each. A
	// file with more compressed columns is read whole, one column after another.
	maxStreams = 64
)

// cost is the memory that reading takes from the files at of each group: per
// sample, and whatever the number of samples. whole: the files cannot be read in
// parts.
func (s *source) cost(at []int) (perSample, fixed int64, whole bool) {
	streams, size := 0, int64(0)
	for i, g := range s.groups {
		for j := range g.columns {
			if len(g.columns[j].wanted) == 0 {
				continue
			}
			r := g.region(at[i], j, s.byFile)
			n := r.cost(g.columns[j].wanted)
			if s.byFile {
				n = rows.SatMul(n, r.rows)
			}
			perSample = rows.SatAdd(perSample, n)
			fixed = rows.SatAdd(fixed, r.scratch())
			whole = whole || r.method != zips.Stored && r.scattered()
			if size = rows.SatAdd(size, r.size()); r.method != zips.Stored {
				streams++
			}
		}
	}
	whole = whole || streams > maxStreams && size <= maxWhole
	return perSample, fixed, whole
}

// cost is the memory of one row: what is delivered, and the bytes in their order
// in the file where they must be turned round.
func (r *region) cost(wanted []wanted) (n int64) {
	for i := range wanted {
		l := &r.item.Leaves[wanted[i].leaf]
		values := rows.SatMul(int64(l.Values()), r.perRow)
		n = rows.SatAdd(n, wanted[i].wide(l, rows.SatMul(values, int64(l.Scalar.Size))))
		if l.Scalar.IsText() {
			n = rows.SatAdd(n, rows.SatMul(values, 8)+8)
		}
	}
	if r.turned() {
		n = rows.SatAdd(n, r.rowBytes)
		if !r.item.Plain() {
			n = rows.SatAdd(n, r.rowBytes)
		}
	}
	return n
}

// scratch is the memory of an item too large for a reader's own buffer.
func (r *region) scratch() int64 {
	if r.item.Plain() || r.item.Size <= chunkBytes {
		return 0
	}
	return int64(r.item.Size)
}

// checkBig refuses what would have to be held whole and is too large for it.
func (s *source) checkBig() error {
	for _, g := range s.groups {
		for i := range g.files {
			for j := range g.columns {
				if len(g.columns[j].wanted) == 0 {
					continue
				}
				r := g.region(i, j, s.byFile)
				if n := r.size(); r.method != zips.Stored && r.scattered() && n > maxWhole {
					what, cure := "in Fortran order", "in C order"
					if s.axis != sampleaxis.AutoAxis {
						what, cure = "its samples are scattered along --axis "+strconv.Itoa(s.axis), "with the samples first"
					}
					err := shardify.Unsupported("compressed and %s: %s would be held at once; save it %s or with np.savez", what, shardify.FormatSize(n), cure)
					return shardify.Annotate(err, "open", s.table.Shown(int(g.files[i].input)), g.columns[j].key+".npy")
				}
			}
		}
	}
	return nil
}
