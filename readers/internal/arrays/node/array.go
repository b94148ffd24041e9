package node

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Node is an array or a group.
type Node struct {
	Attributes map[string]any // values of JSON; numbers are json.Number
	Array      *Array         // nil: a group
	Notes      []string
}

// Array is what the metadata say of an array.
type Array struct {
	Shape  []int64
	Chunk  []int64 // shape of a chunk: of a shard, where chunks are shards
	Inner  []int64 // shape of what Part decodes at once: of the chunks in a shard, else of a chunk
	Dims   []string
	Type   Type
	Fill   []byte // of one element; nil of texts and lists is an empty one
	NoFill bool   // format 2 has fill_value null
	Named  bool   // format 2, by the conventions of xarray or NCZarr, where fill_value is _FillValue

	prefix    string // of keys: "c", or nothing
	separator string
	chain     *chain
	elements  int64 // of a chunk
}

// Key is where the chunk of an index is, below the array.
func (a *Array) Key(index []int64) string {
	parts := make([]string, 0, len(index)+1)
	if a.prefix != "" {
		parts = append(parts, a.prefix)
	}
	for _, i := range index {
		parts = append(parts, strconv.FormatInt(i, 10))
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, a.separator)
}

// HasKey reports whether a key is that of one of the array's chunks.
func (a *Array) HasKey(key string) bool {
	rest := key
	if a.prefix != "" && len(a.Shape) > 0 {
		var ok bool
		if rest, ok = strings.CutPrefix(key, a.prefix+a.separator); !ok {
			return false
		}
	}
	var index []int64
	if len(a.Shape) > 0 {
		grid := a.Grid()
		for s := range strings.SplitSeq(rest, a.separator) {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || len(index) == len(grid) || n < 0 || n >= grid[len(index)] {
				return false
			}
			index = append(index, n)
		}
	}
	return len(index) == len(a.Shape) && a.Key(index) == key
}

// Grid is how many chunks there are in each dimension.
func (a *Array) Grid() []int64 {
	out := make([]int64, len(a.Shape))
	for i, n := range a.Shape {
		out[i] = (n + a.Chunk[i] - 1) / a.Chunk[i]
		if n > 0 && n > (1<<63-1)-a.Chunk[i] {
			out[i] = (n-1)/a.Chunk[i] + 1
		}
	}
	return out
}

// Plain is an array whose chunks are its elements as they are, by NumPy's name of their type: ">f4".
// What is beyond the shape in chunks at its end is there, of any value.
func Plain(numpy string, shape, chunk []int64, dims []string) (*Array, error) {
	t, err := numpyType(numpy)
	if err != nil {
		return nil, err
	}
	a := &Array{Shape: shape, Chunk: chunk, Inner: chunk, Dims: dims, Type: t, Fill: make([]byte, t.Size), separator: "."}
	if err := a.finish(); err != nil {
		return nil, err
	}
	a.chain = &chain{typ: t, shape: chunk, elements: a.elements}
	return a, nil
}

// MaxChunk is the most bytes of a decoded chunk.
const MaxChunk = 1 << 34

// finish checks what both formats have.
func (a *Array) finish() error {
	if len(a.Chunk) != len(a.Shape) {
		return shardify.Corrupt(-1, "chunks of %d dimensions in an array of %d", len(a.Chunk), len(a.Shape))
	}
	if _, ok := product(a.Shape); !ok {
		return shardify.Corrupt(-1, "shape %v: more elements than 63 bits count", a.Shape)
	}
	n, ok := product(a.Chunk)
	if !ok || n > MaxChunk/int64(max(a.Type.Size, 1)) {
		return shardify.Unsupported("chunks of shape %v: one is larger than %d bytes decoded", a.Chunk, int64(MaxChunk))
	}
	a.elements = n
	return nil
}

// Parse2 reads the metadata of format 2: .zarray or .zgroup, and .zattrs if there is one.
func Parse2(array, group, attributes []byte) (*Node, error) {
	n := &Node{}
	if attributes != nil {
		o, err := parseJSON(attributes)
		if err != nil {
			return nil, err
		}
		n.Attributes = o
	}
	if array == nil {
		o, err := parseJSON(group)
		if err == nil {
			err = version(o, "2")
		}
		return n, err
	}
	o, err := parseJSON(array)
	if err != nil {
		return nil, err
	}
	n.Array, err = parse2(o, n)
	return n, err
}

func version(o object, want string) error {
	switch v := o["zarr_format"]; x := v.(type) {
	case interface{ String() string }:
		if x.String() == want {
			return nil
		}
		if n, err := strconv.Atoi(x.String()); want == "3" && err == nil && n > 3 {
			return shardify.Unsupported("zarr_format %v", v)
		}
		return shardify.Corrupt(-1, "zarr_format %v, where it is %s", v, want)
	}
	return shardify.Corrupt(-1, "no zarr_format")
}

