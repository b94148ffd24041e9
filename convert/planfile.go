package convert

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/varint"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// PlanName is where a plan stands below the data set's folder.
const PlanName = storage.Private + "/plan"

// A plan file:
//
//	8   magic "SHFYPLAN"
//	4   u32 PlanVersion
//	8   u64 n, bytes of the content
//	8   u64 m, bytes of the schedule
//	n   zstd of the content: what decides the bytes of the data set
//	m   zstd of the schedule: where the inputs are on this machine
//	37  digest of all bytes before it, as text
//
// Content and schedule are a JSON head and tables of varints. The digest of the
// uncompressed content is the plan's identity.
const (
	planMagic  = "SHFYPLAN"
	planHead   = len(planMagic) + 4 + 8 + 8
	digestSize = len(index.DigestPrefix) + 32
	// maxPlan bounds what a plan file may unpack to.
	maxPlan = 8 << 30
)

// Digest identifies the plan: equal content gives equal data sets.
func (p *Plan) Digest() string { return p.digest }

// seal computes the digest of a finished plan.
func (p *Plan) seal() {
	p.sealed = p.content()
	p.digest = index.DigestOf(p.sealed)
}

func (p *Plan) content() []byte {
	if p.InParts() {
		return p.contentInParts()
	}
	head, err := json.Marshal(p)
	if err != nil {
		panic("convert: plan head: " + err.Error())
	}
	b := make([]byte, 0, len(head)+len(p.State)+16*p.Table.Len()+16*len(p.Spans)+64)
	b = binary.AppendUvarint(b, uint64(len(head)))
	b = append(b, head...)
	b = binary.AppendUvarint(b, uint64(len(p.State)))
	b = append(b, p.State...)
	b = binary.AppendUvarint(b, uint64(len(p.Table.Roots)))
	b = appendSpans(appendNames(b, p.Table), p.Spans)
	b = binary.AppendUvarint(b, uint64(len(p.Shards)))
	for _, x := range p.Shards {
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Samples))
	}
	b = binary.AppendUvarint(b, uint64(len(p.Units)))
	for _, x := range p.Units {
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
	}
	return b
}

// appendNames writes the names and sizes of a table.
func appendNames(b []byte, t *shardify.Table) []byte {
	b = binary.AppendUvarint(b, uint64(t.Len()))
	var prev []byte
	for i := range t.Len() {
		n := t.NameBytes(i)
		same := shardify.CommonPrefix(n, prev)
		b = binary.AppendUvarint(b, uint64(same))
		b = binary.AppendUvarint(b, uint64(len(n)-same))
		b = append(b, n[same:]...)
		b = binary.AppendUvarint(b, uint64(t.Root(i)))
		b = binary.AppendVarint(b, t.Size(i))
		prev = n
	}
	return b
}

// appendTimes writes the modification times of a table.
func appendTimes(b []byte, t *shardify.Table) []byte {
	var prev int64
	for i := range t.Len() {
		m := t.ModTime(i)
		b = binary.AppendVarint(b, m-prev)
		prev = m
	}
	return b
}

func appendSpans(b []byte, spans []shardify.Span) []byte {
	b = binary.AppendUvarint(b, uint64(len(spans)))
	var s shardify.Span
	for _, x := range spans {
		b = binary.AppendVarint(b, int64(x.Input)-int64(s.Input))
		b = binary.AppendVarint(b, int64(x.Run)-int64(s.Run))
		b = binary.AppendVarint(b, x.Lo-s.Hi)
		b = binary.AppendUvarint(b, uint64(x.Hi-x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Bytes))
		s = x
	}
	return b
}

// places is where things are on this machine.
type places struct {
	Roots   []string `json:"roots"`
	Scratch string   `json:"scratch,omitempty"`
	// MaxSample is not what the bytes depend on, but whether there are any.
	MaxSample int64 `json:"max_sample,omitempty"`

	LeftOut []shardify.Leftover `json:"left_out,omitempty"`
}

func (p *Plan) schedule() ([]byte, error) {
	head, err := p.places()
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	return appendTimes(append(b, head...), p.Table), nil
}

func (p *Plan) places() (_ []byte, err error) {
	roots := slices.Clone(p.Table.Roots)
	for i, r := range roots {
		if r == "" {
			continue
		}
		abs, err := filepath.Abs(r)
		if err != nil {
			return nil, err
		}
		roots[i] = abs
	}
	where := places{Roots: roots, LeftOut: p.Outside, MaxSample: p.MaxSample}
	if p.ScratchPath != "" {
		if where.Scratch, err = filepath.Abs(p.ScratchPath); err != nil {
			return nil, err
		}
	}
	return json.Marshal(where)
}

