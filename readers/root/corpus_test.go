package root

import (
	"context"
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
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// wantedBranch is a row of the JSON beside a file: what other readers say.
type wantedBranch struct {
	Name   string   `json:"name"`
	Leaf   string   `json:"leaf"`
	CType  string   `json:"ctype"`
	N      int64    `json:"n_values"`
	Values string   `json:"values_sha"`
	Counts []string `json:"counts_sha"`
}

type wantedTree struct {
	Path     string         `json:"path"`
	Class    string         `json:"class"`
	Entries  int64          `json:"entries"`
	Branches []wantedBranch `json:"branches"`
}

type wantedColumn struct {
	Path     string `json:"path"`
	Type     string `json:"type"`
	Elements int64  `json:"n_elements"`
	Values   string `json:"values_sha"`
	Counts   string `json:"counts_sha"`
}

type wantedFile struct {
	Trees   []wantedTree `json:"trees"`
	Ntuples []struct {
		Name    string         `json:"name"`
		Key     string         `json:"key"`
		Entries int64          `json:"entries"`
		Columns []wantedColumn `json:"columns"`
		Aliases [][2]int       `json:"aliases"` // physical column, projected field
		Fields  []struct {
			Path string `json:"path"`
		} `json:"fields"`
	} `json:"ntuples"`
}

// deviation is a line of testdata/deviations.json: where we differ from other
// readers, on purpose.
type deviation struct {
	File   string `json:"file"`
	Branch string `json:"branch"`
	Reason string `json:"reason"`
}

func deviations(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/deviations.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []deviation
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, d := range list {
		m[d.File+":"+d.Branch] = d.Reason
	}
	return m
}

func short(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:16])
}

// lengths are the lengths of a column's lists, as bytes.
func lengths(o []int64) []byte {
	var b []byte
	for i := 1; i < len(o); i++ {
		b = binary.LittleEndian.AppendUint64(b, uint64(o[i]-o[i-1]))
	}
	return b
}

// score counts branches by outcome.
type score struct {
	files, equal, left, ours, wrong int
	reasons                         map[string]int
}

func (s *score) log(t *testing.T, what string) {
	t.Logf("%s: %d files, equal: %d, left out with reason: %d, read by us alone: %d, wrong: %d", what, s.files, s.equal, s.left, s.ours, s.wrong)
	var list []string
	for r := range s.reasons {
		list = append(list, r)
	}
	sort.Strings(list)
	for _, r := range list {
		t.Logf("    %d: %s", s.reasons[r], r)
	}
}

func (s *score) leave(reason string) {
	if i := strings.Index(reason, "its type says: "); i > 0 {
		reason = reason[i:]
	}
	s.left++
	s.reasons[reason]++
}

func TestCorpusTreesEqual(t *testing.T) {
	race.Sequential(t)
	s := &score{reasons: map[string]int{}}
	known := deviations(t)
	files, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "root"), "*", "*.root"))
	for _, name := range files {
		want, ok := expectations(t, name)
		if !ok {
			continue
		}
		s.files++
		for i := range want.Trees {
			if want.Trees[i].Entries > 0 && len(want.Trees[i].Branches) > 0 {
				s.tree(t, name, &want.Trees[i], known)
			}
		}
	}
	s.log(t, "TTree branches")
	if s.equal == 0 {
		t.Error("nothing compared")
	}
}

func expectations(t *testing.T, name string) (w wantedFile, ok bool) {
	text, err := os.ReadFile(name + ".expect.json")
	if err != nil {
		return w, false
	}
	if err := json.Unmarshal(text, &w); err != nil {
		t.Errorf("%s: %v", name, err)
		return w, false
	}
	return w, true
}

// known names of a table's columns: by alias the fields that have it.
func byAlias(t *testing.T, name, object string) (fields map[string][]string, left map[string][]string) {
	f, err := rows.OpenFile(context.Background(), local.Files, name, -1)
	if err != nil {
		t.Fatal(err)
	}
	j, err := (&source{fs: local.Files, opts: format.Options{"object": object}}).openJoined(context.Background(), f, filepath.Base(name), name)
	if err != nil {
		f.Close()
		t.Errorf("%s: %v", name, err)
		return nil, nil
	}
	defer j.Close()
	fields, left = map[string][]string{}, map[string][]string{}
	for i := range j.list {
		if a := j.list[i].aliases; len(a) > 0 {
			fields[a[0]] = append(fields[a[0]], j.list[i].Name)
		}
	}
	for _, c := range j.cannot {
		if len(c.aliases) > 0 {
			left[c.aliases[0]] = append(left[c.aliases[0]], c.reason)
		}
	}
	return fields, left
}

