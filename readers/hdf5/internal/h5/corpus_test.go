package h5

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// corpusFiles returns all files that have a JSON beside them, by path below dir.
func corpusFiles(t testing.TB, dir string) []string {
	var names []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".json") {
			name, _ := filepath.Rel(dir, strings.TrimSuffix(path, ".json"))
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

type expectedFile struct {
	OpenError     string `json:"open_error"`
	ExpectedError string `json:"expected_error"`
	OracleCrash   string `json:"oracle_crash"`
	Superblock    int
	Userblock     int64
	Sizes         []int
	Objects       map[string]*expectedObject
	Links         map[string]map[string]any
}

type expectedObject struct {
	Kind      string
	OpenError string `json:"open_error"`
	Type      any
	Shape     []int64
	MaxShape  []*int64
	Layout    string
	Offset    *int64
	Filters   []struct {
		CD    []uint32
		Flags int
		ID    uint16
	}
	Chunks    []int64
	NChunks   *int    `json:"nchunks"`
	First     [][]any `json:"chunk_first"`
	Last      [][]any `json:"chunk_last"`
	Table     string  `json:"chunk_table_sha256"`
	Fill      string
	FillValue any
	Attrs     map[string]expectedAttr
}

type expectedAttr struct {
	Error string
	Shape []int64
	Type  any
	Value any
}

// counts is what the test prints: a number that drops is a reader that lost
// something.
type counts map[string]int

type corpusCheck struct {
	t      *testing.T
	name   string
	f      *File
	base   int64
	counts counts
	bad    int
}

func (c *corpusCheck) errorf(format string, args ...any) {
	c.bad++
	c.t.Errorf("%s: %s", c.name, fmt.Sprintf(format, args...))
}

// readOnPurpose are files the other reader refuses and we read: open for writing,
// or metadata beyond the recorded end.
var readOnPurpose = map[string]string{
	"hdfgroup/h5clear_fsm_persist_less.h5":                  "metadata beyond the recorded end",
	"hdfgroup/h5clear_log_v3.h5":                            "not closed",
	"hdfgroup/h5clear_sec2_v3.h5":                           "not closed",
	"hdfgroup/latest_h5clear_log_v3.h5":                     "not closed",
	"hdfgroup/latest_h5clear_sec2_v3.h5":                    "not closed",
	"jhdf/test_byteshuffle_compressed_datasets_latest.hdf5": "not closed",
	"structures/swmr_unclosed.h5":                           "not closed",
	"hdfgroup/cve_2020_10810.h5":                            "a too short file-space message in the superblock extension is not looked at",
}

// refusedOnPurpose are files that the other reader opens and we do not.
var refusedOnPurpose = map[string]string{
	"hdfgroup/h5clear_mdc_image.h5": "metadata cache image",
}

// differences are objects we refuse or see otherwise than the other reader.
var differences = map[string]string{
	"hdfgroup/h5repack_layouto.h5 /Dataset":        "2^63 bytes of elements overflow; the oracle has no values either",
	"hdfgroup/tlayouto.h5 /Dataset":                "2^63 bytes of elements overflow; the oracle has no values either",
	"hdfgroup/tmisc38a.h5 /Fletcher_float_data_be": "fill value of 4 bytes for a damaged type of 65525; the oracle has no values either",
}

func TestCorpusMetadataEqualsTheOracle(t *testing.T) {
	race.Sequential(t)
	dir := corpus.Dir(t, "hdf5")
	total := counts{}
	for _, name := range corpusFiles(t, dir) {
		if strings.HasPrefix(name, "crashers/") {
			continue
		}
		c := &corpusCheck{t: t, name: name, counts: total}
		c.file(dir)
	}
	for _, k := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%-28s %d", k, total[k])
	}
}

