package mds

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// keyColumn is the column that holds the samples' names.
const keyColumn = "__key__"

// indexName is the file that MosaicML Streaming opens.
const indexName = "index.json"

// kind is how a value is stored in an MDS sample.
type kind uint8

// The kinds.
const (
	kindFixed   kind = iota // Size bytes
	kindBytes               // u32 size in front; the list's bytes as they are
	kindArray               // u32 size in front; shape, then values
	kindStrings             // u32 size in front; a JSON list
)

// columnType is one column of an MDS shard.
type columnType struct {
	Name     string
	Encoding string
	Field    int // of the schema; -1: the keys
	Kind     kind
	Size     int // of kindFixed
	Shape    int // the companion with the shape of a Ragged field, or -1
}

// columnTypes maps a schema to the columns of an MDS shard, sorted by name. It
// refuses, with what would help, what MDS cannot carry. The companion of an image
// field that says its type is left out: the image's first bytes say it too.
func columnTypes(schema []shardify.Field, keyed bool) ([]columnType, error) {
	var cols []columnType
	for i := range schema {
		if shardify.Companion(schema, i) {
			continue
		}
		c, err := mdsColumn(schema, i)
		if err != nil {
			return nil, shardify.Amend(err, func(e *shardify.Error) { e.Field = schema[i].Name })
		}
		cols = append(cols, c)
	}
	if keyed {
		cols = append(cols, columnType{Name: keyColumn, Encoding: "str", Field: -1, Kind: kindBytes, Shape: -1})
	}
	if len(cols) == 0 {
		return nil, shardify.Unsupported("an MDS shard without columns")
	}
	slices.SortFunc(cols, func(a, b columnType) int { return strings.Compare(a.Name, b.Name) })
	return cols, nil
}

func mdsColumn(schema []shardify.Field, i int) (columnType, error) {
	f := &schema[i]
	c := columnType{Name: f.Name, Field: i, Kind: kindBytes, Shape: -1}
	switch {
	case f.Nullable:
		return c, shardify.Unsupported("MDS has no missing values: leave the field out with --columns, or use --format mmap")
	case f.Media != "" && f.Levels == 2:
		c.Kind, c.Encoding = kindStrings, "json"
		if f.Media != "txt" {
			return c, shardify.Unsupported("MDS has no lists of %s: use --format mmap", f.Media)
		}
		return c, nil
	case f.Media != "":
		c.Encoding = mdsMedia(f.Media)
		return c, nil
	case f.Levels == 2:
		return c, shardify.Unsupported("MDS has no lists of lists: leave the field out with --columns, or use --format mmap")
	}
	name, err := mdsNumber(f.DType)
	if err != nil {
		return c, err
	}
	switch {
	case f.Levels == 0 && len(f.Shape) == 0:
		c.Kind, c.Encoding, c.Size = kindFixed, name, f.DType.Size()
	case f.Levels == 0:
		c.Kind, c.Encoding, c.Size = kindFixed, fmt.Sprintf("ndarray:%s:%s", name, strings.ReplaceAll(strings.Trim(fmt.Sprint(f.Shape), "[]"), " ", ",")), f.ElemBytes()
	default:
		c.Kind, c.Encoding = kindArray, "ndarray:"+name
		c.Shape = shardify.FieldIndex(schema, f.Name+shardify.ShapeSuffix)
	}
	if f.Elem() == 0 {
		return c, shardify.Unsupported("MDS has no arrays of shape %v: use --format mmap", f.Shape)
	}
	return c, nil
}

// mdsMedia is the encoding of opaque bytes. Readers decode jpeg and png to images
// and json to objects.
func mdsMedia(media string) string {
	switch media {
	case "txt":
		return "str"
	case "json":
		return "json"
	case "jpg":
		return "jpeg"
	case "png":
		return "png"
	}
	return "bytes"
}

func mdsNumber(d shardify.DType) (string, error) {
	bits := fmt.Sprint(8 * d.Size())
	switch {
	case d == shardify.Bool:
		return "uint8", nil
	case d == shardify.BF16:
		return "", shardify.Unsupported("MDS has no bf16: convert to f32 with --cast, or use --format mmap")
	case d.IsFloat():
		return "float" + bits, nil
	case strings.HasPrefix(d.String(), "u"):
		return "uint" + bits, nil
	}
	return "int" + bits, nil
}

// configText is the text in a shard's head that describes its columns.
func configText(cols []columnType) []byte {
	return mustJSON(newMDSConfig(cols))
}

// mdsConfig has its fields in the order of their keys.
type mdsConfig struct {
	Encodings   []string `json:"column_encodings"`
	Names       []string `json:"column_names"`
	Sizes       []*int   `json:"column_sizes"`
	Compression *string  `json:"compression"`
	Format      string   `json:"format"`
	Hashes      []string `json:"hashes"`
}

type mdsTail struct {
	SizeLimit *int64 `json:"size_limit"`
	Version   int    `json:"version"`
}

func newMDSConfig(cols []columnType) any {
	c := configOf(cols)
	return struct {
		mdsConfig
		mdsTail
	}{c, mdsTail{Version: 2}}
}

func configOf(cols []columnType) mdsConfig {
	c := mdsConfig{Format: "mds", Hashes: []string{}}
	for i := range cols {
		c.Names = append(c.Names, cols[i].Name)
		c.Encodings = append(c.Encodings, cols[i].Encoding)
		var size *int
		if cols[i].Kind == kindFixed {
			size = &cols[i].Size
		}
		c.Sizes = append(c.Sizes, size)
	}
	return c
}