func (s *score) tree(t *testing.T, name string, want *wantedTree, known map[string]string) {
	fields, left := byAlias(t, name, want.Path)
	got, err := load(format.Options{"object": want.Path, "text": "bytes"}, nil, 1<<16, name)
	if err != nil {
		if strings.Contains(err.Error(), "no fields") {
			s.leave("no field in the tree")
			return
		}
		s.wrong++
		t.Errorf("%s %s: %v", filepath.Base(name), want.Path, err)
		return
	}
	if got.samples != want.Entries {
		t.Errorf("%s %s: %d samples, want %d", filepath.Base(name), want.Path, got.samples, want.Entries)
	}
	reasons := map[string]string{}
	for _, l := range got.left {
		reasons[l.Name] = l.Reason
	}
	seen := map[string]int{}
	compared := map[string]bool{}
	for i := range want.Branches {
		w := &want.Branches[i]
		key := w.Name
		if w.Leaf != "" {
			if w.Leaf == w.Name {
				continue // a second opinion on a branch listed before
			}
			key += "/" + w.Leaf
		}
		if reason, ok := known[filepath.Base(name)+":"+w.Name]; ok {
			s.leave("other readers are wrong: " + reason)
			continue
		}
		k := seen[key]
		seen[key]++
		if w.Values == "" {
			continue
		}
		id := fmt.Sprintf("%s %s %s %s (%s)", filepath.Base(name), want.Path, w.Name, w.Leaf, w.CType)
		switch {
		case k < len(fields[key]):
			n := fields[key][k]
			c := got.cols[n]
			if c == nil {
				s.leave(reasons[n])
				continue
			}
			compared[n] = true
			if lists := got.cols[n+".lengths"]; lists != nil {
				compared[n+".lengths"] = true
				c = threeLevels(c, lists)
			}
			if err := w.equals(c); err != nil {
				s.wrong++
				t.Errorf("%s: %v", id, err)
				continue
			}
			s.equal++
		case len(left[key]) > 0:
			s.leave(left[key][0])
		case w.CType == "int32_t" && w.Leaf == "":
			s.leave("counts of a collection: the offsets of its members say the same")
		case w.N == 0:
			s.leave("nothing in it; it has several members")
		default:
			s.wrong++
			t.Errorf("%s: no such field", id)
		}
	}
	s.ours += len(got.cols) - len(compared)
}

// threeLevels is a column with the level that is in another one.
func threeLevels(c, lists *shardify.Column) *shardify.Column {
	whole := *c
	whole.Offsets = [][]int64{lists.Offsets[0], {0}, c.Offsets[1]}
	end := int64(0)
	for _, n := range shardify.View[int64](lists.Data) {
		end += n
		whole.Offsets[1] = append(whole.Offsets[1], end)
	}
	return &whole
}

// equals compares a column with what other readers say.
func (w *wantedBranch) equals(c *shardify.Column) error {
	if got := short(c.Data); got != w.Values {
		return fmt.Errorf("values are %s, want %s (%d bytes for %d values)", got, w.Values, len(c.Data), w.N)
	}
	if w.Counts == nil { // values alone are known
		return nil
	}
	for l, o := range c.Offsets {
		switch {
		case l > 0 && len(o) == 1: // no list, no level
		case l >= len(w.Counts):
			return fmt.Errorf("%d levels, want %d", len(c.Offsets), len(w.Counts))
		case short(lengths(o)) != w.Counts[l]:
			return fmt.Errorf("other lengths of level %d", l)
		}
	}
	return nil
}

