package lmdb

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/ase"
	"github.com/shardify/shardify/readers/lmdb/entries"
	"github.com/shardify/shardify/readers/lmdb/mdb"
	"github.com/shardify/shardify/readers/lmdb/msgpack"
	"github.com/shardify/shardify/readers/lmdb/values"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/storage"
)

// lookText surveys a file whose values become text.
func (s *source) lookText(ctx context.Context, f storage.File, _ string) (*made.Pieces, error) {
	p, _, err := s.plan(ctx, f, func(_, _ []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	if p.Samples() > 0 && len(p.Parts) > 1 {
		return nil, shardify.Mismatch("its keys are of another form than those of the first input")
	}
	state, err := p.Encode()
	if err != nil {
		return nil, err
	}
	if s.first() == values.Atoms {
		p.Left = append(p.Left, ase.Left...)
		if !p.Numbers() && slices.ContainsFunc(p.Left, func(l format.Leftover) bool { return l.Name == "nextid" }) {
			return nil, shardify.Corrupt(-1, "not all keys are numbers, as ASE's ids are")
		} else if !p.Numbers() {
			p.Left = append(p.Left, format.Leftover{Name: "key", Reason: "rows of ASE have an id, and these keys are no numbers"})
		}
	}
	kind, err := json.Marshal(s.kinds[0])
	return &made.Pieces{Rows: p.Rows(), State: made.Join(state, kind), Left: p.Left, Remark: p.Remark}, err
}

// openText begins to make text.
func (s *source) openText(_ context.Context, f storage.File, _ string, state []byte) (made.Maker, error) {
	first, kind, err := made.Cut(state)
	if err != nil {
		return nil, err
	}
	m := &maker{}
	if m.plan, err = entries.Decode(first); err != nil {
		return nil, err
	}
	if json.Unmarshal(kind, &m.kind) != nil {
		return nil, errState
	}
	db, err := mdb.Open(f, f.Size())
	if err != nil {
		return nil, err
	}
	m.walk, err = m.plan.NewWalker(db)
	return m, err
}

// maker makes the text of values.
type maker struct {
	plan  *entries.Plan
	kind  values.Kind
	walk  *entries.Walker
	plain []byte
}

// Close implements made.Maker.
func (m *maker) Close() error { return nil }

// Piece implements made.Maker.
func (m *maker) Piece(ctx context.Context, _ int, lo, hi int64, b []byte) ([]byte, error) {
	for n := lo; n < hi; n++ {
		if err := context.Cause(ctx); err != nil {
			return b, err
		}
		err := m.walk.To(n, 0)
		if err == nil {
			var v []byte
			if v, err = m.walk.Load(); err == nil {
				if b, err = m.record(b, v, n); err != nil {
					err = fmt.Errorf("%s: %w", m.walk.Describe(), err)
				}
			}
		}
		if err != nil {
			return b, shardify.Amend(err, func(e *shardify.Error) { e.Sample = n })
		}
	}
	return b, m.walk.Unchanged()
}

func (m *maker) record(b, v []byte, n int64) (_ []byte, err error) {
	if m.kind.Zlib {
		if m.plain, err = values.Unpack(m.plain[:0], v); err != nil {
			return b, err
		}
		v = m.plain
	}
	if m.kind.Is == values.Atoms {
		id := int64(-1)
		if m.plan.Numbers() {
			id = m.walk.Number(n)
		}
		return ase.Frame(b, id, v)
	}
	if m.kind.Is == values.Msgpack {
		if !msgpack.IsMap(v) {
			return b, shardify.Mismatch("the value is no map of MessagePack, as the first ones are")
		}
		if m.plain, err = msgpack.JSON(m.plain[:0], v); err != nil {
			return b, shardify.Corrupt(-1, "%v; --value-type bytes takes all", err)
		}
		v = m.plain
	}
	v = bytes.TrimSpace(v)
	if len(v) < 2 || v[0] != '{' {
		return b, shardify.Mismatch("the value is no JSON object, as the first ones are: %.20q; --value-type bytes takes all", v)
	}
	if bytes.ContainsAny(v, "\r\n") { // a record is a line
		if !json.Valid(v) {
			return b, shardify.Corrupt(-1, "not JSON: %.40q", v)
		}
		v = bytes.Clone(v)
		for i, c := range v {
			if c == '\n' || c == '\r' {
				v[i] = ' '
			}
		}
	}
	if m.plan.Keyed() {
		b = append(b, `{"key":`...)
		switch {
		case m.plan.Integer > 0:
			b = strconv.AppendUint(b, entries.Int(m.walk.Key), 10)
		case m.plan.Numbers():
			b = strconv.AppendInt(b, m.walk.Number(n), 10)
		default:
			key := string(m.walk.Key)
			if !utf8.Valid(m.walk.Key) {
				key = hex.EncodeToString(m.walk.Key)
			}
			t, err := json.Marshal(key)
			if err != nil {
				return b, err
			}
			b = append(b, t...)
		}
		if v = bytes.TrimLeft(v[1:], " \t"); v[0] != '}' {
			b = append(b, ',')
		}
	}
	return append(append(b, v...), '\n'), nil
}
