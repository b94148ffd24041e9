package npz

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/npz/internal/members"
)

// column is an array that every file of a group has.
type column struct {
	key string
	// inner are the dimensions within a sample: all but the first, or all when
	// a file is a sample.
	inner  []int64
	axis   int  // stored axis of the samples, if turning a matrix is not all
	ragged bool // inner differs from file to file; only its length holds
	single bool // one value in each file, which all its samples have
	wanted []wanted
}

// wanted is a leaf of the column's item that is delivered.
type wanted struct {
	leaf int
	name string // of the field
	// field is what it is in all files together.
	field shardify.Field
}

// chooser decides which arrays of a file are columns.
type chooser struct {
	*columns.Wanted
	byFile bool // a file is a sample
	firm   bool // rows are samples, as the user says
	counts bool // samples are to be counted, whatever else there is
}

func newChooser(patterns []string, byFile bool) (*chooser, error) {
	w, err := columns.New(patterns)
	return &chooser{Wanted: w, byFile: byFile}, err
}

// match reports whether one of the names is asked for, and whether by a name
// rather than a wildcard.
func (c *chooser) match(names ...string) (hit, exact bool) { return c.Match(names...) }

// candidate is an array in which something is wanted.
type candidate struct {
	*members.Array
	wanted []wanted
	exact  bool
}

// choose applies the rules to the file that stands for its group.
func (c *chooser) choose(l *members.Listing) ([]column, []format.Leftover, error) {
	if c.All() && l.Sparse() {
		return nil, nil, shardify.Unsupported("a scipy sparse matrix: save it with np.savez(..., x=scipy.sparse.load_npz(FILE).toarray()), or name its arrays with --columns")
	}
	left := slices.Clone(l.Notes)
	cands, err := c.candidates(l, &left)
	if err != nil {
		return nil, nil, err
	}
	if err := c.splits(cands); err != nil {
		return nil, nil, err
	}
	n, ok := sampleAxis(cands)
	var cols []column
	if !ok && len(cands) > 0 && !c.byFile { // single values alone: another array counts the samples
		if n, ok = leading(l); ok {
			i := slices.IndexFunc(l.Arrays, func(a members.Array) bool { return a.Err == nil && len(a.Shape) > 0 && a.Shape[0] == n })
			cols = append(cols, column{key: l.Arrays[i].Key, inner: slices.Clone(l.Arrays[i].Inner()), axis: l.Arrays[i].Axis})
		}
	}
	for _, a := range cands {
		switch {
		case c.byFile:
			cols = append(cols, column{key: a.Key, inner: slices.Clone(a.Shape), axis: a.Axis, wanted: a.wanted})
		case ok && len(a.Shape) == 0:
			cols = append(cols, column{key: a.Key, single: true, wanted: a.wanted})
		case ok && a.Shape[0] == n:
			cols = append(cols, column{key: a.Key, inner: slices.Clone(a.Inner()), axis: a.Axis, wanted: a.wanted})
		case c.counts:
		case len(a.Shape) > 0:
			return nil, nil, lengths(cands)
		case a.exact && !ok:
			return nil, nil, shardify.Mismatch("%s has no sample axis; the file has %s; --sample file makes each file one sample", a.Key, l.Shapes())
		case a.exact:
			return nil, nil, shardify.Mismatch("%s has not the %d samples of the other columns; the file has %s", a.Key, n, l.Shapes())
		default:
			left = append(left, format.Leftover{Name: a.Key, Reason: "0-d: no sample axis"})
		}
	}
	return cols, left, nil
}

// candidates finds the wanted leaves of each array. What cannot be read goes to
// left, unless it was asked for by name or is damaged.
func (c *chooser) candidates(l *members.Listing, left *[]format.Leftover) ([]candidate, error) {
	var out []candidate
	for i := range l.Arrays {
		a := &l.Arrays[i]
		if a.Err == members.ErrNotRead {
			continue
		}
		if a.Err != nil {
			hit, exact := c.match(a.Key)
			if hit && (exact || errors.Is(a.Err, shardify.ErrCorrupt) || errors.Is(a.Err, shardify.ErrSchema) && !c.counts) {
				return nil, a.Err
			}
			if hit {
				*left = append(*left, format.Leftover{Name: a.Key, Reason: format.Reason(a.Err), Unreadable: !errors.Is(a.Err, members.ErrNoArray), Err: a.Err})
			}
			continue
		}
		cand := candidate{Array: a}
		for j := range a.Item.Leaves {
			name := a.FieldName(j, l.NpyFile)
			hit, exact := c.match(name, a.Key)
			if !hit {
				continue
			}
			if name = format.PlainName(name); shardify.ValidName(name) != nil {
				err := shardify.ValidName(name)
				if exact {
					return nil, err
				}
				*left = append(*left, format.Unread(name, err))
				continue
			}
			cand.exact = cand.exact || exact
			cand.wanted = append(cand.wanted, wanted{leaf: j, name: name})
		}
		if len(cand.wanted) > 0 {
			out = append(out, cand)
		}
	}
	return out, nil
}

// leading is sampleAxis of all arrays.
func leading(l *members.Listing) (n int64, ok bool) {
	var all []candidate
	for i := range l.Arrays {
		if l.Arrays[i].Err == nil {
			all = append(all, candidate{Array: &l.Arrays[i]})
		}
	}
	return sampleAxis(all)
}

// sampleAxis is the leading length of the largest array.
func sampleAxis(cands []candidate) (n int64, ok bool) {
	most := int64(-1)
	for _, a := range cands {
		if len(a.Shape) > 0 && a.Data > most {
			most, n, ok = a.Data, a.Shape[0], true
		}
	}
	return n, ok
}

// lengths is the error about arrays of different lengths: which belong together, and how
// to choose.
func lengths(all []candidate) error {
	var order []int64
	keys := map[int64][]string{}
	var parts []sampleaxis.Part
	for _, a := range all {
		if len(a.Shape) == 0 {
			continue
		}
		n := a.Shape[0]
		if keys[n] == nil {
			order = append(order, n)
		}
		keys[n] = append(keys[n], a.Key)
		parts = append(parts, sampleaxis.Part{Path: a.Key, Rows: n, Bytes: a.Data})
	}
	const most = 8
	var sides []string
	for _, n := range order[:min(len(order), most)] {
		names := keys[n]
		sides = append(sides, fmt.Sprintf("%s %d", strings.Join(names[:min(len(names), most)], ", "), n))
	}
	ways := sampleaxis.Lengths(parts, func(paths []string) format.Way { return format.Way{Columns: paths} })
	return format.NewAmbiguous("the arrays have different lengths: "+strings.Join(sides, "; "),
		append(ways, format.Way{Options: format.Options{sampleaxis.SampleOption: sampleaxis.SampleFile}, Makes: "each file one sample"}))
}

// damaged reports whether a wanted array is.
func (c *chooser) damaged(l *members.Listing) bool {
	return slices.ContainsFunc(l.Arrays, func(a members.Array) bool {
		hit, _ := c.match(a.Key)
		return hit && errors.Is(a.Err, shardify.ErrCorrupt)
	})
}

// more reports whether an array that the reference does not have is wanted: where none was
// named.
func (c *chooser) more(key string) bool {
	hit, _ := c.match(key)
	return hit && c.Open()
}
