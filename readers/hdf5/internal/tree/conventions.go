package tree

import (
	"bytes"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

// convention is what wrote a file, as far as it matters here.
type convention struct {
	Pytables bool // and pandas
	Netcdf   bool
	Matlab   bool
	keras    bool
	Anndata  bool
}

// ConventionOf looks at the user block and the root group's attributes.
func ConventionOf(f *column.File, root *h5.Object) (c convention) {
	if f.H5.Base >= 512 {
		head := make([]byte, 32)
		c.Matlab = f.ReadFull(head, 0) == nil && bytes.HasPrefix(head, []byte("MATLAB 7.3 MAT-file"))
	}
	has := func(name string) bool {
		_, ok, err := root.Attribute(name)
		return ok && err == nil
	}
	c.Pytables = has("PYTABLES_FORMAT_VERSION")
	c.Netcdf = has("_NCProperties")
	c.Anndata = element.TextOf(f.H5, root, "encoding-type") == "anndata"
	c.keras = has("layer_names") || has("keras_version")
	return c
}

// RulesOf are the rules for the types of a file.
func RulesOf(f *column.File, opts *Settings, c convention) element.Rules {
	return element.Rules{PyTables: c.Pytables, Media: opts.media, RefSize: f.H5.RefSize(), CF: opts.cf, Chunked: opts.Chunked, Fill: opts.fill}
}

// Refused is the error about a file that holds no samples.
func (c *convention) Refused() error {
	if c.keras {
		return shardify.Unsupported("the weights of a Keras model, which are no samples")
	}
	return nil
}

// hides reports whether a link is of the convention itself, and not data.
func (c *convention) hides(name string) bool {
	return c.Pytables && (strings.HasPrefix(name, "_i_") || strings.HasPrefix(name, "_v_") || strings.HasPrefix(name, "_p_")) ||
		c.Matlab && (name == "#refs#" || name == "#subsystem#")
}

const noVariable = "This is a netCDF dimension but not a netCDF variable"

// leavesOut says why a data set is no data, "" if it is.
func (c *convention) LeavesOut(f *h5.File, list element.Attributes) string {
	class := list.Text(f, "CLASS")
	switch {
	case class == scaleClass && strings.HasPrefix(list.Text(f, "NAME"), noVariable):
		return "a netCDF dimension without values"
	case c.Pytables && (class == "TINDEX" || class == "INDEXARRAY" || class == "CINDEX"):
		return "an index of PyTables"
	case c.Pytables && class == "VLARRAY" && list.Text(f, "PSEUDOATOM") == "object":
		return "pickled Python objects, which can run any code when read; of pandas, to_hdf(format=\"table\") writes columns"
	case c.Matlab:
		if a := list.Find("MATLAB_empty"); a != nil && len(a.Data) > 0 && a.Data[0] == 1 {
			return "an empty MATLAB array"
		}
	}
	return ""
}

// pandas notes groups of pandas, fixed frames among them, and awkward arrays.
func (s *scanner) pandas(g *h5.Object, p string) {
	t := s.tree
	if !t.Kind.Pytables {
	} else if kind := element.TextOf(t.File.H5, g, "pandas_type"); kind != "" {
		t.Frames[p] = kind == "frame"
	}
	if element.TextOf(t.File.H5, g, "encoding-type") == "awkward-array" {
		s.awkward[p] = true
	}
}

// parts says of the parts of pandas' fixed frames and of awkward arrays why they are no columns.
func (s *scanner) parts() {
	t := s.tree
	for i := range t.Objects {
		o := &t.Objects[i]
		group, base := naming.Group(o.Path), path.Base(o.Path)
		switch {
		case t.Frames[group] && (base == "axis0" || strings.HasPrefix(base, "block") && strings.HasSuffix(base, "_items")):
			o.part = "column names of pandas' frame, kept with the columns"
		case s.awkward[group]:
			o.part = "part of the awkward array " + group + ", which is not read"
		}
	}
}

// bounds connects the data sets that hold bounds of others, which have the units of
// those, and decodes them.
func (s *scanner) bounds() {
	if len(s.bounded) == 0 {
		return
	}
	for i := range s.tree.Objects {
		o := &s.tree.Objects[i]
		parent := s.bounded[o.Path]
		if parent == "" || len(o.Wanted) != 1 || o.Wanted[0].Leaf.CF != nil {
			continue
		}
		a, err := s.tree.File.Dataset(o.Path)
		if err != nil {
			continue
		}
		leaves := []element.Leaf{o.Wanted[0].Leaf}
		if a.DecodeLeaves(leaves, parent) == nil && leaves[0].CF != nil {
			o.Wanted[0].Leaf, o.Of = leaves[0], parent
		}
	}
}

// boundedBy notes that a data set has its bounds in another one beside it.
func (s *scanner) boundedBy(list element.Attributes, p string) {
	name := list.Text(s.tree.File.H5, "bounds")
	if name == "" || strings.ContainsAny(name, "/ ") {
		return
	}
	s.bounded[path.Join(path.Dir(p), name)] = p
}
