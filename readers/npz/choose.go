package npz

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/columns"
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

// match tells whether one of the names is asked for, and whether by a name
// rather than a wildcard.
func (c *chooser) match(names ...string) (hit, exact bool) { return c.Match(names...) }

// candidate is an array in which something is wanted.
type candidate struct {
	*array
	wanted []wanted
	exact  bool
}

// choose applies the rules to the file that stands for its group.
func (c *chooser) choose(l *listing) ([]column, []shardify.Leftover, error) {
	if c.All() && l.sparse() {
		return nil, nil, shardify.Unsupported("a scipy sparse matrix: save it with np.savez(..., x=scipy.sparse.load_npz(FILE).toarray()), or name its arrays with --columns")
	}
	left := slices.Clone(l.notes)
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
		if n, ok = l.leading(); ok {
			i := slices.IndexFunc(l.arrays, func(a array) bool { return a.err == nil && len(a.shape) > 0 && a.shape[0] == n })
			cols = append(cols, column{key: l.arrays[i].key, inner: slices.Clone(l.arrays[i].inner()), axis: l.arrays[i].axis})
		}
	}
	for _, a := range cands {
		switch {
		case c.byFile:
			cols = append(cols, column{key: a.key, inner: slices.Clone(a.shape), axis: a.axis, wanted: a.wanted})
		case ok && len(a.shape) == 0:
			cols = append(cols, column{key: a.key, single: true, wanted: a.wanted})
		case ok && a.shape[0] == n:
			cols = append(cols, column{key: a.key, inner: slices.Clone(a.inner()), axis: a.axis, wanted: a.wanted})
		case c.counts:
		case len(a.shape) > 0:
			return nil, nil, lengths(cands)
		case a.exact && !ok:
			return nil, nil, shardify.Mismatch("%s has no sample axis; the file has %s; --sample file makes each file one sample", a.key, l.shapes())
		case a.exact:
			return nil, nil, shardify.Mismatch("%s has not the %d samples of the other columns; the file has %s", a.key, n, l.shapes())
		default:
			left = append(left, shardify.Leftover{Name: a.key, Reason: "0-d: no sample axis"})
		}
	}
	return cols, left, nil
}

// candidates finds the wanted leaves of each array. What cannot be read goes to
// left, unless it was asked for by name or is damaged.
func (c *chooser) candidates(l *listing, left *[]shardify.Leftover) ([]candidate, error) {
	var out []candidate
	for i := range l.arrays {
		a := &l.arrays[i]
		if a.err == errNotRead {
			continue
		}
		if a.err != nil {
			hit, exact := c.match(a.key)
			if hit && (exact || errors.Is(a.err, shardify.ErrCorrupt) || errors.Is(a.err, shardify.ErrSchema) && !c.counts) {
				return nil, a.err
			}
			if hit {
				*left = append(*left, shardify.Leftover{Name: a.key, Reason: shardify.Reason(a.err), Unreadable: !errors.Is(a.err, errNoArray)})
			}
			continue
		}
		cand := candidate{array: a}
		for j := range a.item.leaves {
			name := a.fieldName(j, l.npyFile)
			hit, exact := c.match(name, a.key)
			if !hit {
				continue
			}
			if err := shardify.ValidName(name); err != nil {
				if exact {
					return nil, err
				}
				*left = append(*left, shardify.Leftover{Name: name, Reason: shardify.Reason(err), Unreadable: true})
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

// fieldName is the name of the field that a leaf becomes. The fields of an .npy
// file need no key before them.
func (a *array) fieldName(leaf int, npyFile bool) string {
	switch name := a.item.leaves[leaf].name; {
	case name == "":
		return a.key
	case npyFile:
		return name
	default:
		return a.key + "/" + name
	}
}

// leading is sampleAxis of all arrays.
func (l *listing) leading() (n int64, ok bool) {
	var all []candidate
	for i := range l.arrays {
		if l.arrays[i].err == nil {
			all = append(all, candidate{array: &l.arrays[i]})
		}
	}
	return sampleAxis(all)
}

// sampleAxis is the leading length of the largest array.
func sampleAxis(cands []candidate) (n int64, ok bool) {
	most := int64(-1)
	for _, a := range cands {
		if len(a.shape) > 0 && a.data > most {
			most, n, ok = a.data, a.shape[0], true
		}
	}
	return n, ok
}

// lengths is the error about arrays of different lengths: which belong together, and how
// to choose.
func lengths(all []candidate) error {
	var order []int64
	keys := map[int64][]string{}
	for _, a := range all {
		if len(a.shape) == 0 {
			continue
		}
		n := a.shape[0]
		if keys[n] == nil {
			order = append(order, n)
		}
		keys[n] = append(keys[n], a.key)
	}
	const most = 8
	var sides, cures []string
	for _, n := range order[:min(len(order), most)] {
		names := keys[n]
		sides = append(sides, fmt.Sprintf("%s %d", strings.Join(names[:min(len(names), most)], ", "), n))
		if len(names) <= 2*most {
			cures = append(cures, "--columns '"+strings.Join(names, ",")+"'")
		}
	}
	return shardify.Mismatch("the arrays have different lengths: %s; %s takes those of one length, --sample file makes each file one sample",
		strings.Join(sides, "; "), strings.Join(cures[:min(len(cures), 3)], " or "))
}

// damaged tells whether a wanted array is.
func (c *chooser) damaged(l *listing) bool {
	return slices.ContainsFunc(l.arrays, func(a array) bool {
		hit, _ := c.match(a.key)
		return hit && errors.Is(a.err, shardify.ErrCorrupt)
	})
}

// more tells whether an array that the reference does not have is wanted: where none was
// named.
func (c *chooser) more(key string) bool {
	hit, _ := c.match(key)
	return hit && c.Open()
}

// sparse recognises what scipy.sparse.save_npz writes.
func (l *listing) sparse() bool {
	found := 0
	for i := range l.arrays {
		switch l.arrays[i].key {
		case "data", "indices", "indptr", "shape", "format":
			found++
		}
	}
	return found == 5
}

// shapes lists what a file has, for messages.
func (l *listing) shapes() string {
	var all []string
	for i := range l.arrays {
		a := &l.arrays[i]
		switch {
		case a.err == errNotRead:
			all = append(all, a.key)
		case a.err != nil:
			all = append(all, fmt.Sprintf("%s (%s)", a.key, shardify.Reason(a.err)))
		default:
			all = append(all, a.key+" "+a.String())
		}
		if len(all) == 60 {
			all = append(all, fmt.Sprintf("and %d more", len(l.arrays)-60))
			break
		}
	}
	if len(all) == 0 {
		return "no arrays"
	}
	return strings.Join(all, ", ")
}
