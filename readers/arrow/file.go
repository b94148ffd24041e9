package arrow

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/flatbuf"
	"github.com/shardify/shardify/storage"
)

const (
	magic      = "ARROW1"
	maxMeta    = 64 << 20
	maxTables  = 1 << 20
	maxBatches = 1 << 24
	marker     = 0xffffffff
)

// The kinds of messages.
const (
	isSchema     = 1
	isDictionary = 2
	isBatch      = 3
)

// message is where a dictionary or a batch is.
type message struct {
	off   int64 // of the marker
	meta  int64 // bytes of the flatbuffer and what stands before it
	body  int64 // bytes
	rows  int64
	first int64 // row
	dict  int64 // id of a dictionary
	delta bool
	dicts int // how many dictionaries stand before a batch
}

// file is an open file; the readers of a source share it.
type file struct {
	storage.File
	fields  []field
	meta    map[string]string // of the schema
	batches []message
	dicts   []message
	rows    int64

	mu     sync.Mutex
	byID   map[int64][]int // places in dicts
	values map[dictKey]*dictValues
}

// Unwrap is the file below.
func (f *file) Unwrap() any { return f.File }

// openFile finds all batches of a file or stream.
func openFile(ctx context.Context, s storage.File) (*file, error) {
	f := &file{File: s, values: map[dictKey]*dictValues{}}
	head := make([]byte, 8)
	n, err := s.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch head = head[:n]; {
	case n >= 4 && string(head[:4]) == "FEA1":
		return nil, shardify.Hint(shardify.Unsupported("Feather of version 1"), `in Python: pandas.read_feather("x.feather").to_feather("y.feather") writes version 2`)
	case n >= 6 && string(head[:6]) == magic:
		err = f.footer(ctx)
	default:
		err = f.stream(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i := range f.batches {
		f.batches[i].first = f.rows
		if f.rows += f.batches[i].rows; f.rows > 1<<50 {
			return nil, shardify.Corrupt(f.batches[i].off, "claims %d rows", f.rows)
		}
	}
	return f, nil
}

// at reads n bytes of metadata.
func (f *file) at(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || n > maxMeta || off > f.Size()-n {
		return nil, shardify.Corrupt(off, "%d bytes of metadata beyond the end", n)
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, off); err != nil {
		return nil, short(err, off)
	}
	return b, nil
}

// short is the error of a read that found less than there was to be.
func short(err error, off int64) error {
	if err == io.EOF {
		return shardify.Corrupt(off, "the file ends early")
	}
	return err
}

func (f *file) footer(ctx context.Context) error {
	if f.Size() < 22 {
		return shardify.Corrupt(f.Size(), "the file ends early")
	}
	end, err := f.at(f.Size()-10, 10)
	if err != nil {
		return err
	}
	n := int64(int32(binary.LittleEndian.Uint32(end)))
	if string(end[4:]) != magic || n <= 8 || n > f.Size()-18 {
		return shardify.Corrupt(f.Size()-10, "no footer: the file was not written to its end")
	}
	off := f.Size() - 10 - n
	b, err := f.at(off, n)
	if err != nil {
		return err
	}
	r := &flatbuf.Buf{B: b, Left: maxTables}
	foot := r.Follow(0)
	if schema := r.Ref(foot, 1); schema > 0 {
		if err := f.schema(r, schema); err != nil {
			return err
		}
	}
	if err := f.blocks(ctx, r, foot, 2, isDictionary); err != nil {
		return err
	}
	if err := f.blocks(ctx, r, foot, 3, isBatch); err != nil {
		return err
	}
	if r.Bad || f.fields == nil {
		return shardify.Corrupt(off, "the footer contradicts itself")
	}
	return nil
}

// blocks notes the messages that a list of the footer names.
func (f *file) blocks(ctx context.Context, r *flatbuf.Buf, foot, slot int, want byte) error {
	at, count := r.Structs(foot, slot, 24)
	for i := range count {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		off := r.I64(at + 24*i)
		m, kind, err := f.message(off)
		if err == nil && kind != want {
			err = shardify.Corrupt(off, "a message of kind %d, where the footer has one of kind %d", kind, want)
		}
		if err == nil {
			err = f.note(m, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stream goes from message to message.
func (f *file) stream(ctx context.Context) error {
	for off := int64(0); off < f.Size(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, kind, err := f.message(off)
		if errors.Is(err, errEnd) {
			break
		}
		if err == nil && kind != isSchema {
			if f.fields == nil {
				return shardify.Corrupt(off, "no schema before the first batch")
			}
			err = f.note(m, kind)
		}
		if err != nil {
			return err
		}
		off += m.meta + m.body
	}
	if f.fields == nil {
		return shardify.Corrupt(0, "no schema")
	}
	return nil
}

var errEnd = shardify.Corrupt(-1, "the end of a stream")

// note adds a dictionary or a batch.
func (f *file) note(m message, kind byte) error {
	if len(f.batches)+len(f.dicts) > maxBatches {
		return shardify.Unsupported("more than %d batches", maxBatches)
	}
	if kind == isDictionary {
		f.dicts = append(f.dicts, m)
		return nil
	}
	m.dicts = len(f.dicts)
	f.batches = append(f.batches, m)
	return nil
}

// message reads the head of a message. A schema it takes in.
func (f *file) message(off int64) (m message, kind byte, err error) {
	head, err := f.at(off, 8)
	if err != nil {
		return m, 0, err
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[4:])))
	if binary.LittleEndian.Uint32(head) != marker || n < 0 {
		return m, 0, shardify.Corrupt(off, "no message of Arrow (streams from before version 0.15 are not read)")
	}
	if n == 0 {
		return m, 0, errEnd
	}
	m.off, m.meta = off, 8+n
	r, header, kind, err := f.header(&m)
	if err != nil {
		return m, 0, err
	}
	batch := header
	switch kind {
	case isSchema:
		if f.fields == nil {
			err = f.schema(r, header)
		}
		return m, kind, err
	case isDictionary:
		if at := r.Slot(header, 0); at > 0 {
			m.dict = r.I64(at)
		}
		if at := r.Slot(header, 2); at > 0 {
			m.delta = r.U8(at) != 0
		}
		batch = r.Ref(header, 1)
	case isBatch:
	default:
		return m, 0, shardify.Unsupported("messages of kind %d", kind)
	}
	if at := r.Slot(batch, 0); batch > 0 && at > 0 {
		m.rows = r.I64(at)
	}
	if r.Bad || batch == 0 || m.rows < 0 {
		return m, 0, shardify.Corrupt(off, "a batch that contradicts itself")
	}
	return m, kind, nil
}

// header reads the flatbuffer of a message, and finds what it is about.
func (f *file) header(m *message) (r *flatbuf.Buf, header int, kind byte, err error) {
	b, err := f.at(m.off+8, m.meta-8)
	if err != nil {
		return nil, 0, 0, err
	}
	r = &flatbuf.Buf{B: b, Left: maxTables}
	msg := r.Follow(0)
	if at := r.Slot(msg, 1); at > 0 {
		kind = r.U8(at)
	}
	if at := r.Slot(msg, 3); at > 0 {
		m.body = r.I64(at)
	}
	header = r.Ref(msg, 2)
	if r.Bad || header == 0 || m.body < 0 || m.body > f.Size()-m.off-m.meta {
		return nil, 0, 0, shardify.Corrupt(m.off, "a message that contradicts itself, or whose body is beyond the end")
	}
	return r, header, kind, nil
}

// schema takes in a schema.
func (f *file) schema(r *flatbuf.Buf, table int) error {
	if at := r.Slot(table, 0); at > 0 && r.U16(at) != 0 {
		return shardify.Unsupported("big-endian data")
	}
	f.fields, f.meta = parseFields(r, table, 1, 0), map[string]string{}
	for _, kv := range r.List(table, 2) {
		f.meta[r.Text(kv, 0)] = r.Text(kv, 1)
	}
	if r.Bad {
		return shardify.Corrupt(-1, "the schema contradicts itself")
	}
	if f.fields == nil {
		f.fields = []field{}
	}
	return nil
}
