package tfrecord

import (
	"github.com/shardify/shardify"
)

// maxKeys bounds the different keys of a file: more of them are data.
const maxKeys = 10000

// maxKey is the longest key: a longer one is data.
const maxKey = 4096

// Slot is what a record has under a key.
type Slot struct {
	Key   string
	Value []byte // a message
	seen  int64  // the record that it is of
}

// Table finds the entries of records by their keys. Records mostly have the same keys in the same
// order, which costs no look-up. The zero value is an empty table.
type Table struct {
	Slots []Slot
	byKey map[string]int
	order []int // by place in the record before
	now   int64
}

// Find returns the slot of a key. It makes a slot for a new key.
func (t *Table) Find(key []byte) (int, error) {
	i, ok := t.byKey[string(key)]
	if ok {
		return i, nil
	}
	if err := CheckKey(key); err != nil {
		return 0, err
	}
	if len(key) > maxKey {
		return 0, shardify.Unsupported("the key of a feature has %d bytes (%.40q...): are the keys data?", len(key), key)
	}
	if i = len(t.Slots); i >= maxKeys {
		return 0, shardify.Unsupported("more than %d different features: are the keys data?", maxKeys)
	}
	if t.byKey == nil {
		t.byKey = map[string]int{}
	}
	t.byKey[string(key)] = i
	t.Slots = append(t.Slots, Slot{Key: string(key), seen: -1})
	return i, nil
}

// Take makes the entries of the next record those of the table.
func (t *Table) Take(all []Entry) error {
	t.now++
	for n, e := range all {
		if n >= len(t.order) {
			t.order = append(t.order, 0)
		}
		i := t.order[n]
		if i >= len(t.Slots) || !equal(t.Slots[i].Key, e.Key) {
			var err error
			if i, err = t.Find(e.Key); err != nil {
				return err
			}
			t.order[n] = i
		}
		t.Slots[i].Value, t.Slots[i].seen = e.Value, t.now
	}
	t.order = t.order[:min(len(t.order), maxKeys)]
	return nil
}

func equal(key string, b []byte) bool { return key == string(b) }

// Has reports whether the record has an entry in a slot.
func (t *Table) Has(i int) bool { return t.Slots[i].seen == t.now }
