package samples

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform/op"
)

// DropDuplicates is the first of samples with the same value.
var DropDuplicates = op.Kind{Name: "drop-duplicates", Value: "FIELD,...", Example: "text", Help: "of samples with the same value, byte for byte, the first alone", More: "of all inputs; they are found when the plan is made",
	New: op.Of(newDropDuplicates), Fields: op.FieldsOf(newDropDuplicates)}

// dropDuplicates leaves out samples whose values of some fields an earlier sample has, byte for
// byte. The duplicates are found when the plan is made, and the plan lists them.
type dropDuplicates struct {
	names   []string
	text    string
	scratch storage.Store
	cols    []int
	keep    sync.Pool // of *[]byte

	mu    sync.Mutex
	seen  *seen
	again sampleSet
}

// newDropDuplicates parses FIELD,...
func newDropDuplicates(e *op.Env, text string) (*dropDuplicates, error) {
	d := &dropDuplicates{names: op.List(text), text: text, scratch: e.Scratch}
	if len(d.names) == 0 {
		return nil, op.FlagError("drop-duplicates", text, fmt.Errorf("want FIELD[,FIELD]..., as in --drop-duplicates text"))
	}
	for _, n := range d.names {
		if err := shardify.ValidName(n); err != nil {
			return nil, op.FlagError("drop-duplicates", text, err)
		}
	}
	return d, nil
}

func (d *dropDuplicates) Fields() op.Fields { return op.Fields{Named: d.names} }

// Schema finds the fields.
func (d *dropDuplicates) Schema(in []shardify.Field) ([]shardify.Field, error) {
	d.cols = nil
	for _, n := range d.names {
		i, err := op.Lookup(in, n)
		if err != nil {
			return nil, op.TextError(d.text, err)
		}
		d.cols = append(d.cols, i)
		for _, beside := range []string{shardify.ShapeSuffix, shardify.ExtSuffix} {
			if k := shardify.FieldIndex(in, n+beside); k >= 0 {
				d.cols = append(d.cols, k)
			}
		}
	}
	return in, nil
}

// Cost is a copy of what is kept.
func (d *dropDuplicates) Cost([]shardify.Field) shardify.Cost {
	return shardify.Cost{Growth: 1, Sample: 24}
}

// Surveys says that the values must be seen.
func (d *dropDuplicates) Surveys() string { return "duplicates by " + strings.Join(d.names, ", ") }

// NewSurvey begins to look at a part of the samples.
func (d *dropDuplicates) NewSurvey() shardify.Survey {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = newSeen(d.scratch)
	}
	return &duplicates{d: d, part: d.seen.begin(), hash: sha256.New()}
}

// duplicates is the survey of a part.
type duplicates struct {
	d       *dropDuplicates
	part    uint32
	n       uint32
	samples int64
	list    []record
	hash    hash.Hash
	sum     [sha256.Size]byte
	lens    [8]byte
}

