package arrow

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/flatbuf"
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
	meta  int64 // bytes of the flatbuffer and of what comes before it
	body  int64 // bytes
	rows  int64
	first int64 // row
	dict  int64 // id of a dictionary
	delta bool
	dicts int // how many dictionaries come before a batch
	kind  byte

	fields []field // of a schema
	attrs  map[string]string
}

// file is an open file; the readers of a source share it.
type file struct {
	storage.File
	fields  []field
	meta    map[string]string // of the schema
	batches []message
	dicts   []message
	rows    int64
	unended bool // a stream without its end mark

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
	if err := f.checkDictionaries(); err != nil {
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
	schema := r.Ref(foot, 1)
	if schema == 0 || r.Bad {
		return shardify.Corrupt(off, "the footer contradicts itself")
	}
	if f.fields, f.meta, err = parseSchema(r, schema); err != nil {
		return err
	}
	lo, err := f.front(r, foot, off)
	if err != nil {
		return err
	}
	all := map[int64]message{}
	err = f.walk(ctx, lo, off, func(m message) error {
		if m.kind == isSchema {
			return f.agree(m.off, m.fields)
		}
		if all[m.off] = m; len(all) > maxBatches {
			return errBatches
		}
		return nil
	})
	if err != nil && err != errEnd {
		return err
	}
	if err := f.blocks(r, foot, 2, isDictionary, all); err != nil {
		return err
	}
	if err := f.blocks(r, foot, 3, isBatch, all); err != nil {
		return err
	}
	if r.Bad {
		return shardify.Corrupt(off, "the footer contradicts itself")
	}
	for at := range all {
		return shardify.Corrupt(off, "%d batches or dictionaries that the footer does not name, one of them at byte %d", len(all), at)
	}
	return nil
}

// agree refuses a schema in front of the batches that is not the footer's. Its metadata may differ:
// some writers get theirs when they close the file.
func (f *file) agree(off int64, fields []field) error {
	if !reflect.DeepEqual(fields, f.fields) {
		return shardify.Corrupt(off, "the schema in front of the batches is not that of the footer")
	}
	return nil
}

// front is where the messages of a file begin. Polars writes the schema in front of them without
// a head: so they begin at the first that the footer names, and there is no room for others.
func (f *file) front(r *flatbuf.Buf, foot int, end int64) (int64, error) {
	const at = 8
	head, err := f.at(at, 4)
	if err != nil || binary.LittleEndian.Uint32(head) == marker {
		return at, err
	}
	first := end
	for _, slot := range []int{2, 3} {
		p, count := r.Structs(foot, slot, 24)
		for i := range count {
			first = min(first, r.I64(p+24*i))
		}
	}
	if first < at || first-at > int64(len(r.B))+128 { // the footer has the same schema
		return 0, shardify.Corrupt(at, "%d bytes in front of the first batch of the footer, which has %d", first-at, len(r.B))
	}
	b, err := f.at(at, first-at)
	if err != nil {
		return 0, err
	}
	for i := 0; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint32(b[i:]) == marker && binary.LittleEndian.Uint32(b[i+4:]) > 0 {
			return 0, shardify.Corrupt(at+int64(i), "a message that the footer does not name")
		}
	}
	bare := message{off: at}
	s, schema, err := f.parse(&bare, b)
	if err == nil && bare.kind != isSchema {
		err = shardify.Corrupt(at, "no schema in front of the batches")
	}
	if err == nil {
		err = f.schema(&bare, s, schema)
	}
	if err == nil {
		err = f.agree(at, bare.fields)
	}
	return first, err
}

// blocks takes the messages that a list of the footer names out of all that there are.
func (f *file) blocks(r *flatbuf.Buf, foot, slot int, want byte, all map[int64]message) error {
	at, count := r.Structs(foot, slot, 24)
	for i := range count {
		off := r.I64(at + 24*i)
		m, ok := all[off]
		switch {
		case !ok:
			return shardify.Corrupt(off, "no message, where the footer names one")
		case m.kind != want:
			return shardify.Corrupt(off, "a message of kind %d, where the footer has one of kind %d", m.kind, want)
		case m.meta != int64(r.I32(at+24*i+8)) || m.body != r.I64(at+24*i+16):
			return shardify.Corrupt(off, "a message of %d and %d bytes, where the footer has one of %d and %d", m.meta, m.body, r.I32(at+24*i+8), r.I64(at+24*i+16))
		}
		delete(all, off)
		f.note(m)
	}
	return nil
}

// stream goes from message to message.
func (f *file) stream(ctx context.Context) error {
	end := int64(0)
	err := f.walk(ctx, 0, f.Size(), func(m message) error {
		end = m.off + m.meta + m.body
		if len(f.batches)+len(f.dicts) > maxBatches {
			return errBatches
		}
		switch {
		case m.kind != isSchema && f.fields == nil:
			return shardify.Corrupt(m.off, "no schema before the first batch")
		case m.kind != isSchema:
			f.note(m)
		case f.fields != nil:
			return shardify.Corrupt(m.off, "a second schema")
		default:
			f.fields, f.meta = m.fields, m.attrs
		}
		return nil
	})
	if err == errEnd {
		return f.behind(end + 8)
	}
	if err == nil && f.fields == nil {
		err = shardify.Corrupt(0, "no schema")
	}
	f.unended = true
	return err
}

// behindStep is how many bytes are looked at together.
const behindStep = 64 << 10

