package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// MmapShard is the header of one of our own shards: the tensors of its Layout,
// one for one, with their places in the file.
type MmapShard struct {
	*Layout
	HeaderBytes int64 // where this file's data begin
	Samples     int64
	// By tensor, as Layout.Tensors: places in the file, first dimensions, and
	// the stored CRC-32C of the bytes.
	Places []Tensor
	Counts []int64
	CRC32C []uint32
	file   *Safetensors
}

// Tensor returns the tensor of a name, or nil. It looks at all of them.
func (s *MmapShard) Tensor(name string) *Tensor { return s.file.Tensor(name) }

// ParseShard reads the header of an mmap shard of size bytes and checks
// everything that docs/reference/format.md says about it, short of the tensors' contents
// (CheckTensor).
func ParseShard(r io.ReaderAt, size int64) (*MmapShard, error) {
	head, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	return parseShard(head, size)
}

// OpenShard is ParseShard of a file of size bytes that a manifest describes: it
// holds size, digest and samples against the record too, the digest before
// anything else in the header is believed.
func OpenShard(r io.ReaderAt, size int64, record *shardify.Shard) (*MmapShard, error) {
	if size != record.Bytes {
		return nil, shardify.Corrupt(-1, "bytes: the manifest says %d, the file has %d", record.Bytes, size)
	}
	head, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	if d := DigestOf(head); d != record.Digest {
		return nil, shardify.Corrupt(0, "digest: the manifest says %s, the header has %s", record.Digest, d)
	}
	s, err := parseShard(head, size)
	if err == nil && s.Samples != record.Samples {
		return nil, shardify.Corrupt(-1, "samples: the manifest says %d, the header %d", record.Samples, s.Samples)
	}
	return s, err
}

func parseShard(head []byte, size int64) (*MmapShard, error) {
	st, err := parseSafetensors(head, size)
	if err != nil {
		return nil, err
	}
	s := &MmapShard{file: st, HeaderBytes: st.HeaderBytes, Places: st.Tensors}
	if err := s.parseMetadata(); err != nil {
		return nil, err
	}
	for _, check := range []func() error{s.checkText, s.checkTensors, s.checkCounts, s.parseSums} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *MmapShard) parseMetadata() error {
	has, ok := s.file.Metadata[metaVersion]
	switch {
	case !ok:
		return shardify.Unsupported("no shardify in its %s: a safetensors file, but not a shard", metaName)
	case has != strconv.Itoa(version):
		return shardify.Unsupported("version %.20q of the layout; this program reads version %d", has, version)
	}
	text := s.file.Metadata[metaSamples]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n == math.MaxInt64 || strconv.FormatInt(n, 10) != text {
		return shardify.Corrupt(-1, "%s is %.30q", metaSamples, text)
	}
	s.Samples = n
	schema, err := s.parseSchema()
	if err != nil {
		return shardify.Corrupt(-1, "%s: %v", metaSchema, err)
	}
	keyed := s.Tensor(KeyName+suffixValues) != nil
	if s.Layout, err = NewLayout(schema, keyed); err != nil {
		return shardify.Corrupt(-1, "%s: %v", metaSchema, err)
	}
	return nil
}

// parseSchema reads the fields one by one: each has a tensor, so there are no more
// of them, whatever the text claims.
func (s *MmapShard) parseSchema() (schema []shardify.Field, err error) {
	text := s.file.Metadata[metaSchema]
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%d bytes; at most %d are read", len(text), maxSchema)
	}
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("no list: %v", err)
	}
	for d.More() {
		if len(schema) == len(s.Places) {
			return nil, fmt.Errorf("more fields than the %d tensors", len(s.Places))
		}
		var f shardify.Field
		if err := d.Decode(&f); err != nil {
			return nil, err
		}
		schema = append(schema, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something after the list")
	}
	return schema, nil
}