func (c *corpusCheck) file(dir string) {
	var want expectedFile
	js, err := os.ReadFile(filepath.Join(dir, c.name+".json"))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(js))
		d.UseNumber()
		err = d.Decode(&want)
	}
	if err != nil {
		c.t.Fatal(c.name, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, c.name))
	if err != nil {
		c.t.Fatal(err)
	}
	c.counts["files"]++
	f, err := Open(bytes.NewReader(b), int64(len(b)), c.name)
	if want.ExpectedError != "" || want.OpenError != "" && readOnPurpose[c.name] == "" {
		if err == nil {
			err = walkAll(f, nil)
		}
		if err == nil {
			c.errorf("read without an error; the other reader: %s%s", want.OpenError, want.ExpectedError)
		}
		c.counts["files refused as expected"]++
		return
	}
	if err != nil {
		if refusedOnPurpose[c.name] != "" {
			c.counts["files refused on purpose"]++
			return
		}
		c.errorf("%v", err)
		return
	}
	c.f = f
	if want.OpenError != "" || want.OracleCrash != "" {
		if err := walkAll(f, nil); err != nil {
			c.errorf("%v", err)
		}
		reason := readOnPurpose[c.name]
		if warned := len(f.Warnings()); warned > 1 || warned == 0 && (strings.Contains(reason, "closed") || strings.Contains(reason, "beyond")) {
			c.errorf("warnings %q", f.Warnings())
		}
		c.counts["files read beyond the oracle"]++
		return
	}
	c.counts["files compared"]++
	if f.Version != want.Superblock || f.OffsetSize != want.Sizes[0] || f.LengthSize != want.Sizes[1] {
		c.errorf("superblock %d sizes %d %d, want %d %v", f.Version, f.OffsetSize, f.LengthSize, want.Superblock, want.Sizes)
	}
	if f.Base != want.Userblock {
		c.errorf("user block %d, want %d", f.Base, want.Userblock)
	}
	c.base = f.Base
	c.links(&want)
	defer func() {
		if w := f.Warnings(); len(w) > 0 {
			c.errorf("warnings %q", w)
		}
	}()
	for _, path := range slices.Sorted(maps.Keys(want.Objects)) {
		c.object(path, want.Objects[path])
	}
}

// links compares the names of all links with those of the oracle's objects and
// links, and the targets.
func (c *corpusCheck) links(want *expectedFile) {
	got := map[string]Link{}
	c.tree(c.f.Root, "/", map[int64]bool{}, got)
	expected := map[string]bool{}
	for p := range want.Objects {
		if p != "/" {
			expected[p] = true
		}
	}
	for p, l := range want.Links {
		expected[p] = true
		g, ok := got[p]
		if !ok {
			continue
		}
		switch {
		case l["soft"] != nil:
			if g.Kind != SoftLink || g.Target != l["soft"] {
				c.errorf("link %s: %+v, want %v", p, g, l)
			}
		case l["external"] != nil:
			e := l["external"].([]any)
			if g.Kind != ExternalLink || g.File != e[0] || g.Target != e[1] {
				c.errorf("link %s: %+v, want %v", p, g, l)
			}
		case l["error"] != nil:
			if g.Kind <= ExternalLink {
				c.errorf("link %s: %+v, want %v", p, g, l)
			}
		}
		c.counts["links compared"]++
	}
	for p := range expected {
		if _, ok := got[p]; !ok {
			c.errorf("no link %q", p)
		}
	}
	for p := range got {
		if !expected[p] {
			c.errorf("link %q is not expected", p)
		}
	}
}

func (c *corpusCheck) tree(addr int64, path string, seen map[int64]bool, got map[string]Link) {
	if seen[addr] {
		return
	}
	seen[addr] = true
	o, err := c.f.Object(addr, path)
	if err != nil || o.Kind != KindGroup {
		return
	}
	links, err := o.Children()
	if err != nil {
		c.errorf("%v", err)
	}
	for _, l := range links {
		p := strings.TrimSuffix(path, "/") + "/" + l.Name
		got[p] = l
		if l.Kind == HardLink {
			c.tree(l.Addr, p, seen, got)
		}
	}
}

func (c *corpusCheck) object(path string, want *expectedObject) {
	found, err := c.f.Lookup(path)
	if err != nil {
		c.errorf("%v", err)
		return
	}
	o, err := c.f.Object(found.Addr, path)
	var ds *dataset.Dataset
	if err == nil {
		switch o.Kind {
		case KindDataset:
			ds, err = o.Dataset()
			if err == nil && ds.Layout.Class == dataset.Chunked {
				_, err = ds.Chunks()
			}
		case kindType:
			err = namedType(o)
		case KindGroup:
			_, err = o.Children()
		}
	}
	if want.OpenError != "" {
		c.counts["objects refused by the oracle"]++
		if err == nil && !strings.Contains(want.OpenError, "bad version number for datatype") {
			c.errorf("%s is read; the other reader: %s", path, want.OpenError)
		}
		return
	}
	if err != nil {
		if differences[c.name+" "+path] == "" {
			c.errorf("%v", err)
		}
		c.counts["objects refused on purpose"]++
		return
	}
	c.counts["objects compared"]++
	kind := want.Kind
	if kind == "named_type" || kind == "named type" {
		kind = "datatype"
	}
	if o.Kind.String() != kind {
		c.errorf("%s is a %s, want %s", path, o.Kind, want.Kind)
		return
	}
	if ds != nil {
		c.dataset(path, ds, want)
	}
	c.attributes(path, o, want)
}

