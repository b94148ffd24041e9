package entries

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/tests/corpus"
)

// expectedBranch is a row of the JSON beside a file of the corpus.
type expectedBranch struct {
	Name   string   `json:"name"`
	Leaf   string   `json:"leaf"`
	Type   any      `json:"type"`
	CType  string   `json:"ctype"`
	Unread string   `json:"unread"`
	N      int64    `json:"n_values"`
	Values string   `json:"values_sha"`
	Counts []string `json:"counts_sha"`
}

type expectedTree struct {
	Path     string           `json:"path"`
	Entries  int64            `json:"entries"`
	Branches []expectedBranch `json:"branches"`
}

func short(h []byte) string { s := sha256.Sum256(h); return hex.EncodeToString(s[:])[:32] }

// readColumn reads one column of a whole branch.
func readColumn(f *rfile.File, r *Reading, column int, entries int64, mem *shardify.Arena) (*shardify.Column, error) {
	want := make([]bool, len(r.Columns))
	want[column] = true
	c := &r.Columns[column]
	d := NewDecoder(r)
	lengths, err := r.lengths(f, 0, entries)
	if err != nil {
		return nil, err
	}
	d.Begin(0, entries, want, 1, lengths, mem)
	var s ttree.Scratch
	for i := range r.Branch.Baskets.Len() {
		b, err := r.Branch.ReadBasket(f, i, &s)
		if err == nil {
			err = d.Basket(&b)
		}
		if err != nil {
			return nil, err
		}
	}
	col := &shardify.Column{Field: shardify.Field{Name: c.Name, DType: c.DType, Shape: c.Shape, Levels: c.Levels, Media: c.Media}}
	return col, d.Finish(column, col)
}

// same compares a column with a row.
func (e *expectedBranch) same(c *shardify.Column) error {
	if got := short(c.Data); got != e.Values {
		return fmt.Errorf("values are %s, want %s (%d bytes for %d values of %v)", got, e.Values, len(c.Data), e.N, e.Type)
	}
	if e.Counts == nil { // values alone are known
		return nil
	}
	for l, o := range c.Offsets {
		if len(o) == 1 && l > 0 { // no list, no level
			continue
		}
		var b bytes.Buffer
		for i := 1; i < len(o); i++ {
			b.Write(binary.LittleEndian.AppendUint64(nil, uint64(o[i]-o[i-1])))
		}
		if l < len(e.Counts) {
			if got := short(b.Bytes()); got != e.Counts[l] {
				return fmt.Errorf("counts of level %d differ", l)
			}
		} else {
			return fmt.Errorf("%d levels, want %d", len(c.Offsets), len(e.Counts))
		}
	}
	return nil
}

// sameLists compares a column of three levels, the second of which is in lists.
func (e *expectedBranch) sameLists(c, lists *shardify.Column) error {
	whole := *c
	whole.Offsets = [][]int64{lists.Offsets[0], {0}, c.Offsets[1]}
	end := int64(0)
	for _, n := range shardify.View[int64](lists.Data) {
		end += n
		whole.Offsets[1] = append(whole.Offsets[1], end)
	}
	at := int64(0)
	for i, n := range lists.Offsets[0] {
		if at = whole.Offsets[1][n]; at != c.Offsets[0][i] {
			return fmt.Errorf("entry %d begins at list %d, its lengths say %d", i, c.Offsets[0][i], at)
		}
	}
	return e.same(&whole)
}