func parse2(o object, n *Node) (*Array, error) {
	if err := version(o, "2"); err != nil {
		return nil, err
	}
	a := &Array{}
	var err error
	if a.Shape, err = lengths(o["shape"], "shape", true); err != nil {
		return nil, err
	}
	if a.Chunk, err = lengths(o["chunks"], "chunks", false); err != nil {
		return nil, err
	}
	named, is := n.Attributes["_ARRAY_DIMENSIONS"]
	if a.Named = is; !is {
		named, a.Named = nczarr(o, n.Attributes)
	}
	if a.Dims, err = dims(named, len(a.Shape)); err != nil {
		n.Notes = append(n.Notes, "_ARRAY_DIMENSIONS: "+err.Error())
		a.Dims = nil
	}
	switch d := o["dtype"].(type) {
	case string:
		a.Type, err = numpyType(d)
	case []any:
		a.Type, err = structType(d, 0)
	default:
		err = shardify.Corrupt(-1, "no dtype")
	}
	if err != nil {
		return nil, err
	}
	fortran := false
	switch text(o, "order", "C") {
	case "C":
	case "F":
		fortran = true
	default:
		return nil, shardify.Corrupt(-1, "order %v is neither C nor F", o["order"])
	}
	a.separator = text(o, "dimension_separator", ".")
	if a.separator != "." && a.separator != "/" {
		return nil, shardify.Corrupt(-1, "dimension_separator %q", a.separator)
	}
	if err := a.finish(); err != nil {
		return nil, err
	}
	a.Inner = a.Chunk
	filters, ok := o["filters"].([]any)
	if !ok && o["filters"] != nil {
		return nil, shardify.Corrupt(-1, "filters is no list")
	}
	if a.chain, err = chain2(a, filters, o["compressor"], fortran); err != nil {
		return nil, err
	}
	if a.Fill, err = a.Type.fill(o["fill_value"]); err != nil {
		return nil, err
	}
	a.NoFill = o["fill_value"] == nil
	return a, nil
}

// nczarr finds what the netCDF library says of an array, in its metadata or among its attributes:
// paths of dimensions, of which the last part is the name.
func nczarr(array, attributes object) (names any, is bool) {
	for _, v := range []any{attributes["_nczarr_array"], array["_nczarr_array"], array["_NCZARR_ARRAY"]} {
		o, ok := v.(object)
		if !ok {
			continue
		}
		paths, _ := o["dimension_references"].([]any)
		if paths == nil {
			paths, _ = o["dimrefs"].([]any)
		}
		var list []any
		for _, p := range paths {
			s, _ := p.(string)
			list = append(list, s[strings.LastIndexByte(s, '/')+1:])
		}
		if list == nil {
			return nil, true
		}
		return list, true
	}
	return nil, false
}

// Parse3 reads a zarr.json.
func Parse3(p []byte) (*Node, error) {
	o, err := parseJSON(p)
	if err != nil {
		return nil, err
	}
	if err := version(o, "3"); err != nil {
		return nil, err
	}
	n := &Node{Attributes: sub(o, "attributes")}
	switch text(o, "node_type", "") {
	case "group":
		return n, nil
	case "array":
	default:
		return nil, shardify.Corrupt(-1, "node_type %v is neither array nor group", o["node_type"])
	}
	n.Array, err = parse3(o)
	return n, err
}

// known are the keys of an array's metadata.
var known = map[string]bool{
	"zarr_format": true, "node_type": true, "shape": true, "data_type": true, "chunk_grid": true, "chunk_key_encoding": true, "fill_value": true,
	"codecs": true, "attributes": true, "dimension_names": true, "storage_transformers": true, "consolidated_metadata": true,
}

