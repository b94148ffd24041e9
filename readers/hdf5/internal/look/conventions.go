package look

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
	netcdf   bool
	matlab   bool
	keras    bool
	anndata  bool
}

// ConventionOf looks at the user block and the root group's attributes.
func ConventionOf(f *column.File, root *h5.Object) (c convention) {
	if f.H5.Base >= 512 {
		head := make([]byte, 32)
		c.matlab = f.ReadFull(head, 0) == nil && bytes.HasPrefix(head, []byte("MATLAB 7.3 MAT-file"))
	}
	has := func(name string) bool {
		_, ok, err := root.Attribute(name)
		return ok && err == nil
	}
	c.Pytables = has("PYTABLES_FORMAT_VERSION")
	c.netcdf = has("_NCProperties")
	c.anndata = element.TextOf(f.H5, root, "encoding-type") == "anndata"
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
		c.matlab && (name == "#refs#" || name == "#subsystem#")
}

const noVariable = "This is a netCDF dimension but not a netCDF variable"

// leavesOut says why a data set is no data, "" if it is.
func (c *convention) leavesOut(f *h5.File, list element.Attributes) string {
	class := list.Text(f, "CLASS")
	switch {
	case class == scaleClass && strings.HasPrefix(list.Text(f, "NAME"), noVariable):
		return "a netCDF dimension without values"
	case c.Pytables && (class == "TINDEX" || class == "INDEXARRAY" || class == "CINDEX"):
		return "an index of PyTables"
	case c.Pytables && class == "VLARRAY" && list.Text(f, "PSEUDOATOM") == "object":
		return "pickled Python objects, which can run any code when read; of pandas, to_hdf(format=\"table\") writes columns"
	case c.matlab:
		if a := list.Find("MATLAB_empty"); a != nil && len(a.Data) > 0 && a.Data[0] == 1 {
			return "an empty MATLAB array"
		}
	}
	return ""
}

// pandas notes groups of pandas, fixed frames among them, and awkward arrays.
func (t *Tree) pandas(g *h5.Object, p string) {
	if !t.Kind.Pytables {
	} else if kind := element.TextOf(t.File.H5, g, "pandas_type"); kind != "" {
		t.frames[p] = kind == "frame"
	}
	if element.TextOf(t.File.H5, g, "encoding-type") == "awkward-array" {
		t.awkward[p] = true
	}
}

// awkwardNote says which awkward array of AnnData a data set is a part of.
func (t *Tree) awkwardNote(o *object) string {
	if p := naming.Group(o.path); t.awkward[p] {
		return "part of the awkward array " + p + ", which is not read"
	}
	return ""
}

// frameNote says why a part of pandas' fixed frame is no column.
func (t *Tree) frameNote(o *object) string {
	dir, base := path.Split(o.path)
	if !t.frames[strings.TrimSuffix(dir, "/")] {
		return ""
	}
	if base == "axis0" || strings.HasPrefix(base, "block") && strings.HasSuffix(base, "_items") {
		return "column names of pandas' frame, kept with the columns"
	}
	return ""
}

// oneSamplePerFile knows published sets whose files are one sample each although
// some dimensions agree.
func (t *Tree) oneSamplePerFile() string {
	rank := map[string]int{}
	for i := range t.objects {
		rank[t.objects[i].path] = len(t.objects[i].dims)
	}
	switch {
	case rank["/climate/data"] == 3 && rank["/climate/labels_0"] == 2:
		return "laid out as DeepCAM: each file is one sample"
	case rank["/full"] == 4 && rank["/unitPar"] == 1:
		return "laid out as CosmoFlow: each file is one sample"
	}
	return ""
}
