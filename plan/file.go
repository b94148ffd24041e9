package plan

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// A plan is a head and a list of blocks: consecutive inputs with their names and spans. A
// small set has one block, which is in memory with the head. Of many blocks, a task needs
// those of its shards, and merge needs no block: each shard is in one block. The file:
//
//	8   magic "SHFYPLAN"
//	4   u32 PlanVersion
//	..  the blocks, two parts each, zstd:
//	    names: n, n bytes of names and sizes, modification times
//	    spans, of several blocks numbered from the first sample of the block
//	..  the pages of the inputs' state, zstd; most plans have no pages
//	n   zstd of the content: what decides the bytes of the data set. Head, of each block the
//	    counts and the digests of names and spans, shards, units; the number of pages and the
//	    digest of each, if there are any
//	m   zstd of the schedule: where the inputs are on this machine, where blocks and pages are
//	8   u64 n
//	8   u64 m
//	37  digest of the n + m + 16 bytes before it, as text
//
// Heads are JSON, all else tables of varints. The digest of the uncompressed content is
// the plan's identity.
const (
	planMagic  = "SHFYPLAN"
	planHead   = len(planMagic) + 4
	planTail   = 8 + 8 + digestSize
	digestSize = len(index.DigestPrefix) + 32
	// maxPlan bounds what a head, or the only block, unpacks to; maxBlock one of several.
	maxPlan  = 8 << 30
	maxBlock = 1 << 30
	// oldMagic is that of plans in parts, before version 3.
	oldMagic = "SHFYPART"
)

// Seal completes a finished plan: its inputs, its block if it has one, its digest.
func Seal(p *Plan) error {
	if !p.Pack.InParts() && p.stored.open == nil {
		if err := packBlock(p); err != nil {
			return err
		}
	}
	p.stored.sealed = content(p)
	p.stored.digest = index.DigestOf(p.stored.sealed)
	return nil
}

// packBlock makes the block of a plan whose inputs are all in its table.
func packBlock(p *Plan) error {
	var l lister
	l.add(p.In.Table)
	in := l.inputs(p.In.Format)
	p.In.Listed = &in
	b := Block{files: int64(p.In.Table.Len()), samples: p.Pack.Samples, bytes: p.Pack.DecodedBytes, shards: len(p.Pack.Shards), units: len(p.Pack.Units)}
	p.Pack.shardBytes = make([]int64, len(p.Pack.Shards))
	for i, s := range p.Pack.Shards {
		p.Pack.shardBytes[i] = bytesOf(p.Pack.Spans[s.Lo:s.Hi])
	}
	for _, x := range p.Pack.Spans {
		b.largest = max(b.largest, x.Bytes)
	}
	file := &inMemory{}
	w, err := newBlockWriter(file, maxPlan)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.names(p.In.Table, &b); err != nil {
		return err
	}
	if err := w.spans(appendSpans(nil, p.Pack.Spans), &b); err != nil {
		return err
	}
	p.Pack.blocks, p.stored.open = []Block{b}, file.open
	return nil
}

// BaseOf is the digest of what is fixed before surveys look at the samples.
func BaseOf(p *Plan) string {
	return index.DigestOf(appendSpans(appendNames(content(p), p.In.Table), p.Pack.Spans))
}

func content(p *Plan) []byte {
	head, err := marshalHead(p)
	if err != nil {
		panic("plan: head: " + err.Error())
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	b = append(b, head...)
	b = binary.AppendUvarint(b, uint64(len(p.In.State)))
	b = append(b, p.In.State...)
	b = binary.AppendUvarint(b, uint64(len(p.In.Table.Roots)))
	b = binary.AppendUvarint(b, uint64(len(p.Pack.blocks)))
	for i := range p.Pack.blocks {
		x := &p.Pack.blocks[i]
		for _, n := range []int64{x.files, x.samples, x.bytes, x.largest, int64(x.shards), int64(x.units)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		b = append(append(b, x.names.digest...), x.spans.digest...)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Pack.Shards)))
	for i, x := range p.Pack.Shards {
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Samples))
		b = binary.AppendUvarint(b, uint64(p.Pack.shardBytes[i]))
	}
	b = binary.AppendUvarint(b, uint64(len(p.Pack.Units)))
	for _, x := range p.Pack.Units {
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
	}
	return p.In.pages.appendDigests(b)
}