func parse3(o object) (*Array, error) {
	for key, v := range o {
		if known[key] {
			continue
		}
		m, _ := v.(object)
		if must, ok := m["must_understand"].(bool); m == nil || !ok || must {
			return nil, shardify.Unsupported("an array with the extension %q", key)
		}
	}
	a := &Array{}
	var err error
	if a.Shape, err = lengths(o["shape"], "shape", true); err != nil {
		return nil, err
	}
	if a.Type, err = type3(o["data_type"]); err != nil {
		return nil, err
	}
	grid := sub(o, "chunk_grid")
	if name := text(grid, "name", ""); name != "regular" {
		return nil, shardify.Unsupported("chunks on a grid of the kind %q", name)
	}
	if a.Chunk, err = lengths(sub(grid, "configuration")["chunk_shape"], "chunk_shape", false); err != nil {
		return nil, err
	}
	if err := a.keys(o["chunk_key_encoding"]); err != nil {
		return nil, err
	}
	if t, ok := o["storage_transformers"].([]any); ok && len(t) > 0 {
		return nil, shardify.Unsupported("storage transformers")
	}
	if a.Dims, err = dims(o["dimension_names"], len(a.Shape)); err != nil {
		return nil, err
	}
	if err := a.finish(); err != nil {
		return nil, err
	}
	codecs, ok := o["codecs"].([]any)
	if !ok || len(codecs) == 0 {
		return nil, shardify.Corrupt(-1, "no codecs")
	}
	if a.chain, err = chain3(a.Type, a.Chunk, codecs, 0); err != nil {
		return nil, err
	}
	if a.Type.Kind == Blob && a.chain.textual {
		a.Type.Kind = Text
	}
	if a.Inner = a.Chunk; a.Sharded() {
		a.Inner = a.chain.inner
	}
	fill, ok := o["fill_value"]
	if !ok {
		return nil, shardify.Corrupt(-1, "no fill_value")
	}
	if a.Fill, err = a.Type.fill(fill); err != nil {
		return nil, err
	}
	return a, nil
}

// keys reads how chunks are named.
func (a *Array) keys(v any) error {
	name, o := named(v)
	separator := text(o, "separator", "")
	switch name {
	case "default":
		if a.prefix = "c"; separator == "" {
			separator = "/"
		}
	case "v2":
		if separator == "" {
			separator = "."
		}
	default:
		return shardify.Unsupported("keys of chunks of the kind %q", name)
	}
	if separator != "." && separator != "/" {
		return shardify.Corrupt(-1, "chunk_key_encoding: separator %q", separator)
	}
	a.separator = separator
	return nil
}

// named is an extension: an object with name and configuration, or its name alone.
func named(v any) (string, object) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	o, _ := v.(object)
	return text(o, "name", ""), sub(o, "configuration")
}

// type3 reads data_type.
func type3(v any) (Type, error) {
	name, o := named(v)
	t := Type{Name: name}
	if n, ok := names[name]; ok {
		t, err := numpyType(n)
		t.Name = name
		return t, err
	}
	size := func(key string, unit int64) error {
		n, err := integer(o[key])
		if err != nil || n < 1 || n > maxItem || n%unit != 0 {
			return shardify.Corrupt(-1, "data_type %s: %s %v", name, key, o[key])
		}
		t.Size = int(n)
		return nil
	}
	switch name {
	case "string":
		t.Kind = Text
		return t, nil
	case "bytes", "variable_length_bytes":
		t.Kind = Blob
		return t, nil
	case "fixed_length_utf32":
		t.Kind = FixedU
		return t, size("length_bytes", 4)
	case "null_terminated_bytes":
		t.Kind = Fixed
		return t, size("length_bytes", 1)
	case "raw_bytes":
		t.Kind = Raw
		return t, size("length_bytes", 1)
	case "numpy.datetime64", "numpy.timedelta64":
		scale, err := integer(o["scale_factor"])
		if err != nil || scale < 1 || scale > 1<<31 {
			return t, shardify.Corrupt(-1, "data_type %s: scale_factor %v", name, o["scale_factor"])
		}
		return t.time(name == "numpy.datetime64", text(o, "unit", ""), scale)
	case "structured", "struct":
		return struct3(o)
	}
	if bits, ok := strings.CutPrefix(name, "r"); ok {
		if n, err := strconv.Atoi(bits); err == nil && n > 0 && n%8 == 0 && n/8 <= maxItem {
			t.Kind, t.Size = Raw, n/8
			return t, nil
		}
	}
	if name == "" {
		return t, shardify.Corrupt(-1, "no data_type")
	}
	return t, shardify.Unsupported("values of type %s are not read", name)
}

func struct3(o object) (Type, error) {
	t := Type{Name: "structured", Kind: Struct}
	l, _ := o["fields"].([]any)
	if len(l) == 0 {
		return t, shardify.Corrupt(-1, "data_type structured without fields")
	}
	for _, f := range l {
		var name string
		var of any
		switch f := f.(type) {
		case []any:
			if len(f) == 2 {
				name, _ = f[0].(string)
				of = f[1]
			}
		case object:
			name, of = text(f, "name", ""), f["data_type"]
		}
		m, err := type3(of)
		if err != nil {
			return t, err
		}
		if m.Varies() || name == "" || t.Size+m.Size > maxItem {
			return t, shardify.Unsupported("data_type structured with field %q of type %s", name, m.Name)
		}
		t.Fields = append(t.Fields, member{Name: name, Offset: t.Size, Type: m})
		t.Size += m.Size
	}
	return t, nil
}
