package hdf5

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/number"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// expected is the JSON beside a file: what h5py and h5dump say of it.
type expected struct {
	OpenError     string                     `json:"open_error"`
	OracleCrash   any                        `json:"oracle_crash"`
	ExpectedError string                     `json:"expected_error"`
	Objects       map[string]*expectedObject `json:"objects"`
}

type expectedObject struct {
	Kind      string          `json:"kind"`
	Shape     []int64         `json:"shape"`
	ReadError string          `json:"read_error"`
	Skipped   any             `json:"values_skipped"`
	Values    *expectedValues `json:"values"`
}

type expectedValues struct {
	Bytes  int64                      `json:"nbytes"`
	LE     string                     `json:"sha256_le"`
	Raw    string                     `json:"sha256_raw"`
	Lists  string                     `json:"sha256_len8_bytes"`
	Fields map[string]*expectedValues `json:"fields"`
}

func (v *expectedValues) stated() bool {
	if v == nil {
		return false
	}
	for _, f := range v.Fields {
		if f.stated() {
			return true
		}
	}
	return v.LE != "" || v.Raw != "" || v.Lists != ""
}

// deviation is a line of testdata/deviations.json: where we differ from the
// expected values on purpose. Object is a path; empty means all of the file.
type deviation struct {
	File   string `json:"file"`
	Object string `json:"object"`
	Expect string `json:"expect"` // "refuse" or "read"
	Reason string `json:"reason"`
}

func deviations(t testing.TB) map[string]*deviation {
	text, err := os.ReadFile("testdata/deviations.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []deviation
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	m := map[string]*deviation{}
	for i := range list {
		m[list[i].File+":"+list[i].Object] = &list[i]
	}
	return m
}

// tally counts data sets by outcome.
type tally struct {
	files, refusedFiles, equal, refused, unstated, wrong int
	reasons                                              map[string]int
}

func TestCorpusEqualsH5py(t *testing.T) {
	race.Sequential(t)
	dir := corpus.Dir(t, "hdf5")
	dev := deviations(t)
	n := tally{reasons: map[string]int{}}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".json") {
			return err
		}
		p = strings.TrimSuffix(p, ".json")
		rel, _ := filepath.Rel(dir, p)
		c := &corpusFile{t: t, path: p, name: filepath.ToSlash(rel), dev: dev, n: &n}
		c.run()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.files == 0 {
		t.Fatal("the corpus has no files")
	}
	t.Logf("%d files, of them %d refused as a whole as expected", n.files, n.refusedFiles)
	t.Logf("equal: %d data sets", n.equal)
	t.Logf("refused as expected: %d data sets", n.refused)
	t.Logf("without expected values, read or refused cleanly: %d", n.unstated)
	for _, r := range slices.Sorted(maps.Keys(n.reasons)) {
		t.Logf("    %d: %s", n.reasons[r], r)
	}
	t.Logf("wrong: %d", n.wrong)
}

// TestPublishedLayouts opens files laid out as published sets are, without any
// option: how many samples of how many fields they give.
func TestPublishedLayouts(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "hdf5"), "generated")
	for _, c := range []struct {
		file            string
		samples, fields int
	}{
		{"ml_calochallenge.hdf5", 500, 2}, {"ml_camels_maps.hdf5", 30, 2}, {"ml_cosmoflow.hdf5", 1, 5}, {"ml_deepcam.h5", 1, 4}, {"ml_jetnet.hdf5", 400, 2},
		{"ml_pandas_fixed_zlib.h5", 300, 14}, {"ml_robomimic_demos.hdf5", 10, 8}, {"ml_toptagging_pandas_table.h5", 300, 15}, {"netcdf4_groups.nc", 7, 1},
		{"../structures/group_per_sample.h5", 60, 3}, {"../structures/netcdf_like.h5", 10, 2},
	} {
		s, err := load([]string{filepath.Join(dir, c.file)}, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
		} else if s.samples != int64(c.samples) || len(s.order) != c.fields {
			t.Errorf("%s: %d samples of %q, want %d of %d fields", c.file, s.samples, s.order, c.samples, c.fields)
		}
	}
	if _, err := load([]string{filepath.Join(dir, "ml_keras_weights.h5")}, nil, nil); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("model weights: %v", err)
	}
	_, err := load([]string{filepath.Join(dir, "corrupt_deflate_bitflip.h5")}, []string{"x"}, nil)
	var e *shardify.Error
	if !errors.As(err, &e) || e.Sample < 0 || e.Offset < 0 || e.Object != "/x" || e.File == "" || !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a damaged chunk: %v", err)
	}
}

