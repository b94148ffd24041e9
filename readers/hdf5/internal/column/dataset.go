package column

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/pandas"
	"github.com/shardify/shardify/readers/internal/cf"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// File is an open input with what was found in it, used by several readers at once.
type File struct {
	*array.File

	Rules element.Rules // set before the first data set is opened

	mu      sync.Mutex
	sets    map[string]*Dataset
	damaged []survey.Damage // what a scan met
}

// Open takes over an open file.
func Open(fs storage.FS, f storage.File, name string, external bool) (*File, error) {
	in, err := array.Open(fs, f, name, external)
	if err != nil {
		return nil, err
	}
	return &File{File: in}, nil
}

// Dataset is an array with the fields of its type.
type Dataset struct {
	*array.Array
	rules  *element.Rules
	once   sync.Once
	err    error
	leaves []element.Leaf
}

// Dataset opens the data set at a path, once.
func (f *File) Dataset(p string) (*Dataset, error) {
	a, err := f.File.Array(p)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.sets[p]; d != nil && d.Array == a {
		return d, nil
	}
	if f.sets == nil {
		f.sets = map[string]*Dataset{}
	}
	d := &Dataset{Array: a, rules: &f.Rules}
	f.sets[p] = d
	return d, nil
}

// DatasetOf makes an object of the file a data set.
func (f *File) DatasetOf(o *h5.Object, p string) (*Dataset, error) {
	a, err := f.File.Dataset(o, p)
	if err != nil {
		return nil, err
	}
	return &Dataset{Array: a, rules: &f.Rules}, nil
}

// DecodeLeaves reads the attributes of an array's data set, and of the one whose bounds
// it holds.
func (a *Dataset) DecodeLeaves(leaves []element.Leaf, parent string) error {
	f := a.File.H5
	o, err := f.Object(a.Set.Addr, a.Path)
	if err != nil {
		return err
	}
	list, err := o.Attributes()
	if err != nil {
		return err
	}
	var of element.Attributes
	if parent != "" {
		found, err := f.Lookup(parent)
		if err != nil {
			return err
		}
		if o, err = f.Object(found.Addr, parent); err != nil {
			return err
		}
		if of, err = o.Attributes(); err != nil {
			return err
		}
	}
	return element.DecodeCF(f, leaves, list, of)
}

// Fault notes what is damaged in the file. It reports whether err is damage.
func (f *File) Fault(p string, err error) bool {
	if !errors.Is(err, shardify.ErrCorrupt) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	name := strings.TrimPrefix(p, "/")
	if !slices.ContainsFunc(f.damaged, func(d survey.Damage) bool { return d.Object == name }) {
		f.damaged = append(f.damaged, survey.Damage{Object: name, Err: err})
	}
	return true
}

// WideLeaves are the columns of a block of a fixed frame.
func (a *Dataset) WideLeaves(leaves []element.Leaf) []element.Leaf {
	if len(leaves) != 1 || leaves[0].Kind != element.Numbers || len(a.Dims) != 2 || a.Dims[1] > element.MaxLeaves {
		return nil
	}
	return leaves[0].Columns(int(a.Dims[1]))
}

// Children are the links of a group.
func (f *File) Children(p string) ([]h5.Link, error) {
	found, err := f.H5.Lookup(naming.Rooted(p))
	if err != nil {
		return nil, err
	}
	if found.External {
		return nil, shardify.Unsupported("a group in another file")
	}
	o, err := f.H5.Object(found.Addr, p)
	if err != nil {
		return nil, err
	}
	return o.Children()
}

// Decode says whether attributes change the values of a data set, and how.
type Decode struct {
	CF     bool    `json:"cf,omitempty"`     // attributes say what its values are
	Of     string  `json:"of,omitempty"`     // the data set whose bounds it holds
	Unit   cf.Unit `json:"unit,omitempty"`   // of times
	Pandas bool    `json:"pandas,omitempty"` // attributes of pandas say which texts are missing
}

// Leaves are the leaves of the array's type, with what its attributes make of them,
// found once.
func (a *Dataset) Leaves(o *Decode) ([]element.Leaf, error) {
	a.once.Do(func() {
		if a.Order != nil && a.Order.Text {
			a.leaves = []element.Leaf{a.RowText(a.rules.Media)}
			return
		}
		a.leaves = a.rules.Leaves(a.Set.Type)
		if o != nil && o.Pandas {
			a.err = pandas.Missing(a.File.H5, a.Path, a.Set.Addr, *a.rules, a.leaves)
		}
		if !a.rules.CF || o == nil || !o.CF || a.err != nil {
			return
		}
		a.err = a.DecodeLeaves(a.leaves, o.Of)
		for i := range a.leaves {
			a.leaves[i].InUnit(o.Unit)
		}
	})
	return a.leaves, a.err
}

// RowText is the leaf of a text whose characters are the values of a row: MATLAB's 16-bit codes, or
// the bytes of netCDF, NULs behind them.
func (a *Dataset) RowText(media string) element.Leaf {
	if a.Set.Type.Class == datatype.String {
		return element.Leaf{Kind: element.Texts, Size: int(a.Elem), Media: media, Padding: datatype.NulPadded}
	}
	return element.Leaf{Kind: element.Texts, Size: int(a.Elem), Media: media, UTF16: true, Big: a.Set.Type.Order == datatype.BigEndian}
}

// Damage is what was met damaged so far.
func (f *File) Damage() []survey.Damage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.damaged)
}
