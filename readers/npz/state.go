package npz

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/storage/zips"
)

var le = binary.LittleEndian

// The state is the survey as a plan keeps it:
//
//	u8      version
//	uvarint n, n bytes of JSON: what is there once (stateHead)
//	files, group after group: uvarint input (less the one before), size, samples;
//	        per column uvarint off, packed, head, typ; u8 method; u8 flags; u32 headSum;
//	        u32 crc if flags have hasSum; uvarint dimensions if the column is ragged
const stateVersion = 1

type stateHead struct {
	ByFile bool              `json:"by_file,omitempty"`
	Axis   *int              `json:"axis,omitempty"` // nil: the first
	Left   []format.Leftover `json:"left,omitempty"`
	Groups []stateGroup      `json:"groups"`
}

type stateGroup struct {
	Columns []stateColumn `json:"columns"`
	Types   []string      `json:"types"`
	Files   int           `json:"files"`
}

type stateColumn struct {
	Key    string        `json:"key"`
	Inner  []int64       `json:"inner,omitempty"`
	Axis   int           `json:"axis,omitempty"`
	Ragged bool          `json:"ragged,omitempty"`
	Single bool          `json:"single,omitempty"`
	Wanted []stateWanted `json:"wanted,omitempty"`
}

type stateWanted struct {
	Leaf int    `json:"leaf"`
	Name string `json:"name"`
}

