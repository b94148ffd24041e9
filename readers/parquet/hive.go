package parquet

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// partitions are the columns in the names of folders: year=2024/month=05 below an input.
type partitions struct {
	roots []string
	text  map[string]bool // keys with a value that is not a whole number
}

// part is a key and its value for one file.
type part struct {
	key, value string
	text, null bool
}

// hiveNull is how writers name a missing value.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// findPartitions looks at all names, so that a column has one type.
func findPartitions(t *format.Table) *partitions {
	p := &partitions{text: map[string]bool{}}
	if t == nil {
		return p
	}
	p.roots = t.Roots
	last := ""
	for i := range t.Len() {
		name := string(t.NameBytes(i))
		dir := name[:strings.LastIndexByte(name, '/')+1]
		if dir == last || !strings.Contains(dir, "=") {
			continue
		}
		last = dir
		for _, x := range parseParts(dir) {
			if _, err := strconv.ParseInt(x.value, 10, 64); err != nil && !x.null {
				p.text[x.key] = true
			}
		}
	}
	return p
}

// parseParts reads key=value from the folders of a name.
func parseParts(dir string) []part {
	var all []part
	for _, folder := range strings.Split(strings.TrimSuffix(dir, "/"), "/") {
		key, value, ok := strings.Cut(folder, "=")
		if !ok || key == "" {
			continue
		}
		if v, err := url.PathUnescape(value); err == nil {
			value = v
		}
		if k, err := url.PathUnescape(key); err == nil {
			key = k
		}
		all = append(all, part{key: plainName(key), value: value, null: value == hiveNull})
	}
	return all
}

// of are the parts of a file's path, without those that the file has as columns.
func (p *partitions) of(path string, cols []column) []part {
	rel := p.below(path)
	if rel == "" && slices.Contains(p.roots, "") {
		rel = filepath.ToSlash(path)
	}
	if !strings.Contains(rel, "=") {
		return nil
	}
	taken := map[string]bool{}
	for i := range cols {
		taken[cols[i].field.Name] = true
	}
	var all []part
	for _, x := range parseParts(rel[:strings.LastIndexByte(rel, '/')+1]) {
		if taken[x.key] {
			continue
		}
		taken[x.key] = true
		x.text = p.text[x.key]
		all = append(all, x)
	}
	return all
}

func (x *part) field(samples int64) survey.Field {
	f := shardify.Field{Name: x.key, DType: shardify.I64, Nullable: x.null}
	if x.text {
		f.DType, f.Levels, f.Media = shardify.U8, 1, "txt"
	}
	return survey.Field{Field: f, Bytes: samples * int64(len(x.value))}
}

// hive fills the columns that are in the path.
func (r *reader) hive(b *shardify.Batch, mem *shardify.Arena) {
	f := r.file
	for i := range b.Columns {
		c := &b.Columns[i]
		if r.cursors[i] != nil || len(f.parts) == 0 {
			continue
		}
		for _, x := range f.parts {
			if x.key == c.Name {
				x.fill(c, b.Samples, mem)
			}
		}
	}
}

// fill makes a column of one value.
func (x *part) fill(c *shardify.Column, samples int, mem *shardify.Arena) {
	value := x.value
	if x.null {
		value = ""
		c.Valid = mem.Alloc(samples)
		clear(c.Valid)
	}
	if !x.text {
		n, _ := strconv.ParseInt(value, 10, 64)
		data := mem.Int64s(samples)
		for i := range data {
			data[i] = n
		}
		c.Data = shardify.Bytes(data)
		return
	}
	c.Data = mem.Alloc(samples * len(value))
	offsets := mem.Int64s(samples + 1)
	for i := range offsets {
		offsets[i] = int64(i * len(value))
	}
	for i := range samples {
		copy(c.Data[i*len(value):], value)
	}
	c.Offsets = [][]int64{offsets}
}

func parseBlob(b []byte) (x blob, err error) {
	if json.Unmarshal(b, &x) != nil {
		return x, errState
	}
	return x, nil
}