// corpusFile checks one file.
type corpusFile struct {
	t    *testing.T
	path string
	name string
	dev  map[string]*deviation
	n    *tally
}

func (c *corpusFile) wrong(object, format string, args ...any) {
	c.n.wrong++
	c.t.Errorf("%s %s: %s", c.name, object, fmt.Sprintf(format, args...))
}

func clean(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

func (c *corpusFile) run() {
	text, err := os.ReadFile(c.path + ".json")
	if err != nil {
		c.wrong("", "%v", err)
		return
	}
	var want expected
	if err := json.Unmarshal(text, &want); err != nil {
		c.wrong("", "%v", err)
		return
	}
	c.n.files++
	d := c.dev[c.name+":"]
	f, err := openPath(c.path)
	if err != nil {
		switch {
		case !clean(err):
			c.wrong("", "refused for no kind of reason: %v", err)
		case want.OpenError != "" || want.ExpectedError != "" || want.Objects == nil:
			c.n.refusedFiles++
		case d != nil && d.Expect == "refuse":
			c.n.refusedFiles++
			c.n.reasons["(file) "+d.Reason]++
		default:
			c.wrong("", "%v", err)
		}
		return
	}
	defer f.Close()
	if want.ExpectedError != "" && (d == nil || d.Expect != "read") {
		c.wrong("", "opens, and should be refused: %s", want.ExpectedError)
	}
	for _, p := range slices.Sorted(maps.Keys(want.Objects)) {
		if o := want.Objects[p]; o.Kind == "dataset" {
			c.dataset(f, p, o)
		}
	}
	if want.Objects == nil {
		c.unknown(f, want.OpenError != "")
	}
}

// openPath opens a file as a test does that reads single data sets.
func openPath(p string) (*column.File, error) {
	osf, err := local.Files.Open(context.Background(), p)
	if err != nil {
		return nil, err
	}
	f, err := column.Open(local.Files, osf, p, true)
	if err != nil {
		osf.Close()
	}
	return f, err
}

// unknown reads what the library could not open: any outcome but an error of no
// kind will do, and is counted.
func (c *corpusFile) unknown(f *column.File, broken bool) {
	read, refused := 0, 0
	for _, p := range allDatasets(f) {
		if _, err := readWhole(f, p); err == nil {
			read++
		} else if refused++; !clean(err) {
			c.wrong(p, "refused for no kind of reason: %v", err)
		}
	}
	if broken {
		c.n.refusedFiles++
	}
	c.n.unstated += read + refused
	c.n.reasons[fmt.Sprintf("(no oracle) %s: %d read, %d refused", c.name, read, refused)]++
}

// allDatasets lists every data set of a file, as far as its groups can be read.
func allDatasets(f *column.File) (paths []string) {
	seen := map[int64]bool{}
	var walk func(o *h5.Object, prefix string, depth int)
	walk = func(o *h5.Object, prefix string, depth int) {
		if seen[o.Addr] || depth > 64 || len(seen) > 10000 {
			return
		}
		seen[o.Addr] = true
		if o.Kind == h5.KindDataset {
			paths = append(paths, naming.Rooted(prefix))
			return
		}
		links, _ := o.Children()
		for i := range links {
			if links[i].Kind != h5.HardLink || links[i].Err != nil {
				continue
			}
			if sub, err := f.H5.Object(links[i].Addr, prefix+"/"+links[i].Name); err == nil {
				walk(sub, prefix+"/"+links[i].Name, depth+1)
			}
		}
	}
	if root, err := f.H5.Object(f.H5.Root, "/"); err == nil {
		walk(root, "", 0)
	}
	return paths
}

// loaded is a whole data set: its leaves and their columns.
type loaded struct {
	a      *column.Dataset
	leaves []element.Leaf
	cols   []shardify.Column
}

// readWhole reads a data set as one sample. Leaves that cannot be read keep their
// error.
func readWhole(f *column.File, p string) (*loaded, error) {
	f.SetOrder(p, nil) // and again from the file
	a, err := f.Dataset(p)
	if err != nil {
		return nil, err
	}
	if err := a.Usable(); err != nil {
		return nil, err
	}
	if err := a.Backed(a.Rows); err != nil {
		return nil, err
	}
	root, err := f.H5.Object(f.H5.Root, "/")
	if err != nil {
		return nil, err
	}
	kind := tree.ConventionOf(f, root)
	l := &loaded{a: a, leaves: element.Rules{Media: "bin", RefSize: f.H5.RefSize(), PyTables: kind.Pytables}.Leaves(a.Set.Type)}
	l.cols = make([]shardify.Column, len(l.leaves))
	mem, _ := shardify.NewPool(1<<40).Grant(context.Background(), 1)
	s := column.Stretch{A: a, Lo: 0, Hi: a.Rows, Per: a.Rows}
	inner, samples := a.Dims, 1
	for i := range l.leaves { // lists of lists are read by rows
		if l.leaves[i].Kind == element.VarList && l.leaves[i].Elem.Kind != element.Numbers && len(a.Dims) == 1 {
			s.Per, inner, samples = 1, nil, int(a.Rows)
		}
	}
	w := &column.Work{Vary: make([]column.Varying, len(l.leaves))}
	data := make([][]byte, len(l.leaves))
	var first error
	for i := range l.leaves {
		if first == nil {
			first = l.leaves[i].Err
		}
		if l.leaves[i].Err != nil {
			continue
		}
		f, err := l.leaves[i].Field("x", inner)
		if err != nil {
			l.leaves[i].Err = err
			continue
		}
		l.cols[i] = shardify.Column{Field: f}
		s.Parts = append(s.Parts, column.Part{Column: i, Leaf: &l.leaves[i], Two: f.Levels == 2})
		if f.Levels == 0 {
			l.cols[i].Data = mem.Alloc(samples * f.ElemBytes())
			data[i] = l.cols[i].Data
		}
	}
	if len(s.Parts) == 0 {
		return l, first
	}
	if err := s.Read(context.Background(), w, data); err != nil {
		return nil, err
	}
	for _, p := range s.Parts {
		if l.cols[p.Column].Levels > 0 {
			w.Vary[p.Column].Column(&l.cols[p.Column], mem, 1)
		}
		if err := (&shardify.Batch{Samples: samples, Columns: l.cols[p.Column : p.Column+1]}).Check(); err != nil {
			return nil, fmt.Errorf("batch: %w", err)
		}
	}
	return l, nil
}

func (c *corpusFile) dataset(f *column.File, p string, want *expectedObject) {
	d := c.dev[c.name+":"+p]
	if d == nil {
		d = c.dev[c.name+":"]
	}
	got, err := readWhole(f, p)
	stated := want.Values.stated()
	switch {
	case err != nil && !clean(err):
		c.wrong(p, "refused for no kind of reason: %v", err)
	case err != nil && want.ReadError != "":
		c.n.refused++
	case err != nil && !stated:
		c.n.unstated++
		c.n.reasons["(no values) "+tree.Reason(err)]++
	case err != nil && d != nil && d.Expect == "refuse":
		c.n.refused++
		c.n.reasons["(refused) "+d.Reason]++
	case err != nil:
		c.wrong(p, "%v", err)
	case !stated:
		c.n.unstated++
		if want.ReadError != "" {
			c.n.reasons["(read, not by the library) "+c.name]++
		}
	default:
		if err := c.compare(got, "", want.Values); err != nil {
			if d != nil && d.Expect == "read" {
				c.n.unstated++
				c.n.reasons["(other value) "+d.Reason]++
				return
			}
			c.wrong(p, "%v", err)
			return
		}
		c.n.equal++
	}
}

// compare checks the leaves below a member's name. Names of members repeat in
// few files; the first of a name counts.
func (c *corpusFile) compare(l *loaded, name string, want *expectedValues) error {
	if len(want.Fields) > 0 {
		for sub, w := range want.Fields {
			if err := c.compare(l, naming.Join(name, sub), w); err != nil {
				return err
			}
		}
		return nil
	}
	if !want.stated() {
		return nil
	}
	i := slices.IndexFunc(l.leaves, func(x element.Leaf) bool { return x.Name == name })
	if i < 0 {
		return fmt.Errorf("no leaf %q", name)
	}
	if l.leaves[i].Err != nil {
		if d := c.dev[c.name+":"+l.a.Path+"/"+name]; d != nil && d.Expect == "refuse" {
			c.n.reasons["(member refused) "+d.Reason]++
			return nil
		}
		return fmt.Errorf("member %s: %w", name, l.leaves[i].Err)
	}
	h := sha256.New()
	sum := want.LE
	switch {
	case want.Lists != "":
		sum = want.Lists
		if e := l.leaves[i].Elem; e != nil && e.Kind == element.Texts {
			h.Write(textLists(&l.cols[i], e.Size))
		} else {
			h.Write(listed(&l.cols[i]))
		}
	case l.leaves[i].Kind == element.Texts:
		if sum = want.Raw; sum == "" {
			sum = want.LE
		}
		h.Write(padded(&l.cols[i], l.leaves[i].Size))
	default:
		if want.Raw != "" {
			sum = want.Raw
		}
		h.Write(atWidth(l.cols[i].Data, l.cols[i].DType, want.Bytes))
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("member %q: values of %v %v have the sum %s, want %s", name, l.cols[i].DType, l.cols[i].Shape, got, sum)
	}
	return nil
}

// lists writes every list with its length in bytes before it.
func listed(c *shardify.Column) []byte {
	var out []byte
	ends := c.Offsets[len(c.Offsets)-1]
	size := int64(c.ElemBytes())
	for i := 1; i < len(ends); i++ {
		b := c.Data[ends[i-1]*size : ends[i]*size]
		out = append(binary.LittleEndian.AppendUint64(out, uint64(len(b))), b...)
	}
	return out
}

// textLists writes lists of texts of a stored width.
func textLists(c *shardify.Column, width int) []byte {
	var out []byte
	for i := 1; i < len(c.Offsets[0]); i++ {
		lo, hi := c.Offsets[0][i-1], c.Offsets[0][i]
		out = binary.LittleEndian.AppendUint64(out, uint64(hi-lo)*uint64(width))
		for k := lo; k < hi; k++ {
			b := c.Data[c.Offsets[1][k]:c.Offsets[1][k+1]]
			out = append(append(out, b...), make([]byte, width-len(b))...)
		}
	}
	return out
}

// padded writes every text at its stored width, with NULs as NumPy has them.
func padded(c *shardify.Column, width int) []byte {
	var out []byte
	ends := c.Offsets[len(c.Offsets)-1]
	for i := 1; i < len(ends); i++ {
		b := c.Data[ends[i-1]:ends[i]]
		out = append(append(out, b...), make([]byte, width-len(b))...)
	}
	return out
}

// atWidth writes numbers at the width that NumPy has for them, which for some
// floats is larger.
func atWidth(b []byte, d shardify.DType, want int64) []byte {
	n := int64(len(b) / d.Size())
	if n == 0 || int64(len(b)) == want || !d.IsFloat() || want%n != 0 {
		return b
	}
	var out []byte
	for ; len(b) > 0; b = b[d.Size():] {
		var v float64
		switch d {
		case shardify.F16:
			v = number.F16.Value(uint64(le.Uint16(b)))
		case shardify.BF16:
			v = float64(math.Float32frombits(uint32(le.Uint16(b)) << 16))
		case shardify.F32:
			v = float64(math.Float32frombits(le.Uint32(b)))
		}
		if want/n == 4 {
			out = le.AppendUint32(out, math.Float32bits(float32(v)))
		} else {
			out = le.AppendUint64(out, math.Float64bits(v))
		}
	}
	return out
}