func TestCorpusBranchesEqual(t *testing.T) {
	files, _ := filepath.Glob(corpus.Dir(t, "root") + "/*/*.root")
	sort.Strings(files)
	var equal, left, extra, wrong int
	reasons := map[string]int{}
	pool := shardify.NewPool(1 << 30)
	d := map[string]bool{
		// bits are stored from bit 0 on; the expected values have bit 0 last
		"uproot-issue-40.root:bitset8": true, "uproot-issue-40.root:bitset16": true,
		// uproot takes the process number behind some of the bits for bits
		"uproot-issue513.root:Track/Track.fBits": true, "uproot-issue513.root:EFlowTrack/EFlowTrack.fBits": true,
		"uproot-issue513.root:EFlowPhoton/EFlowPhoton.fBits": true, "uproot-issue513.root:EFlowNeutralHadron/EFlowNeutralHadron.fBits": true,
	}
	for _, name := range files {
		text, err := os.ReadFile(name + ".expect.json")
		if err != nil {
			continue
		}
		var want struct {
			Trees []expectedTree `json:"trees"`
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		st, _ := r.Stat()
		f, err := rfile.Open(r, st.Size(), filepath.Base(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, et := range want.Trees {
			o, err := f.Lookup(et.Path)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			tree, err := ttree.Read(f, o)
			if err != nil {
				t.Errorf("%s %s: %v", filepath.Base(name), et.Path, err)
				continue
			}
			readings := Interpret(tree, f.Streamers())
			used := map[string]int{}
			for i := range et.Branches {
				e := &et.Branches[i]
				id := filepath.Base(name) + ":" + et.Path + ":" + e.Name + " " + e.Leaf + " (" + e.CType + ")"
				key := e.Name + "\x00" + e.Leaf
				if e.Leaf == e.Name || d[filepath.Base(name)+":"+e.Name] {
					continue // a second opinion on a branch listed before
				}
				var found *Reading
				k := used[key]
				used[key]++
				for _, r := range readings {
					if r.Branch.Path == e.Name || e.Leaf != "" && strings.HasSuffix(r.Branch.Path, e.Name) {
						if k == 0 {
							found = r
							break
						}
						k--
					}
				}
				if found == nil {
					if e.Values != "" {
						wrong++
						t.Errorf("%s: no such branch", id)
					}
					continue
				}
				if e.Unread != "" || e.Values == "" {
					if found.layout != layoutNone {
						var s ttree.Scratch
						err := error(nil)
						if found.Risky {
							err = found.Try(f, &s)
						}
						for ci := range found.Columns {
							if found.Columns[ci].Unreadable == "" && err == nil {
								extra++
								mem := pool.Overdraft()
								_, err := readColumn(f, found, ci, tree.Entries, mem)
								mem.Release()
								if err != nil && testing.Verbose() {
									t.Logf("unread too: %s %s: %v", id, found.Columns[ci].Name, err)
								}
							} else if err != nil && testing.Verbose() {
								t.Logf("unread too: %s: try: %v", id, err)
							}
						}
					}
					continue
				}
				ci := -1
				for j := range found.Columns {
					if c := &found.Columns[j]; c.Name == e.Leaf || len(found.Columns) == 1 {
						ci = j
					}
				}
				if ci < 0 && e.N == 0 {
					left++
					reasons["no values, in a class of several members"]++
					continue
				}
				if ci < 0 {
					left++
					reasons["no such column"]++
					t.Logf("%s: no such column among %+v", id, found.Columns)
					continue
				}
				if c := &found.Columns[ci]; c.Unreadable != "" {
					left++
					reasons[c.Unreadable]++
					if len(e.Counts) <= 2 {
						t.Logf("%s: left: %s", id, c.Unreadable)
					}
					continue
				}
				mem := pool.Overdraft()
				col, err := readColumn(f, found, ci, tree.Entries, mem)
				if err == nil && found.Columns[ci].Deep {
					var lists *shardify.Column
					if lists, err = readColumn(f, found, ci+1, tree.Entries, mem); err == nil {
						err = e.sameLists(col, lists)
					}
				} else if err == nil {
					err = e.same(col)
				}
				mem.Release()
				if err != nil {
					wrong++
					t.Errorf("%s: %v", id, err)
				} else {
					equal++
				}
			}
		}
		r.Close()
	}
	t.Logf("equal %d, left out %d, more than expected %d, wrong %d", equal, left, extra, wrong)
	for r, n := range reasons {
		t.Logf("    %d: %s", n, r)
	}
}
