package entries

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/lmdb/mdb"
)

// Walker finds the entries of samples. One goroutine uses it.
type Walker struct {
	*mdb.Cursor
	f    *mdb.File
	p    *Plan
	next int64 // the sample that it is before, in tree order; -1 for nowhere
	key  []byte
}

// NewWalker walks through a database that is still in the state that the plan is of.
func (p *Plan) NewWalker(f *mdb.File) (*Walker, error) {
	if f.Txn() != p.Txn {
		return nil, mdb.Changed(p.Txn, f.Txn())
	}
	t, err := p.tree(f)
	if err != nil {
		return nil, err
	}
	return &Walker{Cursor: f.Cursor(t), f: f, p: p, next: -1}, nil
}

// Unchanged returns an error if a writer has committed since.
func (w *Walker) Unchanged() error { return w.f.Unchanged() }

// Number is that of a sample, where its keys are numbers.
func (w *Walker) Number(sample int64) int64 {
	if w.p.numbers != nil {
		return w.p.numbers[sample]
	}
	return w.p.First + sample
}

// To goes to an entry of a sample.
func (w *Walker) To(sample int64, part int) error {
	if sample >= w.p.Samples() {
		return errState
	}
	if w.p.Order == numeric {
		w.key = w.p.Parts[part].append(w.key[:0], w.Number(sample))
		ok, err := w.Find(w.key)
		if err == nil && !ok {
			err = fmt.Errorf("%w: there is no key %s", shardify.ErrChanged, w.key)
		}
		return err
	}
	if w.next < 0 || sample < w.next || sample > w.next && w.piece(sample) != w.piece(w.next) {
		k := w.piece(sample)
		w.next = -1
		if err := w.Seek(w.p.places[k]); err != nil {
			return err
		}
		w.next = w.p.rows[k]
	}
	for w.next <= sample {
		if !w.Next() {
			w.next = -1
			if err := w.Err(); err != nil {
				return err
			}
			return fmt.Errorf("%w: there are fewer entries than there were", shardify.ErrChanged)
		}
		if w.p.Integer > 0 || !About(w.Key) {
			w.next++
		}
	}
	return nil
}

// piece is the one that has a sample.
func (w *Walker) piece(sample int64) int {
	k, found := slices.BinarySearch(w.p.rows, sample)
	if !found {
		k--
	}
	return min(k, len(w.p.places)-1)
}

// Describe names the entry that it is at.
func (w *Walker) Describe() string {
	if w.p.Integer > 0 {
		return fmt.Sprintf("entry of the key %d", Int(w.Key))
	}
	return fmt.Sprintf("entry of the key %.80q", w.Key)
}

// Int is a key of 4 or 8 bytes.
func Int(key []byte) (v uint64) {
	for i := len(key) - 1; i >= 0; i-- {
		v = v<<8 | uint64(key[i])
	}
	return v
}