func (c *corpusCheck) dataset(path string, ds *dataset.Dataset, want *expectedObject) {
	c.counts["data sets compared"]++
	if !sameType(ds.Type, want.Type) {
		c.errorf("%s: type %v, want %v", path, typeJSON(ds.Type), want.Type)
	}
	// The oracle sees virtual data sets as large as their sources.
	if !sameShape(&ds.Space, want.Shape) && !(ds.Layout.Class == dataset.Virtual && slices.Contains(ds.Space.MaxDims, datatype.Unlimited)) {
		c.errorf("%s: shape %+v, want %v", path, ds.Space, want.Shape)
	}
	for i, m := range want.MaxShape {
		if g := ds.Space.MaxDims[i]; m == nil && g != datatype.Unlimited || m != nil && g != *m {
			c.errorf("%s: maxshape %v", path, ds.Space.MaxDims)
		}
	}
	layouts := []string{"compact", "contiguous", "chunked", "virtual"}
	if layouts[ds.Layout.Class] != want.Layout {
		c.errorf("%s: layout %s, want %s", path, layouts[ds.Layout.Class], want.Layout)
		return
	}
	if ds.Layout.Class == dataset.Contiguous && len(ds.External) == 0 {
		if got := ds.Layout.Addr; want.Offset == nil && got != meta.Undefined && ds.Space.Elements() > 0 || want.Offset != nil && got != *want.Offset {
			c.errorf("%s: offset %d, want %v", path, got, want.Offset)
		}
	}
	if len(ds.Filters) != len(want.Filters) {
		c.errorf("%s: filters %v, want %v", path, ds.Filters, want.Filters)
	} else {
		for i, f := range want.Filters {
			g := ds.Filters[i]
			if g.ID != f.ID || g.Optional != (f.Flags&1 == 1) || !slices.Equal(first16(g.Values), first16(f.CD)) {
				c.errorf("%s: filter %+v, want %+v", path, g, f)
			}
		}
	}
	if want.Fill == "user" != (ds.Fill != nil) {
		c.errorf("%s: fill %v, want %s", path, ds.Fill, want.Fill)
	}
	if n, ok := want.FillValue.(json.Number); ok && ds.Fill != nil && ds.Type.Plain() {
		if got, w := number(ds.Type, ds.Fill), jsonNumber(n); got != w {
			c.errorf("%s: fill %v, want %v", path, got, w)
		}
		c.counts["fill values compared"]++
	}
	if ds.Layout.Class == dataset.Chunked {
		c.chunks(path, ds, want)
	}
	if ds.Layout.Class == dataset.Virtual {
		m, err := ds.Mappings()
		if err != nil || len(m) == 0 {
			c.errorf("%s: %d mappings, %v", path, len(m), err)
		}
		c.counts["virtual mappings"] += len(m)
	}
}

// first16 cuts client data where the oracle's buffer ended.
// extensible is the kind of an index that is an extensible array.
const extensible = 4

func first16(v []uint32) []uint32 { return v[:min(16, len(v))] }

func (c *corpusCheck) chunks(path string, ds *dataset.Dataset, want *expectedObject) {
	if !slices.Equal(ds.Layout.ChunkDims, want.Chunks) {
		c.errorf("%s: chunks %v, want %v", path, ds.Layout.ChunkDims, want.Chunks)
		return
	}
	t, err := ds.Chunks()
	if err != nil {
		c.errorf("%v", err)
		return
	}
	c.counts["chunk tables of index "+fmt.Sprint(ds.Layout.Index)]++
	c.counts["chunks"] += t.Stored()
	if ds.Layout.Index == extensible && ds.Space.MaxDims[0] != datatype.Unlimited {
		// The oracle lists these as if the first dimension were the unlimited one,
		// outside of the extent too; its values agree with ours.
		c.counts["chunk tables the oracle lists wrongly"]++
		return
	}
	if want.NChunks != nil && t.Stored() != *want.NChunks {
		c.errorf("%s: %d chunks, want %d", path, t.Stored(), *want.NChunks)
		return
	}
	if want.Table == "" {
		return
	}
	// The oracle's offsets lack the user block, and it knows nothing of the mask of
	// unfiltered edge chunks.
	var rows []string
	coord := make([]int64, len(t.Grid))
	for n, ch := range t.All {
		t.Coord(n, coord)
		offs := make([]string, len(coord))
		for i := range coord {
			offs[i] = fmt.Sprint(coord[i] * ds.Layout.ChunkDims[i])
		}
		if ch.Mask == dataset.AllFilters {
			ch.Mask = 0
		}
		rows = append(rows, fmt.Sprintf("[[%s],%d,%d,%d]", strings.Join(offs, ","), ch.Addr-c.base, ch.Size, ch.Mask))
	}
	sum := sha256.Sum256([]byte("[" + strings.Join(rows, ",") + "]"))
	if got := hex.EncodeToString(sum[:]); got != want.Table {
		c.errorf("%s: chunk table differs, first %s, want %v", path, rows[0], want.First)
		return
	}
	c.counts["chunk tables equal"]++
}
