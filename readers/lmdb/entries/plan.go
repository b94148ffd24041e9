package entries

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/lmdb/mdb"
)

// pieceBytes is what a piece has at least. Tests make it smaller.
var pieceBytes = int64(1 << 20)

const maxPrefixes = 16

// Orders of samples.
const (
	tree    = "tree"
	numeric = "numeric"
)

// Part is an entry of each sample.
type Part struct {
	Prefix string `json:"p,omitempty"` // of its keys
	Width  int    `json:"w,omitempty"` // digits of their numbers; 0: as few as there are
}

// Plan is what is kept of a database.
type Plan struct {
	Name    string `json:"n,omitempty"` // of a named database
	Order   string `json:"o"`
	Txn     uint64 `json:"t"`
	Parts   []Part `json:"p"`
	First   int64  `json:"f,omitempty"` // the first number; others follow it, or are listed
	Integer int    `json:"i,omitempty"` // bytes of keys that are integers

	rows    []int64 // the first sample of each piece, and the number of samples
	places  [][]int // of pieces in tree order
	numbers []int64 // nil: one after the other

	// While the plan is made:
	Bytes  int64 // of values
	Left   []format.Leftover
	Remark string
}

// Samples is their number.
func (p *Plan) Samples() int64 { return p.rows[len(p.rows)-1] }

// Rows is the first sample of each piece, and the number of samples.
func (p *Plan) Rows() []int64 { return p.rows }

// Keyed: keys say more than the number of the sample.
func (p *Plan) Keyed() bool { return p.Order == tree || p.numbers != nil }

// Numbers: the keys are numbers.
func (p *Plan) Numbers() bool { return p.Order != tree || p.Integer > 0 }

// about are keys of entries about the others.
var about = map[string]string{
	"length": "a number of entries", "__len__": "a number of entries", "len": "a number of entries", "num-samples": "a number of entries", "num_samples": "a number of entries",
	"__keys__": "a list of the keys", "nextid": "ASE's next id", "deleted_ids": "ASE's list of ids that are free", "metadata": "about the whole", "__meta__": "about the whole",
}

// About reports whether an entry is about the others.
func About(key []byte) bool { return about[string(key)] != "" }

// list is a list of numbers in keys of one form.
type list struct {
	Part
	numbers []int64
}

// looker is a look at all keys.
type looker struct {
	*Plan
	count     int64
	plain     *list            // decimal keys; nil if others were met
	groups    map[string]*list // by prefix; nil if others were met
	announced int64            // entries, by one of them; -1 without one
}

// Open finds the tree of a plan.
func (p *Plan) tree(f *mdb.File) (mdb.Tree, error) {
	if p.Name == "" {
		return f.Main(), nil
	}
	names, trees, _, err := f.Named(maxNames)
	if err != nil {
		return mdb.Tree{}, err
	}
	if i := slices.Index(names, p.Name); i >= 0 {
		return trees[i], nil
	}
	return mdb.Tree{}, shardify.Misuse("there is no database %s; there is %s", p.Name, strings.Join(names[:min(len(names), 20)], ", "))
}

const maxNames = 1 << 16

// Look looks at all keys of a database. see gets the first entries that are samples, most of them, with their values.
func Look(ctx context.Context, f *mdb.File, name string, most int, see func(key, value []byte) error) (*Plan, error) {
	l := looker{Plan: &Plan{Name: name, Order: tree, Txn: f.Txn(), rows: []int64{0}}, plain: &list{}, groups: map[string]*list{}, announced: -1}
	t, err := l.tree(f)
	if err != nil {
		return nil, err
	}
	if t.Flags != 0 { // the keys are not in the order of their bytes, or not alone
		l.plain, l.groups = nil, nil
	}
	c := f.Cursor(t)
	piece := int64(0)
	for n := 0; c.Next(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if c.Sub {
			return nil, shardify.Misuse("the database %q is among entries: FILE:%s reads it", c.Key, c.Key)
		}
		if t.Flags&mdb.IntegerKey == 0 && About(c.Key) {
			if err := l.note(c); err != nil {
				return nil, err
			}
			continue
		}
		if t.Flags&mdb.IntegerKey != 0 {
			if k := len(c.Key); k != 4 && k != 8 || l.Integer > 0 && k != l.Integer {
				return nil, shardify.Unsupported("keys of %d bytes that are to be integers", k)
			}
			l.Integer = len(c.Key)
		}
		if l.count < int64(most) {
			v, err := c.Load()
			if err == nil {
				err = see(c.Key, v)
			}
			if err != nil {
				return nil, err
			}
		}
		if piece >= pieceBytes && c.First() || len(l.places) == 0 {
			if l.count > 0 {
				l.rows = append(l.rows, l.count)
			}
			l.places, piece = append(l.places, c.Place(nil)), 0
		}
		l.key(c.Key)
		l.count++
		piece += c.Size + 16
		l.Bytes += c.Size
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if l.count > 0 {
		l.rows = append(l.rows, l.count)
	}
	if err := l.settle(); err != nil {
		return nil, err
	}
	if f.Damaged {
		l.Remark = fmt.Sprintf("one of the two meta pages is damaged: what is read is the state of transaction %d, which may not be the last one", f.Txn())
	}
	return l.Plan, f.Unchanged()
}

// note keeps an entry about the others.
func (l *looker) note(c *mdb.Cursor) error {
	key := string(c.Key)
	l.Left = append(l.Left, format.Leftover{Name: key, Reason: "an entry that is no sample but " + about[key]})
	if about[key] != about["length"] || c.Size > 32 {
		return nil
	}
	v, err := c.Load()
	if err != nil {
		return err
	}
	if n, ok := counted(v); ok {
		l.announced = n
	}
	return nil
}

// counted is a number as text, or as Python pickles it.
func counted(v []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64); err == nil {
		return n, true
	}
	if len(v) < 4 || v[0] != 0x80 || v[1] < 2 || v[1] > 5 || v[len(v)-1] != '.' {
		return 0, false
	}
	v = v[2 : len(v)-1]
	if len(v) > 9 && v[0] == 0x95 { // a frame, and its length
		v = v[9:]
	}
	n := int64(0)
	for i := len(v) - 1; i > 0; i-- {
		n = n<<8 | int64(v[i])
	}
	return n, len(v) > 1 && len(v) == map[byte]int{'K': 2, 'M': 3, 'J': 5}[v[0]] && n < 1<<31
}

