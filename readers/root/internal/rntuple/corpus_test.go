package rntuple

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

type expectedFile struct {
	Ntuples []expectedNtuple `json:"ntuples"`
}

type expectedNtuple struct {
	Name     string `json:"name"`
	Version  string `json:"format_version"`
	Writer   string `json:"writer"`
	Entries  int64  `json:"entries"`
	Clusters int    `json:"n_clusters"`
	Fields   []struct {
		ID    int       `json:"id"`
		Path  string    `json:"path"`
		Type  string    `json:"type"`
		Role  fieldRole `json:"role"`
		Flags uint32    `json:"flags"`
	} `json:"fields"`
	Aliases [][2]int `json:"aliases"`
	Columns []struct {
		ID         int    `json:"id"`
		Field      int    `json:"field"`
		Path       string `json:"path"`
		Type       string `json:"type"`
		Bits       int    `json:"bits"`
		Rep        int    `json:"rep"`
		First      int64  `json:"first_element"`
		Elements   int64  `json:"n_elements"`
		Values     string `json:"values_sha"`
		Counts     string `json:"counts_sha"`
		Suppressed int    `json:"suppressed_clusters"`
	} `json:"columns"`
}

func sha(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:16])
}

// physical decodes a column of all clusters as it is stored, and for index columns
// the lengths of the lists.
func (n *Ntuple) physical(column int) (data []byte, lengths []int64, err error) {
	var s scratch
	c := &n.Columns[column]
	for i := range n.Clusters {
		cl := &n.Clusters[i]
		ch := cl.chunk(column)
		last := int64(0)
		for _, p := range cl.pages[ch.lo:ch.hi] {
			disk := make([]byte, p.disk())
			if err := n.readAt(disk, p.offset); err != nil {
				return nil, nil, err
			}
			out := make([]byte, int(p.n)*c.Type.Width())
			if err := p.decode(out, disk, c, 0, int(p.n), &s); err != nil {
				return nil, nil, err
			}
			data = append(data, out...)
			for i := 0; c.Type.index() && i < int(p.n); i++ {
				end := int64(0)
				if c.Type.Width() == 4 {
					end = int64(le.Uint32(out[4*i:]))
				} else {
					end = int64(le.Uint64(out[8*i:]))
				}
				lengths = append(lengths, end-last)
				last = end
			}
		}
	}
	return data, lengths, nil
}

type corpusFile struct {
	path string
	data []byte
	want expectedFile
}

