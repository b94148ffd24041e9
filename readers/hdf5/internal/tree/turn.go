package tree

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// turns chooses the order of axes of all data sets of a tree: as --axis says, or as
// MATLAB's files want it.
func (s *scanner) turns() error {
	t, opts := s.tree, s.opts
	var n int64
	for rows, bytes := range s.tables {
		if bytes > s.tables[n] || bytes == s.tables[n] && rows > n {
			n = rows
		}
	}
	for i := range t.Objects {
		o := &t.Objects[i]
		if o.Wide {
			continue
		}
		if len(o.Dims) > 1 {
			opts.Used.Mark(sampleaxis.AxisOption)
		}
		var how *array.Order
		var err error
		chars := o.chars && len(o.Axes) > 0 && t.Dims.texts.Along(o.Axes[len(o.Axes)-1].Name)
		if opts.axis != sampleaxis.AutoAxis {
			how, err = turnTo(opts.axis, o, chars)
		}
		if chars && err == nil {
			if how == nil {
				how = array.As(len(o.Dims))
			}
			how.Text = true
		}
		if o.matlab && (opts.axis == sampleaxis.AutoAxis || o.text) {
			how = matlabTurn(o, n)
		}
		if err != nil {
			return err
		}
		if how != nil {
			if err := s.turn(o, how); err != nil {
				return shardify.Annotate(err, "", "", o.Path)
			}
		}
	}
	return nil
}

// turnTo puts an axis first; nil if it is there. Of characters the last axis does not count.
func turnTo(axis int, o *Object, chars bool) (*array.Order, error) {
	rank := len(o.Dims)
	if chars {
		rank--
	}
	if rank < 2 { // there is no choice
		return nil, nil
	}
	axis, ok := sampleaxis.PlaceOfAxis(axis, rank)
	if !ok {
		return nil, shardify.Misuse("%s has the axes 0 to %d: --columns or --object selects what has others", o.Path, rank-1)
	}
	if axis == 0 {
		return nil, nil
	}
	how := &array.Order{Perm: []int{axis}}
	for k := range o.Dims {
		if k != axis {
			how.Perm = append(how.Perm, k)
		}
	}
	return how, nil
}

// matlabArray notes that a data set is an array of MATLAB, and how many samples there
// would be if it were a table: the rows of a matrix, the length of a vector. Those of most
// bytes count, wanted or not.
func (s *scanner) matlabArray(o *Object, class string, typ *datatype.Type) {
	o.matlab = class != "" && len(o.Dims) >= 2
	o.text = o.matlab && class == "char" && len(o.Dims) == 2 && typ.Class == datatype.Integer && typ.Size == 2
	if !o.matlab || o.text || len(o.Dims) != 2 || o.Dims[0]*o.Dims[1] == 1 {
		return
	}
	n := o.Dims[1]
	if n == 1 {
		n = o.Dims[0]
	}
	s.tables[n] += o.Bytes
}

// matlabTurn finds the samples' axis of an array in a MATLAB file, which is n long if
// that is known: the rows of matrices, stored last; of arrays with more axes MATLAB's
// first or last one. The other axes come as MATLAB has them.
func matlabTurn(o *Object, n int64) *array.Order {
	rank := len(o.Dims)
	if rank < 2 {
		return nil
	}
	axis := rank - 1
	switch {
	case o.text:
	case rank == 2 && o.Dims[1] == 1: // a row vector
		axis = 0
	case rank > 2 && o.Dims[rank-1] != n:
		axis = 0
	}
	how := &array.Order{Perm: []int{axis}, Squeeze: rank == 2, Text: o.text}
	for k := rank - 1; k >= 0; k-- {
		if k != axis {
			how.Perm = append(how.Perm, k)
		}
	}
	return how
}

// turn changes what is known of a data set.
func (s *scanner) turn(o *Object, how *array.Order) error {
	s.tree.File.SetOrder(o.Path, how)
	a, err := s.tree.File.Dataset(o.Path)
	if err != nil {
		return err
	}
	stored := *o
	stored.Wanted = slices.Clone(o.Wanted)
	unlimited, axes := o.Unlimited, o.Axes
	o.Unlimited, o.Axes = nil, nil
	for k := range a.Dims {
		o.Unlimited = append(o.Unlimited, unlimited[how.Perm[k]])
		if len(axes) == len(how.Perm) {
			o.Axes = append(o.Axes, axes[how.Perm[k]])
		}
	}
	o.Dims, o.Elem, o.Unit, o.ChunkRows, o.How = a.Dims, a.Elem, a.Unit(), chunkRows(a.Array), how
	o.stored = &stored
	if how.Text {
		for i := range o.Wanted {
			l := &o.Wanted[i].Leaf
			if *l = a.RowText(s.opts.media); o.chars {
				l.Notes = []string{"characters along " + axes[len(axes)-1].Name + " are texts"}
			}
		}
	}
	return nil
}

// Unturn undoes turns: in a set of groups or data sets that are samples axes stay as
// they are stored.
func (t *Tree) Unturn(opts *Settings) error {
	if opts.axis != sampleaxis.AutoAxis {
		return shardify.Mismatch("--axis goes with samples that are rows or files")
	}
	for i := range t.Objects {
		if o := &t.Objects[i]; o.stored != nil {
			*o = *o.stored
			t.File.SetOrder(o.Path, nil)
		}
	}
	return nil
}

// chunkRows is the rows of a chunk, 0 of a data set that is not stored in chunks.
func chunkRows(a *array.Array) int64 {
	if a.Set.Layout.Class != dataset.Chunked || len(a.Dims) == 0 {
		return 0
	}
	return a.Set.Layout.ChunkDims[a.Axis()]
}