// behind refuses bytes after the end mark of a stream, except zeros.
func (f *file) behind(end int64) error {
	if f.fields == nil {
		return shardify.Corrupt(0, "no schema")
	}
	if end >= f.Size() {
		return nil
	}
	for at := end; ; at += behindStep {
		if at >= f.Size() {
			return nil
		}
		b, err := f.at(at, min(behindStep, f.Size()-at))
		if err != nil {
			return err
		}
		if len(bytes.Trim(b, "\x00")) > 0 {
			break
		}
	}
	e := shardify.Corrupt(end, "%d bytes behind the end mark of the stream, as where streams were put together", f.Size()-end)
	return shardify.Hint(e, fmt.Sprintf("head -c %d FILE > NEW.arrows keeps the first stream", end))
}

// walk goes from message to message in [lo, hi). It returns errEnd at an end mark.
func (f *file) walk(ctx context.Context, lo, hi int64, each func(m message) error) error {
	for off := lo; off < hi; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := f.message(off)
		if err == nil && m.meta+m.body > hi-off {
			err = shardify.Corrupt(off, "a message that goes beyond the end")
		}
		if err == nil {
			err = each(m)
		}
		if err != nil {
			return err
		}
		off += m.meta + m.body
	}
	return nil
}

var (
	errEnd     = shardify.Corrupt(-1, "the end of a stream")
	errBatches = shardify.Unsupported("more than %d batches", maxBatches)
)

// note adds a dictionary or a batch.
func (f *file) note(m message) {
	if m.kind == isDictionary {
		f.dicts = append(f.dicts, m)
		return
	}
	m.dicts = len(f.dicts)
	f.batches = append(f.batches, m)
}

// message reads the head of a message.
func (f *file) message(off int64) (m message, err error) {
	head, err := f.at(off, 8)
	if err != nil {
		return m, err
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[4:])))
	if binary.LittleEndian.Uint32(head) != marker || n < 0 {
		return m, shardify.Corrupt(off, "no message of Arrow (streams from before version 0.15 are not read)")
	}
	if n == 0 {
		return m, errEnd
	}
	m.off, m.meta = off, 8+n
	r, header, err := f.header(&m)
	if err != nil {
		return m, err
	}
	batch := header
	switch m.kind {
	case isSchema:
		err = f.schema(&m, r, header)
		return m, err
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
		return m, shardify.Corrupt(off, "a message of kind %d", m.kind)
	}
	if at := r.Slot(batch, 0); batch > 0 && at > 0 {
		m.rows = r.I64(at)
	}
	if r.Bad || batch == 0 || m.rows < 0 {
		return m, shardify.Corrupt(off, "a batch that contradicts itself")
	}
	return m, nil
}

// schema reads the schema of a message.
func (f *file) schema(m *message, r *flatbuf.Buf, header int) (err error) {
	if m.body > 0 {
		return shardify.Corrupt(m.off, "a schema with %d bytes of data", m.body)
	}
	if m.fields, m.attrs, err = parseSchema(r, header); err != nil {
		err = shardify.Amend(err, func(e *shardify.Error) { e.Offset = m.off })
	}
	return err
}

// header reads the flatbuffer of a message, and finds what it is about.
func (f *file) header(m *message) (r *flatbuf.Buf, header int, err error) {
	b, err := f.at(m.off+8, m.meta-8)
	if err != nil {
		return nil, 0, err
	}
	return f.parse(m, b)
}

// parse is header, of bytes that were read.
func (f *file) parse(m *message, b []byte) (r *flatbuf.Buf, header int, err error) {
	r = &flatbuf.Buf{B: b, Left: maxTables}
	msg := r.Follow(0)
	if at := r.Slot(msg, 1); at > 0 {
		m.kind = r.U8(at)
	}
	if at := r.Slot(msg, 3); at > 0 {
		m.body = r.I64(at)
	}
	header = r.Ref(msg, 2)
	if r.Bad || header == 0 || m.body < 0 || m.body > f.Size()-m.off-m.meta {
		return nil, 0, shardify.Corrupt(m.off, "a message that contradicts itself, or whose body is beyond the end")
	}
	return r, header, nil
}

// parseSchema reads a schema.
func parseSchema(r *flatbuf.Buf, table int) ([]field, map[string]string, error) {
	if at := r.Slot(table, 0); at > 0 && r.U16(at) != 0 {
		return nil, nil, shardify.Unsupported("big-endian data")
	}
	fields, attrs := parseFields(r, table, 1, 0), map[string]string{}
	for _, kv := range r.List(table, 2) {
		attrs[r.Text(kv, 0)] = r.Text(kv, 1)
	}
	if r.Bad {
		return nil, nil, shardify.Corrupt(-1, "the schema contradicts itself")
	}
	if fields == nil {
		fields = []field{}
	}
	return fields, attrs, nil
}

// checkDictionaries refuses dictionaries of which no field has values.
func (f *file) checkDictionaries() error {
	known := map[int64]bool{}
	var walk func(all []field)
	walk = func(all []field) {
		for i := range all {
			if d := all[i].dict; d != nil {
				known[d.id] = true
			}
			walk(all[i].children)
		}
	}
	walk(f.fields)
	for i := range f.dicts {
		if m := &f.dicts[i]; !known[m.dict] {
			return shardify.Corrupt(m.off, "a dictionary of number %d, which no field has", m.dict)
		}
	}
	return nil
}