// shardRecord is the record of a shard in index.json.
type shardRecord struct {
	Name    string // below the folder of index.json
	Samples int64
	Bytes   int64
	// ZipName and ZipBytes are the compressed file, if there is one; Name and Bytes
	// then stand for what it holds.
	ZipName  string
	ZipBytes int64
}

// indexText is index.json.
func indexText(cols []columnType, compression string, shards []shardRecord) []byte {
	type file struct {
		Name   string            `json:"basename"`
		Bytes  int64             `json:"bytes"`
		Hashes map[string]string `json:"hashes"`
	}
	type entry struct {
		mdsConfig
		Raw     file  `json:"raw_data"`
		Samples int64 `json:"samples"`
		mdsTail
		Zip *file `json:"zip_data"`
	}
	list := make([]entry, len(shards))
	for i, s := range shards {
		list[i] = entry{mdsConfig: configOf(cols), Raw: file{s.Name, s.Bytes, map[string]string{}}, Samples: s.Samples, mdsTail: mdsTail{Version: 2}}
		if compression != "" {
			list[i].Compression = &compression
			list[i].Zip = &file{s.ZipName, s.ZipBytes, map[string]string{}}
		}
	}
	return append(mustJSON(struct {
		Shards  []entry `json:"shards"`
		Version int     `json:"version"`
	}{list, 2}), '\n')
}

func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("index: " + err.Error()) // our own types
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// maxBytes is the largest shard: places are 32 bits.
const maxBytes = math.MaxUint32

// headBytes is the size of a shard's head: count, places, configuration.
func headBytes(samples int64, config []byte) int64 { return 4 + 4*(samples+1) + int64(len(config)) }

// appendHead appends the head of a shard. ends are where each sample ends,
// counted from the end of the head.
func appendHead(dst []byte, ends []uint32, config []byte) []byte {
	base := uint32(headBytes(int64(len(ends)), config))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(ends)))
	dst = binary.LittleEndian.AppendUint32(dst, base)
	for _, e := range ends {
		dst = binary.LittleEndian.AppendUint32(dst, base+e)
	}
	return append(dst, config...)
}

// appendShape appends what precedes the values of a kindArray.
func appendShape(dst []byte, dims []int64) []byte {
	var top int64
	for _, d := range dims {
		top = max(top, d)
	}
	log := 0
	for log < 3 && uint64(top)>>(8<<log) != 0 {
		log++
	}
	dst = append(dst, byte(len(dims)<<2|log))
	for _, d := range dims {
		for k := range 1 << log {
			dst = append(dst, byte(d>>(8*k)))
		}
	}
	return dst
}

// parseHead reads the head of a shard of size bytes and returns where each
// sample begins, and the end. The configuration must be the one given.
func parseHead(r io.ReaderAt, size int64, config []byte) ([]uint32, error) {
	var b [4]byte
	if n, err := r.ReadAt(b[:], 0); n < len(b) {
		return nil, short(err, int64(n))
	}
	n := int64(binary.LittleEndian.Uint32(b[:]))
	head := headBytes(n, config)
	if head > size {
		return nil, shardify.Corrupt(0, "%d samples in a file of %d bytes", n, size)
	}
	buf := make([]byte, head-4)
	if k, err := r.ReadAt(buf, 4); int64(k) < head-4 {
		return nil, short(err, int64(k)+4)
	}
	if got := buf[4*(n+1):]; !bytes.Equal(got, config) {
		return nil, shardify.Corrupt(4+4*(n+1), "columns are %.200q, want %.200q", got, config)
	}
	ends := make([]uint32, n+1)
	for i := range ends {
		ends[i] = binary.LittleEndian.Uint32(buf[4*i:])
		low := uint32(head)
		if i > 0 {
			low = ends[i-1]
		}
		if ends[i] < low || i == 0 && ends[i] != low || int64(ends[i]) > size {
			return nil, shardify.Corrupt(4+4*int64(i), "place %d of %d is %d, after %d in a file of %d bytes", i, n, ends[i], low, size)
		}
	}
	if int64(ends[n]) != size {
		return nil, shardify.Corrupt(4+4*n, "the last sample ends at %d in a file of %d bytes", ends[n], size)
	}
	return ends, nil
}

func short(err error, at int64) error {
	if err == nil || err == io.EOF {
		return shardify.Corrupt(at, "the file ends here")
	}
	return err
}

// checkSamples checks that the values of every sample fill it. It returns the
// number of the sample that an error is about. buf is scratch memory.
func checkSamples(r io.ReaderAt, ends []uint32, cols []columnType, buf []byte) (int64, error) {
	fixed, sizes := int64(0), 0
	for i := range cols {
		if cols[i].Kind == kindFixed {
			fixed += int64(cols[i].Size)
		} else {
			sizes += 4
		}
	}
	buf = buf[:max(len(buf), sizes)]
	var lo, hi int64 // of what buf holds
	for i := 0; i+1 < len(ends); i++ {
		at, end := int64(ends[i]), int64(ends[i+1])
		if end-at < int64(sizes) {
			return int64(i), shardify.Corrupt(at, "sample of %d bytes", end-at)
		}
		if at+int64(sizes) > hi {
			n, err := r.ReadAt(buf[:min(int64(len(buf)), int64(ends[len(ends)-1])-at)], at)
			if n < sizes {
				return int64(i), short(err, at+int64(n))
			}
			lo, hi = at, at+int64(n)
		}
		total := fixed + int64(sizes)
		for k := 0; k < sizes; k += 4 {
			total += int64(binary.LittleEndian.Uint32(buf[at-lo+int64(k):]))
		}
		if total != end-at {
			return int64(i), shardify.Corrupt(at, "values take %d bytes of a sample of %d", total, end-at)
		}
	}
	return -1, nil
}