// places is where things are on this machine.
type places struct {
	Roots []string `json:"roots"`
	Local
}

func schedule(p *Plan, blocks []Block, pages []packed) ([]byte, error) {
	head, err := placesOf(p)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	b = append(b, head...)
	for i := range blocks {
		for _, x := range []*packed{&blocks[i].names, &blocks[i].spans} {
			for _, n := range []int64{x.off, x.bytes, x.plain} {
				b = binary.AppendUvarint(b, uint64(n))
			}
		}
		b = append(b, blocks[i].listed...)
	}
	for _, x := range pages {
		for _, n := range []int64{x.off, x.bytes, x.plain} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b, nil
}

func placesOf(p *Plan) (_ []byte, err error) {
	roots := slices.Clone(p.In.Table.Roots)
	for i, r := range roots {
		if r == "" {
			continue
		}
		abs, err := storage.Abs(r)
		if err != nil {
			return nil, err
		}
		roots[i] = abs
	}
	where := places{roots, p.Local}
	if p.Local.Scratch != "" {
		if where.Scratch, err = filepath.Abs(p.Local.Scratch); err != nil {
			return nil, err
		}
	}
	return json.Marshal(where)
}

// write copies the blocks that count to where they stay, and writes the rest behind them.
func write(ctx context.Context, p *Plan, to io.Writer) (blocks []Block, pages []packed, err error) {
	if p.stored.open == nil {
		if err := packBlock(p); err != nil {
			return nil, nil, err
		}
	}
	from, err := p.stored.open()
	if err != nil {
		return nil, nil, err
	}
	defer from.Close()
	if _, err := to.Write(planStart()); err != nil {
		return nil, nil, err
	}
	blocks = slices.Clone(p.Pack.blocks)
	at := int64(planHead)
	var buf []byte
	for i := range blocks {
		for _, x := range []*packed{&blocks[i].names, &blocks[i].spans} {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			buf = slices.Grow(buf[:0], int(x.bytes))[:x.bytes]
			if n, err := from.ReadAt(buf, x.off); n < len(buf) {
				return nil, nil, shardify.Annotate(err, "read", FileName, "")
			}
			if _, err := to.Write(buf); err != nil {
				return nil, nil, err
			}
			x.off = at
			at += x.bytes
		}
	}
	if pages, err = p.In.pages.write(ctx, to, at); err != nil {
		return nil, nil, err
	}
	tail, err := tail(p, blocks, pages)
	if err != nil {
		return nil, nil, err
	}
	_, err = to.Write(tail)
	return blocks, pages, err
}

func planStart() []byte {
	return binary.LittleEndian.AppendUint32([]byte(planMagic), Version)
}

// tail is what follows the blocks.
func tail(p *Plan, blocks []Block, pages []packed) ([]byte, error) {
	plain := p.stored.sealed
	if plain == nil {
		plain = content(p)
	}
	content, err := compress(plain)
	if err != nil {
		return nil, err
	}
	sched, err := schedule(p, blocks, pages)
	if err != nil {
		return nil, err
	}
	if sched, err = compress(sched); err != nil {
		return nil, err
	}
	b := append(slices.Clip(content), sched...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(sched)))
	return append(b, index.DigestOf(b)...), nil
}

