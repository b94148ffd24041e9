package ttree

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/tests/corpus"
)

// openFile opens a file until the test ends.
func openFile(t testing.TB, path string) (*rfile.File, error) {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return rfile.Open(r, st.Size(), filepath.Base(path))
}

// describe writes what a reader of a branch uses.
func describe(b *Branch) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s entries %d baskets %d", b.Path, b.Class, b.Entries(), b.Baskets.Len())
	if b.IsElement() {
		fmt.Fprintf(&s, " class %s %d %x id %d type %d code %d", b.ClassName, b.ClassVersion, b.CheckSum, b.ID, b.Type, b.StreamerType)
	}
	for _, l := range b.Leaves {
		fmt.Fprintf(&s, " %s %q %d x %d", l.Class, l.Title, l.Len, l.LenType)
		if l.IsUnsigned {
			s.WriteString(" unsigned")
		}
		if l.Count != nil {
			fmt.Fprintf(&s, " count %s", l.Count.Name)
			if l.Count.Branch != nil {
				fmt.Fprintf(&s, " of %s", l.Count.Branch.Path)
			}
		}
	}
	return s.String()
}

// TestFileByUproot: what uproot wrote is there, cut as it was written.
func TestFileByUproot(t *testing.T) {
	f, err := openFile(t, "testdata/flat.root")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, o := range f.Trees() {
		paths = append(paths, o.Path)
	}
	if !slices.Equal(paths, []string{"dir/Events", "one"}) {
		t.Fatalf("trees %q", paths)
	}
	o, _ := f.Lookup("/dir/Events;1")
	tree, err := Read(f, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range tree.All {
		got = append(got, describe(b))
		if !slices.Equal(b.Baskets.First, []int64{0, 4, 8, 12}) || b.Err != nil {
			t.Errorf("%s: borders %v, %v", b.Path, b.Baskets.First, b.Err)
		}
	}
	want := []string{
		`i TBranch entries 12 baskets 3 TLeafI "i" 1 x 4`,
		`d TBranch entries 12 baskets 3 TLeafD "d" 1 x 8`,
		`flag TBranch entries 12 baskets 3 TLeafO "flag" 1 x 1`,
		`cov TBranch entries 12 baskets 3 TLeafF "cov[2][3]" 6 x 4`,
		`njet TBranch entries 12 baskets 3 TLeafI "njet" 1 x 4`,
		`jet_pt TBranch entries 12 baskets 3 TLeafD "jet_pt[njet]" 1 x 8 count njet of njet`,
		`jet_id TBranch entries 12 baskets 3 TLeafL "jet_id[njet]" 1 x 8 count njet of njet`,
	}
	if tree.Entries != 12 || !slices.Equal(got, want) {
		t.Errorf("%d entries\n%s", tree.Entries, strings.Join(got, "\n"))
	}
	if got := string(readAll(t, f, tree.branch("i"))); got != "\x00\x00\x00\x00"+"\x00\x00\x00\x01"+"\x00\x00\x00\x02"+"\x00\x00\x00\x03" {
		t.Errorf("first basket of i is %q", got)
	}
}

func readAll(t *testing.T, f *rfile.File, b *Branch) []byte {
	t.Helper()
	var s Scratch
	basket, err := b.ReadBasket(f, 0, &s)
	if err != nil {
		t.Fatal(err)
	}
	return basket.Data
}

// listedTree is a tree in the JSON beside a corpus file.
type listedTree struct {
	Path     string `json:"path"`
	Class    string `json:"class"`
	Entries  int64  `json:"entries"`
	Branches []struct {
		Name string `json:"name"`
		Leaf string `json:"leaf"` // set in further rows for single leaves
	} `json:"branches"`
}

// TestCorpusMetadata compares trees, entries and branches in order, and decodes
// every basket to its entries.
func TestCorpusMetadata(t *testing.T) {
	files, _ := filepath.Glob(corpus.Dir(t, "root") + "/ttree/*.root")
	var trees, branches, baskets, offsets int
	for _, path := range files {
		name := filepath.Base(path)
		f, err := openFile(t, path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := f.Streamers().Problem; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range listedTrees(t, path) {
			o, err := f.Lookup(want.Path)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			tree, err := Read(f, o)
			if err != nil || tree.Problem != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			compareTree(t, name, tree, &want)
			trees++
			branches += len(tree.All)
			n, k := walkBaskets(t, f, tree)
			baskets, offsets = baskets+n, offsets+k
		}
	}
	t.Logf("%d files, %d trees, %d branches, %d baskets, %d of them with offsets", len(files), trees, branches, baskets, offsets)
	if trees == 0 {
		t.Error("no trees")
	}
}

func listedTrees(t *testing.T, path string) []listedTree {
	t.Helper()
	text, err := os.ReadFile(path + ".expect.json")
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Trees []listedTree `json:"trees"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want.Trees
}

func compareTree(t *testing.T, file string, tree *Tree, want *listedTree) {
	t.Helper()
	var names, got []string
	for _, b := range want.Branches {
		if b.Leaf == "" {
			names = append(names, b.Name)
		}
	}
	for _, b := range tree.All {
		got = append(got, b.Path)
		if b.Err != nil {
			t.Errorf("%s %s: %v", file, b.Path, b.Err)
		}
	}
	if tree.Entries != want.Entries || tree.Class != want.Class {
		t.Errorf("%s %s: %s of %d entries, want %s of %d", file, tree.Path, tree.Class, tree.Entries, want.Class, want.Entries)
	}
	// Some trees were read by no other program: they have no rows.
	if len(names) > 0 && !slices.Equal(names, got) {
		t.Errorf("%s %s: branches\n%q\nwant\n%q", file, tree.Path, got, names)
	}
}

// walkBaskets decodes all baskets of a tree.
func walkBaskets(t *testing.T, f *rfile.File, tree *Tree) (n, withOffsets int) {
	t.Helper()
	var s Scratch
	var o []int32
	for _, b := range tree.All {
		for i := range b.Baskets.Len() {
			basket, err := b.ReadBasket(f, i, &s)
			if err == nil && !basket.Generated {
				o, err = basket.Offsets(o[:0])
			}
			if err != nil {
				t.Errorf("%s: %v", f.Name(), err)
			}
			n++
			if basket.Width == 0 {
				withOffsets++
			}
		}
	}
	return n, withOffsets
}

// TestLayoutsAgreeWithStreamerInfos: reading by the file's own streamer infos, as
// is done for versions of tomorrow, gives the tree that the tables here give.
func TestLayoutsAgreeWithStreamerInfos(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.root")
	if more, _ := filepath.Glob(corpus.Path("root") + "/ttree/*.root"); len(more) > 0 {
		files = append(files, more...)
	}
	layouts := map[planKey]int{}
	for _, path := range files {
		f, err := openFile(t, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range f.Trees() {
			tree, err := Read(f, o)
			if err != nil {
				t.Fatal(err)
			}
			rec, h, err := f.Object(o.Key)
			if err != nil {
				t.Fatal(err)
			}
			p := newParser(f, o, rec, h.KeyLen)
			for class, low := range map[string]int{"TTree": 16, "TBranch": 10, "TBranchElement": 8} {
				info := f.Streamers().Latest(class)
				if info == nil || info.Version < low {
					continue
				}
				steps, err := infoLayout(info, "TBranch")
				if err != nil {
					t.Fatalf("%s %s: %v", path, class, err)
				}
				p.plans[planKey{class, info.Version}] = plan{steps: steps}
				layouts[planKey{class, info.Version}]++
			}
			if err := p.readTree(); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if err := sameTree(tree, p.tree); err != nil {
				t.Errorf("%s %s: %v", path, o.Path, err)
			}
		}
	}
	t.Logf("%v", layouts)
}

func sameTree(a, b *Tree) error {
	if len(a.All) != len(b.All) || a.Entries != b.Entries || !reflect.DeepEqual(a.Clusters, b.Clusters) || len(a.Friends) != len(b.Friends) || len(a.Aliases) != len(b.Aliases) {
		return fmt.Errorf("%d and %d branches, problems %v and %v", len(a.All), len(b.All), a.Problem, b.Problem)
	}
	for i, x := range a.All {
		y := b.All[i]
		if describe(x) != describe(y) || !slices.Equal(x.Baskets.Seek, y.Baskets.Seek) || !slices.Equal(x.Baskets.First, y.Baskets.First) {
			return fmt.Errorf("%s\nand\n%s, %v", describe(x), describe(y), y.Err)
		}
	}
	return nil
}
