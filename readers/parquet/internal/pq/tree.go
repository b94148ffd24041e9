package pq

import (
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// Node is a node of the schema.
type Node struct {
	Name     string
	Parent   *Node
	Children []*Node
	Repeated bool
	Optional bool
	// MaxDef and MaxRep are the levels of values of this node that are present.
	MaxDef, MaxRep int
	Leaf           int // in File.Leaves; -1 for groups
	Type           format.Type
	Width          int // of FIXED_LEN_BYTE_ARRAY
	Logical        format.LogicalTypeValue
	Converted      deprecated.ConvertedType
	HasConverted   bool
	Scale          int32
	Precision      int32
}

// Bounds on schemas: levels are kept in a byte, and what is deeper or wider is no
// schema.
const (
	maxLevels = 60
	maxLeaves = 1 << 20
)

// tree makes the tree of the schema's elements, which come depth first.
func (f *File) tree(all []format.SchemaElement) error {
	if len(all) == 0 {
		return shardify.Corrupt(-1, "a file without a schema")
	}
	if len(all) > maxLeaves {
		return shardify.Unsupported("a schema of %d elements", len(all))
	}
	rest := all
	root, err := f.node(&rest, nil, 0)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return shardify.Corrupt(-1, "schema of %d elements, %d of them in no group", len(all), len(rest))
	}
	f.Root = root
	return nil
}

func (f *File) node(rest *[]format.SchemaElement, parent *Node, depth int) (*Node, error) {
	if len(*rest) == 0 {
		return nil, shardify.Corrupt(-1, "the schema ends inside of a group")
	}
	if depth > maxLevels {
		return nil, shardify.Unsupported("a schema of more than %d levels", maxLevels)
	}
	e := &(*rest)[0]
	*rest = (*rest)[1:]
	n := &Node{Name: e.Name, Parent: parent, Leaf: -1, Logical: e.LogicalType.Value, Scale: e.Scale.V, Precision: e.Precision.V}
	n.Converted, n.HasConverted = e.ConvertedType.V, e.ConvertedType.Valid
	if parent != nil {
		n.MaxDef, n.MaxRep = parent.MaxDef, parent.MaxRep
		switch e.RepetitionType.V {
		case format.Required:
		case format.Optional:
			n.Optional = true
			n.MaxDef++
		case format.Repeated:
			n.Repeated = true
			n.MaxDef++
			n.MaxRep++
		default:
			return nil, shardify.Corrupt(-1, "schema element %.40q: repetition %d", e.Name, e.RepetitionType.V)
		}
	}
	if e.Type.Valid && e.NumChildren.V == 0 {
		return n, f.leaf(n, e)
	}
	for range min(max(e.NumChildren.V, 0), int32(len(*rest))+1) {
		c, err := f.node(rest, n, depth+1)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, c)
	}
	return n, nil
}

func (f *File) leaf(n *Node, e *format.SchemaElement) error {
	n.Type, n.Leaf = e.Type.V, len(f.Leaves)
	if n.Type < format.Boolean || n.Type > format.FixedLenByteArray {
		return shardify.Corrupt(-1, "column %.40q of type %d", n.Path(), n.Type)
	}
	if n.Type == format.FixedLenByteArray {
		n.Width = int(e.TypeLength.V)
		if n.Width < 0 || n.Width > 1<<30 {
			return shardify.Corrupt(-1, "column %.40q: values of %d bytes", n.Path(), n.Width)
		}
	}
	f.Leaves = append(f.Leaves, n)
	return nil
}

// Path is the names from the root to the node, with dots.
func (n *Node) Path() string {
	var names []string
	for x := n; x != nil && x.Parent != nil; x = x.Parent {
		names = append(names, x.Name)
	}
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return strings.Join(names, ".")
}

// IsList reports whether the file marks a group as a list.
func (n *Node) IsList() bool {
	_, ok := n.Logical.(*format.ListType)
	return n.Leaf < 0 && (ok || n.HasConverted && n.Converted == deprecated.List)
}

// IsMap reports whether the file marks a group as a map.
func (n *Node) IsMap() bool {
	_, ok := n.Logical.(*format.MapType)
	return n.Leaf < 0 && (ok || n.HasConverted && (n.Converted == deprecated.Map || n.Converted == deprecated.MapKeyValue))
}