// Publish puts the plan into the data set's folder. If one is there already it
// must be the same plan; otherwise the error is ErrExists with the differences.
func Publish(ctx context.Context, p *Plan, s storage.Store) error {
	old, err := Load(s)
	switch {
	case err == nil && old.Digest() == p.Digest():
		return nil
	case err == nil:
		return &Conflict{Diff: Diff(old, p)}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	to, err := s.Create(FileName)
	if err != nil {
		return err
	}
	defer to.Abort()
	blocks, pages, err := write(ctx, p, to)
	if err != nil {
		return err
	}
	if err := to.Commit(ctx); err != nil {
		return err
	}
	drop := p.stored.drop
	p.Pack.blocks, p.stored.open, p.stored.drop, p.stored.sealed = blocks, nil, nil, nil
	if p.Pack.InParts() {
		p.stored.open = storedIn(s)
	}
	p.In.settle(pages, storedIn(s))
	if drop != nil {
		return drop()
	}
	return nil
}

// Conflict is another plan in the output folder.
type Conflict struct{ Diff []string }

func (c *Conflict) Error() string {
	return "the folder holds another conversion (there / now): " + strings.Join(c.Diff, "; ") + ": " + shardify.ErrExists.Error()
}

// Unwrap is ErrExists.
func (c *Conflict) Unwrap() error { return shardify.ErrExists }

// Load reads the plan of a data set's folder; without a plan the error is fs.ErrNotExist.
// Of several blocks it reads the head alone; see Packing.InParts.
func Load(s storage.Store) (*Plan, error) {
	b, err := s.Open(FileName)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	p, err := readPlan(sized{b, b.Size()})
	if err != nil {
		return nil, shardify.Annotate(err, "read", FileName, "")
	}
	if p.Pack.InParts() {
		p.stored.open = storedIn(s)
	}
	p.In.settle(p.In.pages.list, storedIn(s))
	return p, nil
}

// DecodePlan parses a plan file. All its inputs are in one table.
func Decode(b []byte) (*Plan, error) {
	f := &inMemory{b}
	p, err := readPlan(sized{f, f.Size()})
	if err == nil {
		p.In.settle(p.In.pages.list, f.open)
	}
	if err == nil && p.Pack.InParts() {
		p.stored.open = f.open
		p, err = Whole(p)
	}
	if err != nil {
		return nil, shardify.Annotate(err, "read", FileName, "")
	}
	return p, nil
}

// sized is a plan file.
type sized struct {
	io.ReaderAt
	size int64
}

// take reads n bytes at off.
func (f sized) take(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > f.size-n {
		return nil, shardify.Corrupt(f.size, "a plan of %d bytes", f.size)
	}
	b := make([]byte, n)
	if k, err := f.ReadAt(b, off); int64(k) < n {
		return nil, shardify.Annotate(err, "read", FileName, "")
	}
	return b, nil
}

// readPlan reads the head from the end of a file, and the block if there is only one.
func readPlan(f sized) (*Plan, error) {
	start, err := f.take(0, int64(planHead))
	if err != nil {
		return nil, err
	}
	magic, v := string(start[:len(planMagic)]), binary.LittleEndian.Uint32(start[len(planMagic):])
	switch {
	case magic != planMagic && magic != oldMagic:
		return nil, shardify.Corrupt(0, "not a plan")
	case magic != planMagic || v != Version:
		return nil, shardify.Unsupported("plan of version %d; this program makes and reads version %d", v, Version)
	}
	at := f.size - int64(planTail)
	tail, err := f.take(at, int64(planTail))
	if err != nil {
		return nil, err
	}
	n, m := binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint64(tail[8:])
	if room := uint64(max(at-int64(planHead), 0)); n > room || m > room-n {
		return nil, shardify.Corrupt(at, "head of %d and %d bytes in a file of %d", n, m, f.size)
	}
	at -= int64(n + m)
	b, err := f.take(at, int64(n+m)+16)
	if err != nil {
		return nil, err
	}
	if got, want := index.DigestOf(b), string(tail[16:]); got != want {
		return nil, shardify.Corrupt(at, "digest of the head is %s, stored %q", got, want)
	}
	content, err := unpack(b[:n], maxPlan)
	if err != nil {
		return nil, shardify.Corrupt(at, "content: %v", err)
	}
	sched, err := unpack(b[n:n+m], maxPlan)
	if err != nil {
		return nil, shardify.Corrupt(at+int64(n), "schedule: %v", err)
	}
	p, err := parsePlan(content, sched, at)
	if err != nil || p.Pack.InParts() {
		return p, err
	}
	l, err := readBlock(p, f, 0)
	if err != nil {
		return nil, err
	}
	p.In.Table, p.Pack.Spans = l.Table, l.Spans
	p.In.Table.ByKey = p.Asked.Grouping != nil && !p.Asked.Grouping.PerFile
	return p, nil
}

// parseHead is what every plan begins with: of the content the head, the state and the
// number of roots, of the schedule the places.
func parseHead(p *Plan, content, sched *varint.Reader) error {
	if err := json.Unmarshal(content.Bytes(content.U()), headOf(p)); err != nil {
		return shardify.Corrupt(-1, "head: %v", err)
	}
	p.In.State = slices.Clone(content.Bytes(content.U()))
	roots := content.U()
	var where places
	err := json.Unmarshal(sched.Bytes(sched.U()), &where)
	if err != nil || uint64(len(where.Roots)) != roots {
		return shardify.Corrupt(-1, "roots: %d, want %d: %v", len(where.Roots), roots, err)
	}
	p.In.Table.Roots, p.Local = where.Roots, where.Local
	return nil
}

// parsePlan is the inverse of content and schedule; end is where the blocks end.
func parsePlan(content, sched []byte, end int64) (*Plan, error) {
	p := &Plan{In: Inputs{Table: &format.Table{}}}
	v, s := &varint.Reader{B: content}, &varint.Reader{B: sched}
	if err := parseHead(p, v, s); err != nil {
		return nil, err
	}
	p.Pack.blocks = make([]Block, v.Count(6+2*digestSize))
	most := int64(maxPlan)
	if p.Pack.InParts() {
		most = maxBlock
	}
	for i := range p.Pack.blocks {
		p.Pack.blocks[i] = parseBlock(v, s, end, most)
	}
	p.Pack.Shards = make([]Shard, v.Count(3))
	p.Pack.shardBytes = make([]int64, len(p.Pack.Shards))
	for i := range p.Pack.Shards {
		p.Pack.Shards[i] = Shard{Hi: count(v), Samples: int64(v.U())}
		p.Pack.shardBytes[i] = int64(v.U())
	}
	p.Pack.Units = make([]Unit, v.Count(1))
	at := 0
	for i := range p.Pack.Units {
		p.Pack.Units[i] = Unit{at, at + count(v)}
		at = p.Pack.Units[i].Hi
	}
	p.In.pages.parse(v, s, end)
	if v.Bad || s.Bad || len(v.B) > 0 || len(s.B) > 0 {
		return nil, shardify.Corrupt(-1, "tables do not fit their counts")
	}
	if err := validate(p); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	p.stored.digest = index.DigestOf(content)
	return p, nil
}

// validate checks a decoded plan, and settles where the spans of its shards are.
func validate(p *Plan) error {
	if p.In.Table == nil {
		return errors.New("no input table")
	}
	if err := p.In.Table.Validate(); err != nil {
		return err
	}
	if err := shardify.ValidateSchema(p.Sample.Schema); err != nil {
		return err
	}
	if p.Splits.Rule != nil {
		if err := p.Splits.Rule.Check(); err != nil {
			return err
		}
	}
	if err := p.Order.check(); err != nil {
		return err
	}
	if p.Pack.InParts() && p.Shaped() {
		return fmt.Errorf("%d blocks, and operations on samples", p.Pack.Parts())
	}
	return p.Pack.settle(p.In.Listed)
}

// ReadFile reads a small published file.
func ReadFile(s storage.Store, name string) ([]byte, error) {
	b, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Size() > maxPlan {
		return nil, shardify.Corrupt(0, "%s has %d bytes", name, b.Size())
	}
	buf := make([]byte, b.Size())
	if n, err := b.ReadAt(buf, 0); n < len(buf) {
		return nil, shardify.Annotate(err, "read", name, "")
	} else if err != nil && err != io.EOF {
		return nil, shardify.Annotate(err, "read", name, "")
	}
	return buf, nil
}