// Add records which samples have which values. Samples without a value in one of the fields are not
// duplicates.
func (u *duplicates) Add(b *shardify.Batch) error {
	u.samples += int64(b.Samples)
	for i := range b.Samples {
		if !present(b, u.d.cols, i) {
			continue
		}
		u.hash.Reset()
		for _, k := range u.d.cols {
			u.value(&b.Columns[k], i)
		}
		id := b.ID(i)
		r := record{sample: id.Sample, input: id.Input, part: u.part, n: u.n}
		copy(r.hash[:], u.hash.Sum(u.sum[:0]))
		u.n++
		if u.list = append(u.list, r); len(u.list) == recordsKept {
			if err := u.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func present(b *shardify.Batch, cols []int, i int) bool {
	for _, k := range cols {
		if v := b.Columns[k].Valid; v != nil && v[i] == 0 {
			return false
		}
	}
	return true
}

// value hashes the bytes of a value, behind the lengths of all that varies.
func (u *duplicates) value(c *shardify.Column, i int) {
	lo, hi := int64(i), int64(i+1)
	for l, o := range c.Offsets {
		if l > 0 {
			for k := lo; k < hi; k++ {
				u.length(o[k+1] - o[k])
			}
		} else {
			u.length(o[hi] - o[lo])
		}
		lo, hi = o[lo], o[hi]
	}
	size := int64(c.ElemBytes())
	u.hash.Write(c.Data[lo*size : hi*size])
}

func (u *duplicates) length(n int64) {
	binary.LittleEndian.PutUint64(u.lens[:], uint64(n))
	u.hash.Write(u.lens[:])
}

func (u *duplicates) flush() error {
	err := u.d.seen.add(u.list)
	u.list = u.list[:0]
	return err
}

// Merge puts a part behind those before it.
func (u *duplicates) Merge(next shardify.Survey) error {
	o := next.(*duplicates)
	u.samples += o.samples
	u.d.seen.follows(o.part)
	return o.flush()
}

// Result is how many there are, for people, and which, for the plan.
func (u *duplicates) Result() ([]byte, error) {
	if err := u.flush(); err != nil {
		return nil, err
	}
	again, err := u.d.seen.again()
	u.d.seen = nil
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%d of %d samples", again.len(), u.samples) + shardify.SurveyDetail
	return append([]byte(text), base64.StdEncoding.EncodeToString(again.encode())...), nil
}

// Learn takes the list of the plan.
func (d *dropDuplicates) Learn(result []byte) error {
	_, detail, ok := strings.Cut(string(result), shardify.SurveyDetail)
	if !ok {
		return shardify.Hint(shardify.Unsupported("--drop-duplicates %s: which samples the set has already is not known", d.text), "convert all inputs together, or each set without duplicates of its own and shardify merge-sets")
	}
	b, err := base64.StdEncoding.DecodeString(detail)
	if err != nil {
		return shardify.Corrupt(-1, "list of duplicates: %v", err)
	}
	d.again, err = decodeSamples(b)
	return err
}

// Apply drops them.
func (d *dropDuplicates) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if d.again.len() == 0 {
		return b, nil
	}
	keep := op.Marks(&d.keep, b.Samples)
	defer d.keep.Put(keep)
	for i := range *keep {
		(*keep)[i] = op.Mark(!d.again.has(b.ID(i)))
	}
	return op.Select(b, *keep, mem)
}

// sampleSet is samples by input.
type sampleSet struct{ inputs []inputSamples }

type inputSamples struct {
	input   uint32
	samples []int64 // in order
}

func (s *sampleSet) len() (n int) {
	for i := range s.inputs {
		n += len(s.inputs[i].samples)
	}
	return n
}

func (s *sampleSet) has(id shardify.ID) bool {
	k := sort.Search(len(s.inputs), func(k int) bool { return s.inputs[k].input >= id.Input })
	if k == len(s.inputs) || s.inputs[k].input != id.Input {
		return false
	}
	_, ok := slices.BinarySearch(s.inputs[k].samples, id.Sample)
	return ok
}

// add adds samples in their order.
func (s *sampleSet) add(input uint32, sample int64) {
	if n := len(s.inputs); n == 0 || s.inputs[n-1].input != input {
		s.inputs = append(s.inputs, inputSamples{input: input})
	}
	x := &s.inputs[len(s.inputs)-1]
	x.samples = append(x.samples, sample)
}

// encode is, for each input, how far it is behind the one before, how many samples it has, and how
// far each is behind the one before, as variable-length numbers.
func (s *sampleSet) encode() (b []byte) {
	input := int64(-1)
	for _, x := range s.inputs {
		b = binary.AppendUvarint(b, uint64(int64(x.input)-input))
		b = binary.AppendUvarint(b, uint64(len(x.samples)))
		input = int64(x.input)
		last := int64(0)
		for i, n := range x.samples {
			if i == 0 {
				b = binary.AppendVarint(b, n) // grouped rows have hashes for numbers
			} else {
				b = binary.AppendUvarint(b, uint64(n-last))
			}
			last = n
		}
	}
	return b
}

func decodeSamples(b []byte) (s sampleSet, err error) {
	bad := false
	next := func() uint64 {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			bad = true
			return 0
		}
		b = b[n:]
		return x
	}
	for input := int64(-1); len(b) > 0; {
		step, count := next(), next()
		if bad || step == 0 || step > 1<<32 || input+int64(step) >= 1<<32 || count == 0 || count > uint64(len(b)) {
			return sampleSet{}, shardify.Corrupt(-1, "list of duplicates of %d bytes", len(b))
		}
		input += int64(step)
		x := inputSamples{input: uint32(input), samples: make([]int64, count)}
		for i := range x.samples {
			if i == 0 {
				v, n := binary.Varint(b)
				if bad = n <= 0; !bad {
					b, x.samples[0] = b[n:], v
				}
			} else {
				x.samples[i] = x.samples[i-1] + int64(next())
			}
			if bad || i > 0 && x.samples[i] <= x.samples[i-1] {
				return sampleSet{}, shardify.Corrupt(-1, "list of duplicates of input %d", input)
			}
		}
		s.inputs = append(s.inputs, x)
	}
	return s, nil
}
