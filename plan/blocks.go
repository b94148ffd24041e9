package plan

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// Block is consecutive inputs.
type Block struct {
	files, samples, bytes int64 // decoded
	largest               int64 // bytes of the largest span
	shards, units         int
	names, spans          packed
	listed                string // digest of all that the block of names holds, times too
}

// packed is a block, and the digest of what it holds.
type packed struct {
	digest     string
	off, bytes int64
	plain      int64 // unpacked
}

// blob is a file of blocks.
type blob interface {
	io.ReaderAt
	io.Closer
}

// storedIn opens the blocks of a published plan.
func storedIn(s storage.Store) func() (blob, error) {
	return func() (blob, error) { return s.Open(FileName) }
}

// inMemory is a file of blocks in memory.
type inMemory struct{ b []byte }

func (m *inMemory) Write(b []byte) (int, error) {
	m.b = append(m.b, b...)
	return len(b), nil
}

func (m *inMemory) ReadAt(b []byte, off int64) (int, error) {
	if off > int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(b, m.b[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (m *inMemory) Size() int64         { return int64(len(m.b)) }
func (m *inMemory) Close() error        { return nil }
func (m *inMemory) open() (blob, error) { return m, nil }

// blockFile is where blocks are written before the plan is published.
type blockFile interface {
	io.Writer
	Size() int64
}

// blockWriter packs blocks.
type blockWriter struct {
	to   blockFile
	most int64 // bytes of a block
	enc  *zstd.Encoder

	content, plain, packed []byte // buffers
}

func newBlockWriter(to blockFile, most int64) (*blockWriter, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	return &blockWriter{to: to, most: most, enc: enc}, nil
}

func (w *blockWriter) close() error { return w.enc.Close() }

// names writes the names, sizes and times of a table.
func (w *blockWriter) names(t *format.Table, x *Block) error {
	w.content = appendNames(w.content[:0], t)
	x.names.digest = index.DigestOf(w.content)
	w.plain = append(binary.AppendUvarint(w.plain[:0], uint64(len(w.content))), w.content...)
	w.plain = appendTimes(w.plain, t)
	x.listed = index.DigestOf(w.plain)
	return w.store(w.plain, &x.names)
}

// spans writes what appendSpans has encoded.
func (w *blockWriter) spans(b []byte, x *Block) error {
	x.spans.digest = index.DigestOf(b)
	return w.store(b, &x.spans)
}

func (w *blockWriter) store(plain []byte, x *packed) error {
	if int64(len(plain)) > w.most {
		return shardify.Unsupported("a block of inputs whose names take %s", shardify.FormatSize(int64(len(plain))))
	}
	w.packed = w.enc.EncodeAll(plain, w.packed[:0])
	x.off, x.bytes, x.plain = w.to.Size(), int64(len(w.packed)), int64(len(plain))
	_, err := w.to.Write(w.packed)
	return err
}

// LargestSpan is the decoded bytes of the largest span.
func (p *Packing) LargestSpan() (n int64) {
	for i := range p.blocks {
		n = max(n, p.blocks[i].largest)
	}
	return n
}

// TableBytes is about what the tables of the inputs take while a plan is carried out.
func TableBytes(p *Plan) int64 {
	n := int64(p.In.Table.Len())*64 + int64(len(p.Pack.Spans))*48 + int64(len(p.In.State))
	if p.Pack.InParts() {
		n += 2 * p.Pack.BlockBytes()
	}
	return n
}

// BlockBytes is about what the largest block takes when it is open.
func (p *Packing) BlockBytes() (n int64) {
	const each = 8 // bytes for a byte of it
	for i := range p.blocks {
		n = max(n, each*(p.blocks[i].names.plain+p.blocks[i].spans.plain))
	}
	return n
}

// FileAt is input i, wherever it is listed.
func FileAt(p *Plan, i int64) (path string, size, mtime int64, err error) {
	for k := range p.Pack.blocks {
		if n := p.Pack.blocks[k].files; i >= n {
			i -= n
			continue
		}
		l, err := p.Load(k)
		if err != nil {
			return "", 0, 0, err
		}
		return l.Table.Path(int(i)), l.Table.Size(int(i)), l.Table.ModTime(int(i)), nil
	}
	return "", 0, 0, shardify.Misuse("there is no input %d", i)
}

// FirstSamples is the first sample of each block, and one past the last.
func (p *Packing) FirstSamples() []int64 {
	first := make([]int64, 1, len(p.blocks)+1)
	for i := range p.blocks {
		first = append(first, first[i]+p.blocks[i].samples)
	}
	return first
}

// BlockOf is the block that has shard i.
func (p *Packing) BlockOf(i int) int {
	end := 0
	for part := range p.blocks {
		if end += p.blocks[part].shards; i < end {
			return part
		}
	}
	return -1
}

// Loaded is a block in memory.
type Loaded struct {
	Table *format.Table
	Spans []shardify.Span // numbered over all blocks
	First int64           // sample
}

// Load reads block k, if it is not in memory anyhow.
func (p *Plan) Load(k int) (*Loaded, error) {
	if !p.Pack.InParts() {
		return &Loaded{Table: p.In.Table, Spans: p.Pack.Spans}, nil
	}
	f, err := p.stored.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	l, err := readBlock(p, f, k)
	if err != nil {
		return nil, shardify.Annotate(err, "read", FileName, "")
	}
	return l, nil
}

func readBlock(p *Plan, f io.ReaderAt, k int) (l *Loaded, err error) {
	x := &p.Pack.blocks[k]
	l = &Loaded{}
	if l.Table, err = p.In.readNames(f, x); err != nil {
		return nil, err
	}
	if l.Spans, err = readSpans(f, x); err != nil {
		return nil, err
	}
	shards := x.shards
	for i := range k {
		l.First, shards = l.First+p.Pack.blocks[i].samples, shards+p.Pack.blocks[i].shards
	}
	var samples int64
	for i := range l.Spans {
		s := &l.Spans[i]
		samples += s.Samples()
		if !p.Pack.InParts() {
			continue
		}
		if s.Hi > x.samples {
			return nil, shardify.Corrupt(x.spans.off, "span [%d, %d) of %d samples", s.Lo, s.Hi, x.samples)
		}
		s.Lo, s.Hi = s.Lo+l.First, s.Hi+l.First
	}
	spans := 0
	if x.shards > 0 {
		spans = p.Pack.Shards[shards-1].Hi
	}
	if samples != x.samples || spans != len(l.Spans) {
		return nil, shardify.Corrupt(x.spans.off, "%d spans of %d samples, not %d of %d", len(l.Spans), samples, spans, x.samples)
	}
	return l, nil
}

// read reads and unpacks a block.
func (x *packed) read(f io.ReaderAt) ([]byte, error) {
	b := make([]byte, x.bytes)
	if n, err := f.ReadAt(b, x.off); int64(n) < x.bytes {
		if err == io.EOF {
			return nil, shardify.Corrupt(x.off, "the file ends in a block of %d bytes", x.bytes)
		}
		return nil, err
	}
	plain, err := unpack(b, max(x.plain, 1<<10))
	if err != nil {
		return nil, shardify.Corrupt(x.off, "block: %v", err)
	}
	return plain, nil
}

func (x *packed) check(content []byte) error {
	if got := index.DigestOf(content); got != x.digest {
		return shardify.Corrupt(x.off, "digest of a block is %s, stored %q", got, x.digest)
	}
	return nil
}

func (in *Inputs) readNames(f io.ReaderAt, x *Block) (*format.Table, error) {
	b, err := x.names.read(f)
	if err != nil {
		return nil, err
	}
	t := in.none()
	return t, parseNamesBlock(t, b, x)
}

func parseNamesBlock(t *format.Table, b []byte, x *Block) error {
	if got := index.DigestOf(b); got != x.listed {
		return shardify.Corrupt(x.names.off, "digest of a block is %s, stored %q", got, x.listed)
	}
	r := &varint.Reader{B: b}
	names := r.Bytes(r.U())
	if err := x.names.check(names); err != nil {
		return err
	}
	v := &varint.Reader{B: names}
	before := t.Len()
	parseNames(t, v, r)
	if v.Bad || r.Bad || len(v.B) > 0 || len(r.B) > 0 || int64(t.Len()-before) != x.files {
		return shardify.Corrupt(x.names.off, "a block of %d names does not fit its counts", x.files)
	}
	return nil
}

func readSpans(f io.ReaderAt, x *Block) ([]shardify.Span, error) {
	b, err := x.spans.read(f)
	if err != nil {
		return nil, err
	}
	return parseSpansBlock(b, x)
}

func parseSpansBlock(b []byte, x *Block) ([]shardify.Span, error) {
	if err := x.spans.check(b); err != nil {
		return nil, err
	}
	v := &varint.Reader{B: b}
	spans := parseSpans(v)
	if v.Bad || len(v.B) > 0 {
		return nil, shardify.Corrupt(x.spans.off, "a block of spans does not fit its counts")
	}
	return spans, nil
}

// Whole makes a plan of one block, for who needs all inputs at once. Its digest, shards
// and units are the same; it cannot be published. A plan of one block stays as it is.
func Whole(p *Plan) (*Plan, error) {
	if !p.Pack.InParts() {
		return p, nil
	}
	q := *p
	q.stored.open, q.stored.drop, q.stored.sealed = nil, nil, nil
	q.In.Table = p.In.none()
	q.Pack.Spans, q.Pack.Shards = nil, slices.Clone(p.Pack.Shards)
	one := Block{}
	for k := range p.Pack.blocks {
		x := &p.Pack.blocks[k]
		l, err := p.Load(k)
		if err != nil {
			return nil, err
		}
		if int64(q.In.Table.Len())+int64(l.Table.Len()) > math.MaxUint32 {
			return nil, shardify.Unsupported("a plan of %d inputs does not fit in one table", p.In.Listed.Count)
		}
		q.In.Table.AppendTable(l.Table)
		for i := one.shards; i < one.shards+x.shards; i++ {
			q.Pack.Shards[i].Lo += len(q.Pack.Spans)
			q.Pack.Shards[i].Hi += len(q.Pack.Spans)
		}
		q.Pack.Spans = append(q.Pack.Spans, l.Spans...)
		one.files, one.samples, one.bytes, one.largest = one.files+x.files, one.samples+x.samples, one.bytes+x.bytes, max(one.largest, x.largest)
		one.shards, one.units = one.shards+x.shards, one.units+x.units
	}
	q.Pack.blocks = []Block{one}
	return &q, nil
}

// settle checks the counts of a decoded plan, and settles the places of shards.
func (p *Packing) settle(listed *index.Inputs) error {
	shard, unit := 0, 0
	var files, samples int64
	for i := range p.blocks {
		x := &p.blocks[i]
		if x.shards > len(p.Shards)-shard || x.units > len(p.Units)-unit {
			return fmt.Errorf("block %d has %d shards in %d units", i, x.shards, x.units)
		}
		at, left := 0, x.samples
		for k := shard; k < shard+x.shards; k++ {
			s := &p.Shards[k]
			n := s.Hi - s.Lo
			if n < 1 || at > math.MaxInt32 || s.Samples < 0 || s.Samples > left || p.shardBytes[k] < 0 {
				return fmt.Errorf("shard %d has %d spans of %d samples", k, n, s.Samples)
			}
			s.Lo, s.Hi = at, at+n
			at, left = at+n, left-s.Samples
		}
		if left != 0 {
			return fmt.Errorf("block %d has %d samples in no shard", i, left)
		}
		for k := unit; k < unit+x.units; k++ {
			if u := p.Units[k]; u.Lo < shard || u.Hi <= u.Lo || u.Hi > shard+x.shards {
				return fmt.Errorf("unit %d has shards [%d, %d)", k, u.Lo, u.Hi)
			}
		}
		shard, unit, files, samples = shard+x.shards, unit+x.units, files+x.files, samples+x.samples
		if files < 0 || samples < 0 {
			return fmt.Errorf("block %d has %d files and %d samples", i, x.files, x.samples)
		}
	}
	if n := len(p.Units); shard != len(p.Shards) || unit != n || n > 0 && p.Units[n-1].Hi != shard || files != listed.Count || samples != p.Samples {
		return fmt.Errorf("the blocks have %d of %d shards, %d of %d units, %d of %d files and %d of %d samples",
			shard, len(p.Shards), unit, n, files, listed.Count, samples, p.Samples)
	}
	return nil
}