// checkText checks padding and order of the header's text.
func (s *MmapShard) checkText() error {
	pad := bytes.TrimRight(s.file.header[lengthBytes:], " ")
	switch {
	case s.HeaderBytes%page != 0:
		return shardify.Corrupt(0, "data begin at byte %d, no multiple of %d", s.HeaderBytes, page)
	case pad[len(pad)-1] != '}':
		return shardify.Corrupt(int64(lengthBytes+len(pad)), "header is not padded with spaces")
	case !s.file.ordered:
		return shardify.Corrupt(-1, "header does not list its tensors in data order")
	}
	return nil
}

// checkTensors holds the tensors against the layout of the schema.
func (s *MmapShard) checkTensors() error {
	have, want := s.Places, s.Tensors
	for i := range min(len(have), len(want)) {
		if err := sameTensor(&have[i], &want[i]); err != nil {
			return err
		}
		s.Counts = append(s.Counts, have[i].Shape[0])
	}
	if len(have) != len(want) {
		return shardify.Corrupt(-1, "%d tensors, the schema has %d", len(have), len(want))
	}
	return nil
}

func sameTensor(have *Tensor, want *TensorSpec) error {
	if have.Name != want.Name {
		return shardify.Corrupt(-1, "tensor %q where the schema has %q", have.Name, want.Name)
	}
	same := have.Type == want.DType.Tensor() && len(have.Shape) == 1+len(want.Inner)
	for i := 0; same && i < len(want.Inner); i++ {
		same = have.Shape[1+i] == int64(want.Inner[i])
	}
	if !same {
		return shardify.Corrupt(-1, "tensor %q is %s %v, the schema has %s of %v", have.Name, have.Type, have.Shape, want.DType.Tensor(), want.Inner)
	}
	return nil
}

// checkCounts: first dimensions that must be equal are.
func (s *MmapShard) checkCounts() error {
	for i, n := range s.Counts {
		t := &s.Tensors[i]
		if s.Known(i) && n != s.Count(i, s.Samples) || t.Lead == LeadLists && n < 1 {
			return shardify.Corrupt(-1, "tensor %q has %d rows in a shard of %d samples", t.Name, n, s.Samples)
		}
	}
	for i := range s.Columns {
		a := &s.Columns[i]
		if a.Offsets < 0 {
			continue
		}
		if s.Samples == 0 && s.Items(a) != 0 {
			return shardify.Corrupt(-1, "tensor %q has rows, but there are no samples", s.Tensors[a.Values].Name)
		}
		if b := s.ColumnOf(a.Offsets); s.Items(b) != s.Items(a) {
			return shardify.Corrupt(-1, "fields %s and %s share offsets, but have %d and %d items",
				s.Schema[i].Name, s.Tensors[b.Values].Name, s.Items(a), s.Items(b))
		}
	}
	return nil
}

// Items is what a column's Offsets count: lists of a two-level column, elements
// of a jagged one.
func (s *MmapShard) Items(c *ColumnTensors) int64 {
	if c.Offsets1 >= 0 {
		return s.Counts[c.Offsets1] - 1
	}
	return s.Counts[c.Values]
}

func (s *MmapShard) parseSums() error {
	p := scanner{b: []byte(s.file.Metadata[metaCRC32C])}
	err := p.object(func(name string) error {
		text, err := p.string()
		if err != nil {
			return err
		}
		i := len(s.CRC32C)
		if i == len(s.Tensors) || s.Tensors[i].Name != name {
			return p.fail("entry %q where another tensor comes", name)
		}
		sum, err := strconv.ParseUint(text, 16, 32)
		if err != nil || len(text) != 8 || !isHex(text) {
			return p.fail("tensor %q has sum %.20q", name, text)
		}
		s.CRC32C = append(s.CRC32C, uint32(sum))
		return nil
	})
	if p.peek(); err == nil && (p.pos != len(p.b) || len(s.CRC32C) != len(s.Tensors)) {
		err = p.fail("%d sums for %d tensors", len(s.CRC32C), len(s.Tensors))
	}
	if e, ok := err.(*shardify.Error); ok { // an offset in this text is not one in the file
		return shardify.Corrupt(-1, "%s at %d: %v", metaCRC32C, e.Offset, e.Err)
	}
	return err
}