// State implements format.Stater.
func (s *source) State() ([]byte, error) {
	head := stateHead{ByFile: s.byFile, Left: s.left}
	if s.axis != sampleaxis.AutoAxis {
		head.Axis = &s.axis
	}
	for _, g := range s.groups {
		sg := stateGroup{Files: len(g.files)}
		for i := range g.columns {
			c := &g.columns[i]
			sc := stateColumn{Key: c.key, Inner: c.inner, Axis: c.axis, Ragged: c.ragged, Single: c.single}
			for _, w := range c.wanted {
				sc.Wanted = append(sc.Wanted, stateWanted{w.leaf, w.name})
			}
			sg.Columns = append(sg.Columns, sc)
		}
		for i := range g.types {
			sg.Types = append(sg.Types, g.types[i].Text)
		}
		head.Groups = append(head.Groups, sg)
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b := []byte{stateVersion}
	b = binary.AppendUvarint(b, uint64(len(text)))
	b = append(b, text...)
	for _, g := range s.groups {
		b = g.appendFiles(b)
	}
	return s.named.State(b)
}

// restore is the inverse of State.
func (s *source) restore(b []byte) (err error) {
	if s.named, b, err = labels.ReadNamed(b, s.table); err != nil {
		return err
	}
	if s.named != nil && !s.byFile {
		return badState("it was made with other options")
	}
	if err = s.decode(b); err == nil {
		s.named.Inputs(s.files())
	}
	return err
}

func (g *group) appendFiles(b []byte) []byte {
	prev := uint32(0)
	dims := g.dims
	for i := range g.files {
		f := &g.files[i]
		b = binary.AppendUvarint(b, uint64(f.input-prev))
		prev = f.input
		b = binary.AppendUvarint(b, uint64(f.size))
		b = binary.AppendUvarint(b, uint64(f.samples))
		for j := range g.columns {
			p := &g.parts[i*len(g.columns)+j]
			b = binary.AppendUvarint(b, uint64(p.off))
			b = binary.AppendUvarint(b, uint64(p.packed))
			b = binary.AppendUvarint(b, uint64(p.head))
			b = binary.AppendUvarint(b, uint64(p.typ))
			b = append(b, p.method, p.flags)
			b = le.AppendUint32(b, p.headSum)
			if p.flags&hasSum != 0 {
				b = le.AppendUint32(b, p.crc)
			}
			if g.columns[j].ragged {
				for _, d := range dims[:len(g.columns[j].inner)] {
					b = binary.AppendUvarint(b, uint64(d))
				}
				dims = dims[len(g.columns[j].inner):]
			}
		}
	}
	return b
}

// stateReader reads a state; after the first fault it gives zeros.
type stateReader struct {
	b   []byte
	bad bool
}

func (r *stateReader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > most {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *stateReader) bytes(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, min(n, 4))
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func badState(what string) error {
	return shardify.Corrupt(-1, "state of npz inputs: %s", what)
}

// decode reads the survey. It checks all that readers rely on, so that a
// damaged plan cannot make them leave their files or their memory.
func (s *source) decode(b []byte) error {
	r := &stateReader{b: b}
	if v := r.bytes(1)[0]; r.bad || v != stateVersion {
		return badState("unknown version")
	}
	text := r.bytes(int(r.uvarint(1 << 31)))
	var head stateHead
	if err := json.Unmarshal(text, &head); err != nil {
		return badState(err.Error())
	}
	axis := sampleaxis.AutoAxis
	if head.Axis != nil {
		axis = *head.Axis
	}
	if head.ByFile != s.byFile || axis != s.axis || len(head.Groups) == 0 {
		return badState("it was made with other options")
	}
	s.left = head.Left
	for i := range head.Groups {
		g, err := s.decodeGroup(&head.Groups[i], r)
		if err != nil {
			return err
		}
		if s.groups = append(s.groups, g); g.samples != s.groups[0].samples {
			return badState("groups of different length")
		}
	}
	if r.bad || len(r.b) > 0 {
		return badState("cut short or too long")
	}
	return nil
}

func (s *source) decodeGroup(sg *stateGroup, r *stateReader) (*group, error) {
	g := &group{}
	if err := s.decodeColumns(sg, g); err != nil {
		return nil, err
	}
	// A file takes at least 3 bytes, a part 10.
	if n := len(g.columns); n == 0 || sg.Files <= 0 || sg.Files > len(r.b)/(3+10*n) {
		return nil, badState("more files than bytes")
	}
	g.files = make([]file, sg.Files)
	g.parts = make([]part, sg.Files*len(g.columns))
	prev := uint64(0)
	for i := range g.files {
		input := prev + r.uvarint(math.MaxUint32)
		if r.bad || input >= uint64(s.table.Len()) || i > 0 && input == prev {
			return nil, badState("files that are not inputs")
		}
		prev = input
		g.files[i] = file{input: uint32(input), size: int64(r.uvarint(1 << 62)), samples: int64(r.uvarint(1 << 62)), first: g.samples}
		if g.samples += g.files[i].samples; g.samples < 0 || s.byFile && g.files[i].samples != 1 {
			return nil, badState("bad number of samples")
		}
		for j := range g.columns {
			s.decodePart(g, i, j, r)
		}
		if r.bad {
			return nil, badState("cut short")
		}
		if err := s.checkFile(g, i); err != nil {
			return nil, err
		}
	}
	notes, err := g.unify(s.table, false, func(string) bool { return true })
	if err != nil {
		return nil, badState(err.Error())
	}
	s.notes = append(s.notes, notes...)
	return g, nil
}

// decodeColumns takes the columns and types of a group.
func (s *source) decodeColumns(sg *stateGroup, g *group) error {
	for _, c := range sg.Columns {
		col := column{key: c.Key, inner: c.Inner, axis: c.Axis, ragged: c.Ragged && s.byFile, single: c.Single && !s.byFile}
		if len(c.Inner) > npy.MaxRank || col.single && len(c.Inner) > 0 || slices.ContainsFunc(c.Inner, func(d int64) bool { return d < 0 }) {
			return badState("bad shape")
		}
		rank := len(c.Inner)
		if !s.byFile {
			rank++
		}
		if c.Axis != 0 && (col.single || c.Axis < 0 || c.Axis >= rank) {
			return badState("bad axis")
		}
		for _, w := range c.Wanted {
			col.wanted = append(col.wanted, wanted{leaf: w.Leaf, name: w.Name})
		}
		g.columns = append(g.columns, col)
	}
	for _, text := range sg.Types {
		t, err := npy.ParseType(text)
		if err != nil {
			return badState(err.Error())
		}
		g.types = append(g.types, t)
	}
	return nil
}

func (s *source) decodePart(g *group, i, j int, r *stateReader) {
	p := &g.parts[i*len(g.columns)+j]
	p.off, p.packed = int64(r.uvarint(1<<62)), int64(r.uvarint(1<<62))
	p.head, p.typ = uint32(r.uvarint(npy.MaxHeader+npy.PrefixBytes)), uint32(r.uvarint(math.MaxUint32))
	p.method, p.flags = r.bytes(1)[0], r.bytes(1)[0]
	p.headSum = le.Uint32(r.bytes(4))
	if p.flags&hasSum != 0 {
		p.crc = le.Uint32(r.bytes(4))
	}
	if g.columns[j].ragged {
		for range g.columns[j].inner {
			g.dims = append(g.dims, int64(r.uvarint(1<<62)))
		}
	}
}

// checkFile repeats what the survey made sure of.
func (s *source) checkFile(g *group, i int) error {
	f := &g.files[i]
	var data int64
	for j := range g.columns {
		c := &g.columns[j]
		p := &g.parts[i*len(g.columns)+j]
		if int(p.typ) >= len(g.types) {
			return badState("unknown type")
		}
		h := npy.Header{Item: g.types[p.typ], Shape: c.inner}
		switch {
		case c.single:
		case !s.byFile:
			h.Shape = append([]int64{f.samples}, c.inner...)
		case c.ragged:
			h.Shape = g.shape(i, j)
		}
		if err := h.Measure(); err != nil {
			return badState(err.Error())
		}
		data = max(data, h.Data)
		size := int64(p.head) + h.Data
		fits := p.off <= f.size && p.packed <= f.size-p.off && p.head >= 10
		switch p.method {
		case zips.Stored:
			fits = fits && size == p.packed
		case zips.Deflated, zips.Bzip2ed:
			fits = fits && size/zips.MaxRatio <= p.packed
		default:
			fits = false
		}
		if !fits || p.flags&inFortran != 0 && len(h.Shape) < 2 {
			return badState("a member that does not fit its file")
		}
	}
	if data == 0 && f.samples > npy.MaxEmpty {
		return badState("samples of no bytes")
	}
	return nil
}