// expectedFiles yields every file that has expected values.
func expectedFiles(t testing.TB) []corpusFile {
	dir := filepath.Join(corpus.Dir(t, "root"), "rntuple")
	paths, err := filepath.Glob(filepath.Join(dir, "*.root"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var all []corpusFile
	for _, p := range paths {
		text, err := os.ReadFile(p + ".expect.json")
		if err != nil {
			continue
		}
		f := corpusFile{path: p}
		if err := json.Unmarshal(text, &f.want); err != nil {
			t.Fatal(err)
		}
		if f.data, err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func openAll(t testing.TB, file []byte) map[string]*Ntuple {
	all := map[string]*Ntuple{}
	for _, k := range findAnchors(file) {
		n, err := Open(bytes.NewReader(file), int64(len(file)), k.payload)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		all[k.name] = n
	}
	return all
}

// TestCorpusColumns compares each physical column with what two other readers found.
func TestCorpusColumns(t *testing.T) {
	race.Sequential(t)
	equal := map[string]int{}
	wrong, empty := 0, 0
	for _, f := range expectedFiles(t) {
		nts := openAll(t, f.data)
		for _, want := range f.want.Ntuples {
			n := nts[want.Name]
			if n == nil {
				t.Errorf("%s: no ntuple %s", f.path, want.Name)
				continue
			}
			if v := fmt.Sprintf("%d.%d.%d.%d", n.Version[0], n.Version[1], n.Version[2], n.Version[3]); v != want.Version || n.Writer != want.Writer ||
				n.Entries != want.Entries || len(n.Clusters) != want.Clusters || len(n.Columns) != len(want.Columns) || len(n.Fields) < len(want.Fields) {
				t.Errorf("%s %s: version %s of %s, %d entries, %d clusters, %d columns, %d fields", f.path, want.Name, v, n.Writer, n.Entries, len(n.Clusters), len(n.Columns), len(n.Fields))
			}
			for _, w := range want.Fields {
				g := &n.Fields[w.ID]
				if p := n.Path(w.ID); p != w.Path || g.TypeName != w.Type || g.Role != w.Role || g.flags != w.Flags {
					t.Errorf("%s: field %d is %s %s, want %s %s", f.path, w.ID, p, g.TypeName, w.Path, w.Type)
				}
			}
			for _, w := range want.Columns {
				g := &n.Columns[w.ID]
				data, lengths, err := n.physical(w.ID)
				same := err == nil && g.Field == w.Field && g.Type.String() == w.Type && g.Bits == w.Bits && g.Representation == w.Rep && g.First == w.First &&
					int64(len(data)/g.Type.Width()) == w.Elements && (sha(data) == w.Values || w.Values == "" && len(data) == 0) && (!g.Type.index() || len(data) == 0 || sha(shardify.Bytes(lengths)) == w.Counts)
				if !same {
					wrong++
					t.Errorf("%s column %d %s (%s): %d bytes, %v", f.path, w.ID, w.Path, w.Type, len(data), err)
					continue
				}
				if equal[w.Type]++; len(data) == 0 {
					empty++
				}
			}
		}
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(equal)) {
		t.Logf("%6d equal  %s", equal[k], k)
		total += equal[k]
	}
	t.Logf("%d columns equal (%d of them without elements), 0 skipped, %d wrong", total, empty, wrong)
}

// TestCorpusFlats reads every flat and compares it with the columns below it.
func TestCorpusFlats(t *testing.T) {
	race.Sequential(t)
	classes := map[string]int{}
	left := map[string]int{}
	for _, f := range expectedFiles(t) {
		for _, n := range openAll(t, f.data) {
			if err := shardify.ValidateSchema(n.Select(every(n)).Fields()); err != nil && len(n.Flats) > 0 {
				t.Errorf("%s %s: %v", f.path, n.Name, err)
			}
			cols, err := readAll(n, every(n), []int64{0, n.Entries}, 1)
			if err != nil {
				t.Errorf("%s: %v", f.path, err)
				continue
			}
			for i := range cols {
				checkFlat(t, f.path, n, &n.Flats[i], &cols[i])
				classes[classOf(&cols[i])]++
			}
			for _, u := range n.Unreadable {
				left[u.Reason]++
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("%6d flats  %s", classes[k], k)
	}
	for _, k := range slices.Sorted(maps.Keys(left)) {
		t.Logf("%6d left out: %s", left[k], k)
	}
}

func classOf(c *shardify.Column) string {
	s := "numbers"
	if c.Media != "" {
		s = c.Media
	}
	if len(c.Shape) > 0 {
		s = "arrays of " + s
	}
	s = fmt.Sprintf("%d levels of %s", c.Levels, s)
	if c.Nullable {
		s += ", nullable"
	}
	return s
}

// checkFlat compares the data with the physical column, where every element of it
// is shown, and the innermost lengths with those of the list.
func checkFlat(t *testing.T, path string, n *Ntuple, f *flatColumn, c *shardify.Column) {
	t.Helper()
	if f.leaf.kind != values || f.Nullable {
		return
	}
	slot := n.slots[f.leaf.slot]
	if len(slot.columns) != 1 || n.Columns[slot.columns[0]].First > 0 || !sameValues(f.DType, columnTypes[n.Columns[slot.columns[0]].Type].dtype) {
		return
	}
	data, _, err := n.physical(slot.columns[0])
	if err != nil || !bytes.Equal(data, c.Data) {
		t.Errorf("%s %s: %d bytes, the column has %d (%v)", path, f.Name, len(c.Data), len(data), err)
	}
	if k := len(f.path) - 1; k >= 0 && f.path[k].kind == list {
		_, lengths, _ := n.physical(n.slots[f.path[k].slot].columns[0])
		o := c.Offsets[c.Levels-1]
		o = o[len(o)-1-len(lengths):] // without what a late column lacks
		for i, l := range lengths {
			if o[i+1]-o[i] != l {
				t.Errorf("%s %s: list %d has %d items, want %d", path, f.Name, i, o[i+1]-o[i], l)
				break
			}
		}
	}
}

func TestEpoch0IsRefused(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(filepath.Join(corpus.Dir(t, "root"), "rntuple"), "ntpl001_staff_pre-1.0.root"))
	if err != nil {
		t.Skip(err)
	}
	if k := findAnchors(b); len(k) != 0 {
		t.Errorf("%d anchors", len(k))
	}
	a := make([]byte, anchorSize)
	sealAnchor(a)
	if _, err := Open(bytes.NewReader(b), int64(len(b)), a); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "epoch 0") {
		t.Error(err)
	}
}