// key notes a key.
func (l *looker) key(key []byte) {
	if l.plain != nil && !l.plain.add(key, true) {
		l.plain = nil
	}
	if l.groups == nil {
		return
	}
	at := bytes.LastIndexByte(key, '-')
	g := l.groups[string(key[:at+1])]
	if g == nil && at > 0 && len(l.groups) < maxPrefixes {
		g = &list{Part: Part{Prefix: string(key[:at+1])}}
		l.groups[g.Prefix] = g
	}
	if at <= 0 || g == nil || !g.add(key[at+1:], false) {
		l.groups = nil
	}
}

// add notes a number; false if it is of another form.
func (l *list) add(digits []byte, first bool) bool {
	n := int64(0)
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return false
		}
		n = n*10 + int64(c)
	}
	if len(digits) == 0 || len(digits) > 18 {
		return false
	}
	padded := len(digits) > 1 && digits[0] == '0'
	if padded && first {
		return false
	}
	if len(l.numbers) == 0 && !first {
		l.Width = len(digits)
	}
	if l.Width > 0 && l.Width != len(digits) {
		for _, m := range l.numbers { // as few digits as there are, so far?
			if padded || len(strconv.FormatInt(m, 10)) != l.Width {
				return false
			}
		}
		l.Width = 0
	}
	if l.Width == 0 && padded {
		return false
	}
	l.numbers = append(l.numbers, n)
	return true
}

// settle chooses the order.
func (l *looker) settle() error {
	var lists []*list
	switch {
	case l.count == 0:
	case l.plain != nil:
		lists = []*list{l.plain}
	case len(l.groups) > 1:
		for _, g := range l.groups {
			lists = append(lists, g)
		}
		slices.SortFunc(lists, func(a, b *list) int { return strings.Compare(a.Prefix, b.Prefix) })
	}
	l.Parts = []Part{{}}
	if len(lists) > 0 {
		l.Order, l.Parts, l.places, l.rows = numeric, nil, nil, []int64{0}
		for _, g := range lists {
			slices.Sort(g.numbers)
			l.Parts = append(l.Parts, g.Part)
			if err := equal(lists[0], g); err != nil {
				return err
			}
		}
		all := lists[0].numbers
		n := int64(len(all))
		if l.First = all[0]; all[n-1]-all[0] != n-1 || l.First > 1 {
			l.numbers = all
		}
		for i := int64(1); i < n; i++ {
			if n/max(l.Bytes/pieceBytes, 1) <= i-l.rows[len(l.rows)-1] {
				l.rows = append(l.rows, i)
			}
		}
		l.rows = append(l.rows, n)
	}
	if n := l.Samples(); l.announced >= 0 && l.announced != n && l.announced != l.count {
		return shardify.Corrupt(-1, "an entry says that there are %d, there are %d", l.announced, n)
	}
	return nil
}

// equal refuses lists of other numbers.
func equal(a, b *list) error {
	for i := range max(len(a.numbers), len(b.numbers)) {
		switch {
		case i >= len(b.numbers) || i < len(a.numbers) && a.numbers[i] < b.numbers[i]:
			return shardify.Mismatch("there is a key %s, and no %s of this number", a.name(a.numbers[i]), b.Prefix)
		case i >= len(a.numbers) || a.numbers[i] > b.numbers[i]:
			return shardify.Mismatch("there is a key %s, and no %s of this number", b.name(b.numbers[i]), a.Prefix)
		}
	}
	return nil
}

func (p *Part) name(n int64) string { return string(p.append(nil, n)) }

// append appends the key of a number.
func (p *Part) append(b []byte, n int64) []byte {
	b = append(b, p.Prefix...)
	at := len(b)
	b = strconv.AppendInt(b, n, 10)
	for len(b)-at < p.Width {
		b = slices.Insert(b, at, '0')
	}
	return b
}
