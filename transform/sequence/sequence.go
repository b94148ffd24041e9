package sequence

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Lens is the field with the lengths of a sequence's documents. Their sum is the length of the
// sequence, or less: what is behind them is padding.
const Lens = "lens"

const (
	// Window is the most pieces of documents that sequences are chosen from: a rule of the bytes.
	Window = 1 << 17
	// MaxLength bounds sequences: memory goes with it.
	MaxLength = 1 << 20
	// keep is how many bytes of tokens wait in memory. More are in a scratch file.
	keep = 4 << 20
	// batchBytes is the size of the batches that are passed on.
	batchBytes = 1 << 20
	pieceBytes = 64 // of tables for a piece
	// maxPieces is the most sequences that may begin with pieces of one document.
	maxPieces = math.MaxUint16
)

// Spec says how documents become sequences.
type Spec struct {
	Field  string
	Length int
	Concat bool   // one after the other, cut where a sequence ends; else by best fit
	Drop   bool   // of Concat: an incomplete last sequence is left out
	Pad    uint64 // the token behind the documents of a sequence
}

// Memory is what the packing of one shard takes at most.
func (s *Spec) Memory() int64 {
	made := 4*batchBytes + int64(s.Length)*16 // sequences, and the batch of them
	if s.Concat {
		return made
	}
	return made + keep + Window*pieceBytes + int64(s.Length)*24 // what waits, and tables of rooms
}

// Packing is the sequences of one shard.
type Packing struct {
	spec  *Spec
	field shardify.Field // of the sequences
	size  int            // bytes of a token
	name  string
	store storage.Store
	pool  *shardify.Pool
	emit  func(*shardify.Batch, *shardify.Arena) error

	// Pieces that wait for a sequence: their lengths, where their tokens begin, and whose they
	// are. The first tokens are in the file, the others in kept.
	lens []int32
	at   []int64
	of   []shardify.ID
	kept []byte
	file *local.Spill
	fit  fitter

	out  rows
	n    counts
	pad  []byte // one token
	open bool   // of Concat: the last of out is not full
}

type counts struct{ documents, empty, tokens, sequences, padding, split, cut, dropped int64 }

// rows are sequences that are made.
type rows struct {
	data []byte
	lens []byte
	ends []int64
	ids  []shardify.ID
}

// New begins a shard. The batches have one field, and out is what Schema made of it. emit
// is given batches that are valid during the call.
func (s *Spec) New(out []shardify.Field, store storage.Store, pool *shardify.Pool, emit func(*shardify.Batch, *shardify.Arena) error) *Packing {
	f := out[0]
	p := &Packing{spec: s, field: f, size: f.DType.Size(), name: s.Field, store: store, pool: pool, emit: emit}
	p.pad = binary.LittleEndian.AppendUint64(nil, s.Pad)[:p.size]
	return p
}

// Add takes documents.
func (p *Packing) Add(b *shardify.Batch) error {
	c := &b.Columns[0]
	lists := c.Offsets[0]
	for i := range b.Samples {
		tokens := c.Data[int(lists[i])*p.size : int(lists[i+1])*p.size]
		if c.Valid != nil && c.Valid[i] == 0 {
			tokens = nil
		}
		p.n.documents++
		if len(tokens) == 0 {
			p.n.empty++
			continue
		}
		if (len(tokens)/p.size-1)/p.spec.Length >= maxPieces {
			return p.tooLong(len(tokens)/p.size, b.ID(i))
		}
		p.n.tokens += int64(len(tokens) / p.size)
		add := p.add
		if p.spec.Concat {
			add = p.join
		}
		if err := add(tokens, b.ID(i)); err != nil {
			return err
		}
	}
	return nil
}

// tooLong is the error about a document whose pieces would not have identities of their own.
func (p *Packing) tooLong(tokens int, id shardify.ID) error {
	err := shardify.Unsupported("a document of %d tokens; in sequences of %d it may have %d", tokens, p.spec.Length, maxPieces*p.spec.Length)
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample, e.Field = id.Sample, p.name })
}

// add takes a document for best fit: full sequences are passed on, the rest waits.
func (p *Packing) add(tokens []byte, id shardify.ID) error {
	full := p.spec.Length * p.size
	if len(tokens) > full {
		p.n.split++
	}
	for ; len(tokens) >= full; tokens = tokens[full:] {
		p.begin(id)
		p.out.data = append(p.out.data, tokens[:full]...)
		p.length(p.spec.Length)
		if err := p.end(); err != nil {
			return err
		}
		id.Copy++
	}
	if len(tokens) == 0 {
		return nil
	}
	if len(p.kept)+len(tokens) > keep {
		if err := p.spill(); err != nil {
			return err
		}
	}
	p.at = append(p.at, p.spilled()+int64(len(p.kept)))
	p.lens, p.of = append(p.lens, int32(len(tokens)/p.size)), append(p.of, id)
	p.kept = append(p.kept, tokens...)
	if len(p.lens) == Window {
		return p.choose()
	}
	return nil
}

func (p *Packing) spilled() int64 {
	if p.file == nil {
		return 0
	}
	return p.file.Size()
}

func (p *Packing) spill() (err error) {
	if p.file == nil {
		if p.file, err = local.NewSpill(p.store); err != nil {
			return err
		}
	}
	_, err = p.file.Write(p.kept)
	p.kept = p.kept[:0]
	return err
}

