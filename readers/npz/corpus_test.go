package npz

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/npz/internal/members"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

var be = binary.BigEndian

// expected is the JSON beside a file: what numpy and zipfile say of it.
type expected struct {
	Error   string               `json:"error"`
	Descr   any                  `json:"descr"`
	Shape   []int64              `json:"shape"`
	SHA     string               `json:"sha256_c_order_as_stored_endian"`
	SHALE   string               `json:"sha256_c_order_le"`
	Members map[string]*expected `json:"members"`
}

// deviation is a line of testdata/deviations.json: where we differ from the
// expected values on purpose. Array is a key; empty means all of the file.
type deviation struct {
	File   string `json:"file"`
	Array  string `json:"array"`
	Expect string `json:"expect"` // "refuse", "read" or "leave out"
	SHA    string `json:"sha256"` // of the delivered columns, one after the other, when read
	Reason string `json:"reason"`
}

// tally counts arrays by outcome.
type tally struct{ equal, refused, left, wrong int }

func TestCorpusEqualsNumpy(t *testing.T) {
	race.Sequential(t)
	dir := corpus.Dir(t, "npz")
	var list []deviation
	text, err := os.ReadFile("testdata/deviations.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*deviation{}
	for i := range list {
		byName[list[i].File+":"+list[i].Array] = &list[i]
	}
	var n tally
	reasons := map[string]int{}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".npy" && ext != ".npz" {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		files++
		c := &corpusFile{t: t, path: path, name: filepath.ToSlash(rel), byName: byName, n: &n, reasons: reasons}
		c.run()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("the corpus has no files")
	}
	t.Logf("%d files", files)
	t.Logf("equal: %d arrays, read as one sample and, with a sample axis, by rows", n.equal)
	t.Logf("refused as expected: %d", n.refused)
	t.Logf("left out with reason: %d", n.left)
	for reason, k := range reasons {
		t.Logf("    %d: %s", k, reason)
	}
	t.Logf("wrong: %d", n.wrong)
}

// corpusFile checks one file.
type corpusFile struct {
	t       *testing.T
	path    string
	name    string
	byName  map[string]*deviation
	n       *tally
	reasons map[string]int
}

func (c *corpusFile) wrong(array, format string, args ...any) {
	c.n.wrong++
	c.t.Errorf("%s %s: %s", c.name, array, fmt.Sprintf(format, args...))
}

func (c *corpusFile) run() {
	text, err := os.ReadFile(c.path + ".json")
	if err != nil {
		c.wrong("", "no expected values: %v", err)
		return
	}
	var want expected
	if err := json.Unmarshal(text, &want); err != nil {
		c.wrong("", "%v", err)
		return
	}
	damaged := want.Error != ""
	for _, m := range want.Members {
		damaged = damaged || m.Error != ""
	}
	// numpy is lenient with some of what is called bad; we refuse it.
	refuse := want.Error != "" || strings.HasPrefix(filepath.Base(c.path), "bad_") && !damaged
	switch {
	case want.Members == nil || refuse || len(want.Members) == 0:
		c.array("", &want, refuse || filepath.Ext(c.path) == ".npz")
	default:
		for name, m := range want.Members {
			if _, twice := want.Members[name+"#dup"]; twice {
				c.n.left++
				c.reasons["an earlier member of the same name"]++
				continue
			}
			c.array(members.MemberKey(strings.TrimSuffix(name, "#dup")), m, m.Error != "")
		}
	}
}

func (c *corpusFile) array(key string, want *expected, refuse bool) {
	d := c.byName[c.name+":"+key]
	if d == nil {
		d = c.byName[c.name+":"]
	}
	var columns []string
	if key != "" {
		columns = []string{key}
	}
	modes := []string{"file"}
	if d == nil && (want.Shape == nil || len(want.Shape) > 0) {
		modes = append(modes, "row")
	}
	for _, mode := range modes {
		got, err := load([]string{c.path}, columns, format.Options{"sample": mode}, 0)
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) {
			c.wrong(key, "refused for no kind of reason: %v", err)
			return
		}
		switch {
		case d != nil && d.Expect == "read":
			if err != nil {
				c.wrong(key, "%v", err)
				return
			}
			if sum := got.sum(); sum != d.SHA {
				c.wrong(key, "sample=%s: delivered columns are %s, want %s", mode, sum, d.SHA)
				return
			}
		case refuse || d != nil:
			if err == nil {
				c.wrong(key, "read, and should be refused")
				return
			}
			if d != nil && d.Expect == "leave out" {
				c.n.left++
				c.reasons[d.Reason]++
			} else {
				c.n.refused++
			}
			return
		case err != nil:
			c.wrong(key, "sample=%s: %v", mode, err)
			return
		default:
			if err := got.equals(key, want); err != nil {
				c.wrong(key, "sample=%s: %v", mode, err)
				return
			}
		}
	}
	if d != nil {
		c.reasons["(read) "+d.Reason]++
	}
	c.n.equal++
}

// loaded is a whole source in memory.
type loaded struct {
	samples int64
	cols    map[string]*shardify.Column
	order   []string
	left    []format.Leftover
}

// load reads files as one source, and joins the proofs. A target of 0 gives
// small spans, but not too many.
func load(files, columns []string, o format.Options, target int64) (*loaded, error) {
	var table format.Table
	for _, f := range files {
		table.Roots = append(table.Roots, f)
		table.Append(len(table.Roots)-1, "", format.SizeUnknown, 0)
	}
	return loadTable(&table, columns, o, target)
}

