package augment

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/transform/op"
)

// Followers are the masks, boxes and points that follow one image in a loader.
type Followers struct {
	m     images
	mem   *shardify.Pool
	image int // -1: none
	// Doubt: the image may be class numbers, and nothing says whether it is.
	Doubt bool
	// Targets are the fields that change, and what becomes of them: JSON.
	Targets json.RawMessage
}

// followed is a field that changes: a mask, boxes or points, or a list of which elements go with boxes.
type followed struct {
	Name  string         `json:"name"`
	Kind  string         `json:"kind"` // mask, boxes, points, list
	DType shardify.DType `json:"dtype"`
}

// NewFollowers finds the fields that follow an image: those that spec names, the settings of targets, and those
// whose attributes name them. moving: something moves the image. Without any, Targets is [].
func NewFollowers(spec, image string, fields []shardify.Field, moving bool) (*Followers, error) {
	f := &Followers{mem: shardify.NewPool(1), image: shardify.FieldIndex(fields, image)}
	if spec != "" || slices.ContainsFunc(fields, func(f shardify.Field) bool { return targetOf(&f) != "" }) {
		s, err := Parse(strings.TrimSuffix("targets,"+spec, ","))
		if err != nil {
			return nil, err
		}
		t, err := s.New(Env{})
		if err != nil {
			return nil, err
		}
		if fields, err = t.(*targets).Schema(fields); err != nil {
			return nil, err
		}
	}
	m := &f.m
	m.moving, m.n, m.out = moving, len(fields), fields
	mine := make([]bool, len(fields))
	if f.image >= 0 {
		mine[f.image] = true
		if err := m.follow(fields, mine); err != nil {
			return nil, err
		}
		for i := range fields {
			mine[i] = encoded(&fields[i]) || raw(&fields[i])
		}
		f.Doubt = doubtful(fields, mine, f.image, "")
	} else { // masks that follow none
		for i := range fields {
			if targetOf(&fields[i]) == attrMask {
				t, err := targetColumn(fields, i)
				if err != nil {
					return nil, err
				}
				t.from = i
				m.targets = append(m.targets, t)
			}
		}
	}
	m.alike = false
	list, known := []followed{}, map[int]bool{}
	add := func(i int, kind string) {
		if !known[i] {
			known[i] = true
			list = append(list, followed{fields[i].Name, kind, fields[i].DType})
		}
	}
	for k := range m.targets {
		t := &m.targets[k]
		t.at = t.from
		if t.attr != attrMask && !moving {
			continue
		}
		add(t.from, t.attr)
		if t.attr == attrMask && t.size == 2 && fields[t.from].Media != "" {
			list[len(list)-1].DType = shardify.U16
		}
	}
	if moving {
		if err := m.gather(); err != nil {
			return nil, err
		}
	}
	for _, g := range m.groups {
		for _, i := range g.cols {
			add(i, "list")
		}
	}
	var err error
	f.Targets, err = json.Marshal(list)
	return f, err
}

// Fields are those that were given, as the settings of targets made them.
func (f *Followers) Fields() []shardify.Field { return f.m.out }

// Mask writes the class numbers of sample i of column k, to which the moves of its image were done, to out.
// size is of the image before the first move; without an image it is 0.
func (f *Followers) Mask(c *Canvas, b *shardify.Batch, k, i int, numbers []float64, out []byte) error {
	t := f.m.maskAt(k)
	var shape *shardify.Column
	if t.shape >= 0 {
		shape = &b.Columns[t.shape]
	}
	w, h, pix, err := t.load(&b.Columns[k], shape, i, &c.s)
	if err != nil {
		return err
	}
	for at := 0; at < len(numbers); at += moves.Numbers {
		m := moves.Of(numbers[at:])
		if m.W == 0 {
			continue
		}
		if w != m.W || h != m.H {
			return shardify.Mismatch("a mask of %d x %d pixels for an image of %d x %d", w, h, m.W, m.H)
		}
		to := grow(&c.turns[at/moves.Numbers%2], t.size*m.NewW*m.NewH)
		m.Mask(to, pix, t.size, t.fill)
		pix, w, h = to, m.NewW, m.NewH
	}
	if len(pix) != len(out) {
		return shardify.Mismatch("a mask of %d x %d pixels (%d bytes), of %d bytes in this batch", w, h, len(pix), len(out))
	}
	copy(out, pix)
	return nil
}

// Places moves boxes and points: those of sample i by numbers[i*n:(i+1)*n], one move after the other. What it gives
// to use is good until it returns.
func (f *Followers) Places(b *shardify.Batch, numbers []float64, n int, use func(*shardify.Batch) error) error {
	mem := f.mem.Overdraft()
	defer mem.Release()
	for g := range f.m.groups {
		for _, k := range f.m.groups[g].cols[1:] {
			if err := op.SameLengths(b, f.m.groups[g].cols[0], k); err != nil {
				return err
			}
		}
	}
	s := buffers{moves: map[int][]moves.Move{f.image: make([]moves.Move, b.Samples)}}
	for at := 0; at < n; at += moves.Numbers {
		for i := range b.Samples {
			s.moves[f.image][i] = moves.Of(numbers[i*n+at:])
		}
		var err error
		if b, err = f.m.places(b, &s, mem); err != nil {
			return err
		}
	}
	return use(b)
}

// Moves writes what was done to the last image, one move after the other. Room that is left is zeros.
func (k *Canvas) Moves(to []float64) {
	clear(to)
	for i := range min(len(k.moves), len(to)/moves.Numbers) {
		k.moves[i].Write(to[i*moves.Numbers:])
	}
}

// Begin forgets the moves of the image before.
func (k *Canvas) Begin() { k.moves = k.moves[:0] }

// Did adds a move of the image.
func (k *Canvas) Did(m moves.Move) { k.moves = append(k.moves, m) }

// Moving is how many operations move the image.
func (c *Chain) Moving() (n int) {
	for _, op := range c.ops {
		if op.moving {
			n++
		}
	}
	return n
}