// choose makes sequences of all pieces that wait.
func (p *Packing) choose() error {
	for k := range p.fit.fit(p.lens, p.spec.Length) {
		for j, i := range p.fit.pieces(k) {
			if j == 0 {
				p.begin(p.of[i])
			}
			if err := p.fetch(p.at[i], int(p.lens[i])*p.size); err != nil {
				return err
			}
			p.length(int(p.lens[i]))
		}
		if err := p.end(); err != nil {
			return err
		}
	}
	p.lens, p.at, p.of, p.kept = p.lens[:0], p.at[:0], p.of[:0], p.kept[:0]
	return p.closeFile()
}

// fetch appends tokens that wait.
func (p *Packing) fetch(at int64, n int) error {
	if s := p.spilled(); at >= s {
		p.out.data = append(p.out.data, p.kept[at-s:][:n]...)
		return nil
	}
	from := len(p.out.data)
	p.out.data = append(p.out.data, make([]byte, n)...)
	if _, err := p.file.ReadAt(p.out.data[from:], at); err != nil {
		return fmt.Errorf("scratch file of sequences: %w", err)
	}
	return nil
}

// join appends a document to the sequences before it.
func (p *Packing) join(tokens []byte, id shardify.ID) error {
	full := p.spec.Length * p.size
	for pieces := 0; len(tokens) > 0; pieces++ {
		if pieces == 1 {
			p.n.cut++
		}
		if !p.open {
			p.begin(id)
			p.open = true
		}
		n := min(len(tokens), len(p.out.ids)*full-len(p.out.data))
		p.out.data = append(p.out.data, tokens[:n]...)
		p.length(n / p.size)
		tokens = tokens[n:]
		if id.Copy++; len(p.out.data) == len(p.out.ids)*full {
			p.open = false
			if err := p.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins a sequence, which is known by its first document; those that begin with later pieces
// of it are distinguished like copies.
func (p *Packing) begin(id shardify.ID) { p.out.ids = append(p.out.ids, id) }

// length records the length of a document of the sequence that was started.
func (p *Packing) length(n int) {
	p.out.lens = binary.LittleEndian.AppendUint32(p.out.lens, uint32(n))
}

// end ends a sequence, with padding if it is not full.
func (p *Packing) end() error {
	for full := len(p.out.ids) * p.spec.Length * p.size; len(p.out.data) < full; p.n.padding++ {
		p.out.data = append(p.out.data, p.pad...)
	}
	p.n.sequences++
	p.out.ends = append(p.out.ends, int64(len(p.out.lens)/4))
	if len(p.out.data)+len(p.out.lens) < batchBytes {
		return nil
	}
	return p.flush()
}

// flush passes on the sequences that are made.
func (p *Packing) flush() error {
	n := len(p.out.ids)
	if n == 0 {
		return nil
	}
	mem := p.pool.Overdraft()
	defer mem.Release()
	ends := mem.Int64s(n + 1)
	ends[0] = 0
	copy(ends[1:], p.out.ends)
	b := &shardify.Batch{Samples: n, First: p.out.ids[0], IDs: p.out.ids, Columns: []shardify.Column{
		{Field: p.field, Data: copied(mem, p.out.data)},
		{Field: lensField(), Data: copied(mem, p.out.lens), Offsets: [][]int64{ends}},
	}}
	err := p.emit(b, mem)
	p.out = rows{data: p.out.data[:0], lens: p.out.lens[:0], ends: p.out.ends[:0], ids: p.out.ids[:0]}
	return err
}

func copied(mem *shardify.Arena, b []byte) []byte {
	out := mem.Alloc(len(b))
	copy(out, b)
	return out
}

// End makes the last sequences.
func (p *Packing) End() error {
	if p.open {
		p.open = false
		if p.spec.Drop {
			p.dropLast()
		} else if err := p.end(); err != nil {
			return err
		}
	}
	if err := p.choose(); err != nil {
		return err
	}
	return p.flush()
}

// dropLast leaves out the sequence that is not full.
func (p *Packing) dropLast() {
	n := len(p.out.ids) - 1
	from := n * p.spec.Length * p.size
	p.n.dropped += int64((len(p.out.data) - from) / p.size)
	lens := int64(0)
	if n > 0 {
		lens = p.out.ends[n-1]
	}
	p.out.data, p.out.lens, p.out.ids = p.out.data[:from], p.out.lens[:4*lens], p.out.ids[:n]
}

// Documents is how many were taken.
func (p *Packing) Documents() int64 { return p.n.documents }

// Counts reports what became of them.
func (p *Packing) Counts() []shardify.Count {
	say := func(n int64, what string) shardify.Count {
		return shardify.Count{Name: "sequences " + p.name + ": " + what, N: n}
	}
	return []shardify.Count{
		say(p.n.documents, "documents"), say(p.n.empty, "documents without tokens, left out"), say(p.n.tokens, "tokens"), say(p.n.padding, "tokens of padding"),
		say(p.n.split, "documents longer than a sequence, in several"), say(p.n.cut, "documents cut where a sequence ends"), say(p.n.dropped, "tokens of incomplete sequences, left out"),
	}
}

func (p *Packing) closeFile() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// Close frees what the shard took.
func (p *Packing) Close() error { return p.closeFile() }

// Schema is the fields of sequences that are made of field f.
func (s *Spec) Schema(f shardify.Field) []shardify.Field {
	return []shardify.Field{{Name: f.Name, DType: f.DType, Shape: []int{s.Length}}, lensField()}
}

func lensField() shardify.Field { return shardify.Field{Name: Lens, DType: shardify.I32, Levels: 1} }