func loadTable(table *format.Table, columns []string, o format.Options, target int64) (*loaded, error) {
	ctx := context.Background()
	src, err := Format.Open(ctx, format.OpenArgs{Table: table, Columns: columns, Options: o, Jobs: 2})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	out := &loaded{cols: map[string]*shardify.Column{}, left: src.(format.Reporter).Leftovers()}
	for _, f := range src.Schema() {
		out.order = append(out.order, f.Name)
		col := &shardify.Column{Field: f}
		for range f.Levels {
			col.Offsets = append(col.Offsets, []int64{0})
		}
		out.cols[f.Name] = col
	}
	if target == 0 {
		target = 1000
		for sp, err := range src.Spans(ctx, 1<<40) {
			if err != nil {
				return nil, err
			}
			target = max(target, sp.Bytes/20)
		}
	}
	pool := shardify.NewPool(1 << 30)
	var proofs []shardify.Proof
	var r shardify.Reader
	run := uint32(1 << 31)
	for sp, err := range src.Spans(ctx, target) {
		if err != nil {
			return nil, err
		}
		if sp.Run != run {
			if r != nil {
				r.Close()
			}
			if r, err = src.Reader(sp.Run); err != nil {
				return nil, err
			}
			defer r.Close()
			run = sp.Run
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return nil, err
		}
		b, err := r.Read(ctx, sp, mem)
		if err != nil {
			mem.Release()
			return nil, err
		}
		if err := b.Check(); err != nil {
			return nil, err
		}
		out.add(b)
		proofs = append(proofs, b.Proofs...)
		mem.Release()
	}
	return out, readertest.JoinProofs(proofs)
}

func (l *loaded) add(b *shardify.Batch) {
	l.samples += int64(b.Samples)
	for i := range b.Columns {
		c := &b.Columns[i]
		to := l.cols[c.Name]
		to.Data = append(to.Data, c.Data...)
		for level, offs := range c.Offsets {
			base := to.Offsets[level][len(to.Offsets[level])-1]
			for _, o := range offs[1:] {
				to.Offsets[level] = append(to.Offsets[level], base+o)
			}
		}
	}
}

func (l *loaded) sum() string {
	h := sha256.New()
	for _, name := range l.order {
		h.Write(l.cols[name].Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// equals writes the elements as numpy has them in memory and compares their sum.
func (l *loaded) equals(key string, want *expected) error {
	sum, little := want.SHA, false
	if want.SHALE != "" {
		sum, little = want.SHALE, true
	}
	e := encoder{cols: l.cols, little: little}
	prefix := key
	if _, plain := want.Descr.(string); key == "" && plain {
		prefix = l.order[0]
	}
	items := int64(1)
	for _, d := range want.Shape {
		items *= d
	}
	for i := range items {
		if err := e.item(want.Descr, prefix, i); err != nil {
			return err
		}
	}
	if got := sha256.Sum256(e.out.Bytes()); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("values of %v %v have the sum %x, want %s", want.Descr, want.Shape, got, sum)
	}
	return nil
}

// encoder turns columns back into numpy's items, guided by the type in the
// expected values.
type encoder struct {
	cols   map[string]*shardify.Column
	little bool
	out    bytes.Buffer
}

func (e *encoder) item(descr any, name string, i int64) error {
	s, ok := descr.(string)
	if ok {
		return e.values(s, name, i, 1)
	}
	for _, f := range descr.([]any) {
		f := f.([]any)
		sub, _ := f[0].(string)
		if titled, ok := f[0].([]any); ok {
			sub = titled[1].(string)
		}
		if sub == "" { // padding
			t, err := npy.ParseScalar(f[1].(string))
			if err != nil {
				return err
			}
			e.out.Write(make([]byte, t.Size))
			continue
		}
		if name != "" {
			sub = name + "/" + sub
		}
		if _, nested := f[1].([]any); nested {
			if err := e.item(f[1], sub, i); err != nil {
				return err
			}
			continue
		}
		n := int64(1)
		if len(f) == 3 {
			for _, d := range f[2].([]any) {
				n *= int64(d.(float64))
			}
		}
		if err := e.values(f[1].(string), sub, i*n, n); err != nil {
			return err
		}
	}
	return nil
}

// values writes values [i, i+n) of a column.
func (e *encoder) values(descr, name string, i, n int64) error {
	t, err := npy.ParseScalar(descr)
	c := e.cols[format.PlainName(name)]
	if err != nil || c == nil {
		return fmt.Errorf("no column %s for %s (%v)", name, descr, err)
	}
	for ; n > 0; i, n = i+1, n-1 {
		v := make([]byte, t.Size)
		switch {
		case t.IsText():
			offs := c.Offsets[len(c.Offsets)-1]
			text := c.Data[offs[i]:offs[i+1]]
			if t.Kind == 'S' {
				copy(v, text)
				break
			}
			for k, r := range []rune(string(text)) {
				if t.Big {
					be.PutUint32(v[4*k:], uint32(r))
				} else {
					le.PutUint32(v[4*k:], uint32(r))
				}
			}
		default:
			copy(v, c.Data[i*int64(t.Size):(i+1)*int64(t.Size)])
			if t.Big && !e.little {
				t.Repair(v)
			}
		}
		e.out.Write(v)
	}
	return nil
}