func TestCorpusNtuplesEqual(t *testing.T) {
	race.Sequential(t)
	s := &score{reasons: map[string]int{}}
	known := deviations(t)
	files, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "root"), "rntuple", "*.root"))
	for _, name := range files {
		want, ok := expectations(t, name)
		if !ok {
			continue
		}
		s.files++
		for i := range want.Ntuples {
			w := &want.Ntuples[i]
			if w.Entries == 0 {
				continue
			}
			fields, _ := byAlias(t, name, w.Key)
			got, err := load(format.Options{"object": w.Key, "text": "bytes"}, nil, 1<<16, name)
			if err != nil {
				s.wrong++
				t.Errorf("%s %s: %v", filepath.Base(name), w.Key, err)
				continue
			}
			all := w.Columns
			for _, a := range w.Aliases {
				c := w.Columns[a[0]]
				c.Path = w.Fields[a[1]].Path
				all = append(all, c)
			}
			seen := map[string]bool{}
			for k := range all {
				c := &all[k]
				id := filepath.Base(name) + ":" + c.Path
				switch {
				case strings.Contains(c.Type, "Index") || c.Type == "Switch":
				case known[id] != "":
					s.leave(known[id])
				case len(fields[c.Path]) == 0 && strings.HasPrefix(c.Path, "_collection"):
					s.leave("shown by a projected field")
				case len(fields[c.Path]) == 0:
					s.leave("no field with a flat form")
				default:
					n := fields[c.Path][0]
					seen[n] = true
					if data := stored(got.cols[n], c.Elements); c.Elements > 0 && short(data) != c.Values {
						s.wrong++
						t.Errorf("%s: other values (%d bytes for %d elements)", id, len(got.cols[n].Data), c.Elements)
						continue
					}
					s.equal++
				}
			}
			s.ours += len(got.cols) - len(seen)
		}
	}
	s.log(t, "RNTuple columns")
}

// stored is what of a column's data the file has: not the places of missing values,
// nor the zeros of entries from before the column was added.
func stored(c *shardify.Column, elements int64) []byte {
	data := c.Data
	if c.Nullable && c.Levels == 0 && len(c.Valid) > 0 {
		data = nil
		size := len(c.Data) / len(c.Valid)
		for i, v := range c.Valid {
			if v != 0 {
				data = append(data, c.Data[i*size:(i+1)*size]...)
			}
		}
	}
	if n := int(elements) * c.DType.Size(); c.Levels == 0 && n < len(data) {
		data = data[len(data)-n:]
	}
	return data
}

// TestTwinsAreEqual: the same events as TTree and as RNTuple give the same columns.
func TestTwinsAreEqual(t *testing.T) {
	corpus := func(name string) string { return filepath.Join(corpus.Dir(t, "root"), name) }
	for _, c := range []struct {
		tree, ntuple, object string
		least                int
	}{
		{corpus("ttree/nano_dy.root"), corpus("rntuple/nano_dy_rntuple.root"), "Events", 1474},
		{corpus("ttree/nano_dimuon.root"), corpus("rntuple/nano_dimuon_rntuple.root"), "Events", 1587},
		{corpus("ttree/nano_tree.root"), corpus("rntuple/nano_tree_rntuple.root"), "Events", 990},
		{corpus("ttree/treemaker.root"), corpus("rntuple/treemaker_rntuple.root"), "PreSelection", 122},
		{testdata("events-0.root"), testdata("ntuple-0.root"), "Events", 10},
	} {
		o := format.Options{"object": c.object}
		a, err := load(o, nil, 1<<20, c.tree)
		if err != nil {
			t.Fatal(err)
		}
		b, err := load(o, nil, 1<<16, c.ntuple)
		if err != nil {
			t.Fatal(err)
		}
		same, counters := 0, 0
		for name, x := range a.cols {
			y := b.cols[name]
			if y == nil {
				continue
			}
			if err := equalColumns(x, y); err != nil {
				t.Errorf("%s %s: %v", filepath.Base(c.tree), name, err)
				continue
			}
			if x.Counter == y.Counter {
				counters++
			}
			same++
		}
		t.Logf("%s: %d equal columns, %d with the same counter, %d in the tree and %d in the ntuple", filepath.Base(c.tree), same, counters, len(a.cols), len(b.cols))
		if same < c.least {
			t.Errorf("%s: %d equal columns, want %d", filepath.Base(c.tree), same, c.least)
		}
	}
}

func equalColumns(x, y *shardify.Column) error {
	if x.DType != y.DType || x.Levels != y.Levels || x.Media != y.Media || fmt.Sprint(x.Shape) != fmt.Sprint(y.Shape) {
		return fmt.Errorf("fields are %+v and %+v", x.Field, y.Field)
	}
	if string(x.Data) != string(y.Data) {
		return fmt.Errorf("other values")
	}
	for l := range x.Offsets {
		if string(lengths(x.Offsets[l])) != string(lengths(y.Offsets[l])) {
			return fmt.Errorf("other lengths of level %d", l)
		}
	}
	return nil
}

// TestCorpusOpens: every other file of the corpus opens or says why not.
func TestCorpusOpens(t *testing.T) {
	race.Sequential(t)
	files, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "root"), "*", "*.root"))
	for _, name := range files {
		src, err := openFiles(nil, nil, name)
		if err == nil {
			for _, err := range src.Spans(context.Background(), 1<<20) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			src.Close()
		} else if !isKind(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
