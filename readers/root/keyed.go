package root

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// keyed joins a friend by the values of key fields instead of by entry.
type keyed struct {
	names        []string // of the key fields in the main table
	main, friend []int    // the fields themselves
	fill         bool     // entries without a friend get missing values
	repeat       bool     // several entries may have one key
	path         string   // of the friend, for messages
	table        table
	index        *keyIndex // shared by all inputs that have this friend
}

// keyPair is a key field by its names in both tables.
type keyPair struct{ main, friend string }

// parseOn reads the value of --on: NAME or MAIN=FRIEND, several separated by commas.
func parseOn(text string) (pairs []keyPair, err error) {
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		a, b, two := strings.Cut(part, "=")
		p := keyPair{strings.TrimSpace(a), strings.TrimSpace(b)}
		if !two {
			p.friend = p.main
		}
		if p.main == "" || p.friend == "" {
			return nil, fmt.Errorf("--on %q: want names of fields, such as run,event", text)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// keyField finds a field that can be part of a key.
func keyField(t table, name string) (int, error) {
	list := t.fields()
	at := -1
	for i := range list {
		if list[i].Name == name {
			at = i
			break
		}
		for _, a := range list[i].aliases {
			if a == name && at < 0 {
				at = i
			}
		}
	}
	if at < 0 {
		return -1, shardify.Annotate(shardify.Mismatch("it has no field %s, which --on names", name), "open", "", t.path())
	}
	if f := &list[at]; f.Levels > 0 || f.Elem() != 1 || f.Media != "" || f.Nullable || !f.DType.IsInt() && f.DType != shardify.Bool {
		return -1, shardify.Annotate(shardify.Mismatch("field %s is not a key: --on takes fields with one integer an entry", name), "open", "", t.path())
	}
	return at, nil
}

// keyIndex finds entries by their keys. It is made once, from the key fields of the whole
// table, and takes indexBytes of memory.
type keyIndex struct {
	mu     sync.Mutex // of making it
	done   bool
	holder atomic.Pointer[keyedReader] // counts its memory

	width int
	wide  []bool // by key: it is u64
	keys  []uint64
	slots []uint32 // 1 + entry
	seed  maphash.Seed
}

// indexBytes is the memory of an index of n entries.
func indexBytes(n int64, width int) int64 { return n*int64(8*width) + 4*(n+n/2+1) }

// maxKeyed is how many entries an index numbers.
const maxKeyed = 1<<32 - 2

// keySpan is how many keys are read at a time.
const keySpan = 64 << 10

// readKeys reads the key fields of entries [lo, hi) side by side. Its memory is that of a
// short span, and gone at once.
func readKeys(ctx context.Context, r tableReader, t table, want []int, lo, hi int64, pool *shardify.Pool, dst []uint64) ([]uint64, error) {
	mem := pool.Overdraft()
	defer mem.Release()
	cols := make([]*shardify.Column, len(want))
	for i, k := range want {
		cols[i] = &shardify.Column{Field: t.fields()[k].Field}
	}
	if err := r.read(ctx, lo, hi, mem, cols); err != nil {
		return dst, shardify.Annotate(err, "read", "", t.path())
	}
	n := int(hi - lo)
	from := len(dst)
	dst = append(dst, make([]uint64, n*len(want))...)
	v := mem.Int64s(n)
	for i, c := range cols {
		if len(c.Data) != n*c.DType.Size() {
			return dst, shardify.Corrupt(-1, "%d bytes of keys for %d entries", len(c.Data), n)
		}
		numeric.Convert(shardify.Bytes(v), shardify.I64, c.Data, c.DType)
		for k, x := range v {
			dst[from+k*len(want)+i] = uint64(x)
		}
	}
	return dst, nil
}

// build reads all keys of the friend. Two entries with one key are an error.
func (k *keyed) build(ctx context.Context) error {
	x := k.index
	x.mu.Lock() // its maker does not wait for others
	defer x.mu.Unlock()
	if x.done {
		return nil
	}
	x.width, x.wide, x.keys = len(k.friend), nil, nil
	if err := k.fillIndex(ctx, x); err != nil {
		x.keys, x.slots = nil, nil
		return err
	}
	x.done = true
	return nil
}

func (k *keyed) fillIndex(ctx context.Context, x *keyIndex) error {
	n := k.table.entries()
	if n > maxKeyed {
		return shardify.Unsupported("%s has %d entries, --on joins at most %d", k.path, n, int64(maxKeyed))
	}
	x.seed = maphash.MakeSeed()
	for _, i := range k.friend {
		x.wide = append(x.wide, k.table.fields()[i].DType == shardify.U64)
	}
	r := k.table.reader(k.friend)
	defer r.close()
	pool := shardify.NewPool(1 << 20)
	for lo := int64(0); lo < n; lo += keySpan {
		var err error
		if x.keys, err = readKeys(ctx, r, k.table, k.friend, lo, min(lo+keySpan, n), pool, x.keys); err != nil {
			return err
		}
	}
	x.slots = make([]uint32, n+n/2+1)
	for e := range n {
		key := x.key(e)
		at, old := x.find(key)
		if old >= 0 {
			return shardify.Annotate(shardify.Mismatch("entries %d and %d of friend %s have the key %s: which of them belongs to it is unknown", old, e, k.path, k.say(key, x.wide)), "open", "", "")
		}
		x.slots[at] = uint32(e + 1)
	}
	return nil
}

// heldBy reports whether it is this reader that counts the memory of the index, which several
// may use.
func (x *keyIndex) heldBy(r *keyedReader) bool {
	return x.holder.CompareAndSwap(nil, r) || x.holder.Load() == r
}

// letGo has another reader count it.
func (x *keyIndex) letGo(r *keyedReader) { x.holder.CompareAndSwap(r, nil) }

func (x *keyIndex) key(entry int64) []uint64 {
	return x.keys[entry*int64(x.width) : (entry+1)*int64(x.width)]
}

// find returns the slot of a key and its entry, or the slot where it would be and -1.
func (x *keyIndex) find(key []uint64) (slot int, entry int64) {
	h, _ := bits.Mul64(maphash.Bytes(x.seed, shardify.Bytes(key)), uint64(len(x.slots)))
	for at := int(h); ; {
		e := int64(x.slots[at]) - 1
		if e < 0 || equalKeys(x.key(e), key) {
			return at, e
		}
		if at++; at == len(x.slots) {
			at = 0
		}
	}
}

func equalKeys(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// say writes a key: "run=1, event=17".
func (k *keyed) say(key []uint64, wide []bool) string {
	var parts []string
	for i, v := range key {
		if wide[i] {
			parts = append(parts, fmt.Sprintf("%s=%d", k.names[i], v))
		} else {
			parts = append(parts, fmt.Sprintf("%s=%d", k.names[i], int64(v)))
		}
	}
	return strings.Join(parts, ", ")
}

// mainWide returns which keys of the main table are u64.
func (k *keyed) mainWide(main table) []bool {
	var wide []bool
	for _, i := range k.main {
		wide = append(wide, main.fields()[i].DType == shardify.U64)
	}
	return wide
}

// lookup finds the friend's entries of keys of the main table; -1 for a key without one.
func (k *keyed) lookup(keys []uint64, wide []bool, first int64, rows []int64) ([]int64, error) {
	w := len(k.names)
	for at := 0; at < len(keys); at += w {
		key, e := keys[at:at+w], int64(-1)
		if !k.beyond(key, wide) {
			_, e = k.index.find(key)
		}
		if e < 0 && !k.fill {
			err := shardify.Mismatch("friend %s has no entry with the key %s; --unmatched fill makes its fields missing there", k.path, k.say(key, wide))
			err.Sample = first + int64(at/w)
			return rows, err
		}
		rows = append(rows, e)
	}
	return rows, nil
}

// beyond reports whether a part of a key is a number that the friend's type does not hold: a
// negative one, or one beyond i64, where only one side is u64.
func (k *keyed) beyond(key []uint64, wide []bool) bool {
	for i, v := range key {
		if int64(v) < 0 && wide[i] != k.index.wide[i] {
			return true
		}
	}
	return false
}

// check reads all keys of the main table when the plan is made: what is missing or there
// twice is found before anything is written.
func (k *keyed) check(ctx context.Context, main table) error {
	if err := k.build(ctx); err != nil {
		return err
	}
	r := main.reader(k.main)
	defer r.close()
	pool := shardify.NewPool(1 << 20)
	used := make([]uint64, k.table.entries()/64+1)
	wide := k.mainWide(main)
	var keys []uint64
	var rows []int64
	for lo := int64(0); lo < main.entries(); lo += keySpan {
		var err error
		if keys, err = readKeys(ctx, r, main, k.main, lo, min(lo+keySpan, main.entries()), pool, keys[:0]); err != nil {
			return err
		}
		if rows, err = k.lookup(keys, wide, lo, rows[:0]); err != nil {
			return shardify.Annotate(err, "open", "", main.path())
		}
		for i, e := range rows {
			if e < 0 || k.repeat {
				continue
			}
			if used[e/64]>>(e%64)&1 != 0 {
				w := len(k.names)
				err := shardify.Mismatch("an entry before has the key %s, too; --repeated allow gives both the same entry of friend %s", k.say(keys[i*w:(i+1)*w], wide), k.path)
				err.Sample = lo + int64(i)
				return shardify.Annotate(err, "open", "", main.path())
			}
			used[e/64] |= 1 << (e % 64)
		}
	}
	return nil
}