func compress(b []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	return enc.EncodeAll(b, make([]byte, 0, len(b)/2)), nil
}

// Encode writes the plan file.
func (p *Plan) Encode() ([]byte, error) {
	sched, err := p.schedule()
	if err != nil {
		return nil, err
	}
	plain := p.sealed
	if p.sealed = nil; plain == nil {
		plain = p.content()
	}
	var content []byte
	var g errgroup.Group
	g.Go(func() (err error) { content, err = compress(plain); return err })
	g.Go(func() (err error) { sched, err = compress(sched); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	b := append([]byte(planMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[len(planMagic):], PlanVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(sched)))
	b = append(append(b, content...), sched...)
	return append(b, index.DigestOf(b)...), nil
}

// DecodePlan parses a plan file.
func DecodePlan(b []byte) (*Plan, error) {
	p, err := decodePlan(b)
	if err != nil {
		return nil, shardify.Annotate(err, "read", PlanName, "")
	}
	return p, nil
}

func decodePlan(b []byte) (*Plan, error) {
	if isInParts(b) {
		p, err := openInParts(inMemory(b))
		if err != nil {
			return nil, err
		}
		return p.Whole()
	}
	if len(b) < planHead+digestSize || string(b[:len(planMagic)]) != planMagic {
		return nil, shardify.Corrupt(0, "not a plan")
	}
	if v := binary.LittleEndian.Uint32(b[len(planMagic):]); v != PlanVersion {
		return nil, shardify.Unsupported("plan of version %d; this program makes and reads version %d", v, PlanVersion)
	}
	end := len(b) - digestSize
	if got := index.DigestOf(b[:end]); got != string(b[end:]) {
		return nil, shardify.Corrupt(int64(end), "digest is %s, stored %q", got, b[end:])
	}
	n := binary.LittleEndian.Uint64(b[len(planMagic)+4:])
	m := binary.LittleEndian.Uint64(b[len(planMagic)+12:])
	body := uint64(end - planHead)
	if n > body || m != body-n {
		return nil, shardify.Corrupt(int64(len(planMagic)), "parts of %d and %d bytes in %d", n, m, body)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPlan))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	content, err := dec.DecodeAll(b[planHead:planHead+int(n)], nil)
	if err != nil {
		return nil, shardify.Corrupt(int64(planHead), "content: %v", err)
	}
	sched, err := dec.DecodeAll(b[planHead+int(n):end], nil)
	if err != nil {
		return nil, shardify.Corrupt(int64(planHead)+int64(n), "schedule: %v", err)
	}
	return parsePlan(content, sched)
}

// parseHead is what every plan begins with: of the content the head, the state and the
// number of roots, of the schedule the places.
func (p *Plan) parseHead(content, sched *varint.Reader) error {
	if err := json.Unmarshal(content.Bytes(content.U()), p); err != nil {
		return shardify.Corrupt(-1, "head: %v", err)
	}
	p.State = slices.Clone(content.Bytes(content.U()))
	roots := content.U()
	var where places
	err := json.Unmarshal(sched.Bytes(sched.U()), &where)
	if err != nil || uint64(len(where.Roots)) != roots {
		return shardify.Corrupt(-1, "roots: %d, want %d: %v", len(where.Roots), roots, err)
	}
	p.Table.Roots, p.ScratchPath, p.Outside, p.MaxSample = where.Roots, where.Scratch, where.LeftOut, where.MaxSample
	return nil
}

func parsePlan(content, sched []byte) (*Plan, error) {
	p := &Plan{Table: &shardify.Table{}}
	v := &varint.Reader{B: content}
	s := &varint.Reader{B: sched}
	if err := p.parseHead(v, s); err != nil {
		return nil, err
	}
	parseNames(p.Table, v, s)
	p.Spans = parseSpans(v)
	p.parseCuts(v)
	if v.Bad || s.Bad || len(v.B) > 0 || len(s.B) > 0 {
		return nil, shardify.Corrupt(-1, "tables do not fit their counts")
	}
	if err := p.validate(); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	p.digest = index.DigestOf(content)
	return p, nil
}

// parseNames appends names, sizes and times to a table with roots.
func parseNames(t *shardify.Table, v, times *varint.Reader) {
	var name []byte
	var mtime int64
	for range v.Count(4) {
		same := v.U()
		rest := v.Bytes(v.U())
		if same > uint64(len(name)) {
			v.Bad = true
		}
		if v.Bad {
			return
		}
		name = append(name[:same], rest...)
		root, size := v.U(), v.I()
		if root >= uint64(len(t.Roots)) {
			v.Bad = true
			return
		}
		mtime += times.I()
		t.AppendIn(int(root), "", name, size, mtime)
	}
}

func parseSpans(v *varint.Reader) []shardify.Span {
	spans := make([]shardify.Span, 0, v.Count(5))
	var s shardify.Span
	for range cap(spans) {
		s.Input = uint32(int64(s.Input) + v.I())
		s.Run = uint32(int64(s.Run) + v.I())
		s.Lo = s.Hi + v.I()
		s.Hi = s.Lo + int64(v.U())
		s.Bytes = int64(v.U())
		if s.Lo < 0 || s.Hi < s.Lo || s.Bytes < 0 {
			v.Bad = true
			return spans
		}
		spans = append(spans, s)
	}
	return spans
}

func (p *Plan) parseCuts(v *varint.Reader) {
	p.Shards = make([]PlannedShard, 0, v.Count(2))
	at := 0
	for range cap(p.Shards) {
		n := int(v.U())
		p.Shards = append(p.Shards, PlannedShard{Lo: at, Hi: at + n, Samples: int64(v.U())})
		at += n
	}
	p.Units = make([]Unit, 0, v.Count(1))
	at = 0
	for range cap(p.Units) {
		n := int(v.U())
		p.Units = append(p.Units, Unit{Lo: at, Hi: at + n})
		at += n
	}
}

// LoadPlan reads the plan of a data set's folder; fs.ErrNotExist if there is
// none.
//
// Of a plan in parts it reads the head; see Plan.InParts.
func LoadPlan(s storage.Store) (*Plan, error) {
	if p, err := loadInParts(s); p != nil || err != nil {
		return p, err
	}
	b, err := readAll(s, PlanName)
	if err != nil {
		return nil, err
	}
	return DecodePlan(b)
}

// Diff lists how another plan differs from this one, a line each: "option:
// mine / theirs".
func (p *Plan) Diff(q *Plan) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %s / %s", what, a, b))
		}
	}
	add("input format", p.Input, q.Input)
	add("output format", p.Output, q.Output)
	add("columns", fmt.Sprint(p.Columns), fmt.Sprint(q.Columns))
	add("on-error", p.OnError, q.OnError)
	add("operations", opsText(p.Ops), opsText(q.Ops))
	add("shuffle", p.shuffleWord(), q.shuffleWord())
	if p.Shuffle != "" || len(p.Ops) > 0 || p.Split != nil {
		add("seed", fmt.Sprint(p.Seed), fmt.Sprint(q.Seed))
	}
	add("split", splitText(p.Split), splitText(q.Split))
	add("provenance", fmt.Sprint(p.Provenance), fmt.Sprint(q.Provenance))
	for _, m := range []struct{ a, b map[string]string }{
		{p.InputOptions, q.InputOptions}, {p.OutputOptions, q.OutputOptions}, {p.Recipe, q.Recipe},
	} {
		keys := maps.Clone(m.a)
		if keys == nil {
			keys = map[string]string{}
		}
		maps.Copy(keys, m.b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			add(k, m.a[k], m.b[k])
		}
	}
	add("inputs", p.inputsText(), q.inputsText())
	add("samples", fmt.Sprint(p.Samples), fmt.Sprint(q.Samples))
	if len(out) == 0 && p.Digest() != q.Digest() {
		out = append(out, "the input files: names, sizes or layout have changed")
	}
	return out
}

func (p *Plan) inputsText() string {
	files, bytes := p.Inputs()
	return fmt.Sprintf("%d files, %d bytes", files, bytes)
}

func opsText(ops []Op) string {
	var out []string
	for _, o := range ops {
		out = append(out, strings.TrimSpace("--"+o.Name+" "+o.Text))
	}
	return strings.Join(out, " ")
}

// shuffleWord is what --shuffle says.
func (p *Plan) shuffleWord() string {
	if p.Shuffle == "" {
		return ShuffleNone
	}
	return p.Shuffle
}

func splitText(s *Split) string {
	if s == nil {
		return ""
	}
	text := s.String()
	for _, o := range []struct{ name, value string }{
		{"identity", strings.Join(s.Identity, ",")}, {"stratify", s.Stratify}, {"group-by", s.GroupBy},
	} {
		if o.value != "" {
			text += " --" + o.name + " " + o.value
		}
	}
	return text
}

// readAll reads a small published file.
func readAll(s storage.Store, name string) ([]byte, error) {
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
