package images

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/internal/guard"
)

// following is what of a batch follows its images.
type following struct {
	// Image is the field that Batch makes pixels of; "": masks are decoded, and nothing is moved.
	Image string `json:"image"`
	// Targets are the settings of the operation targets; "": what the attributes of the fields say.
	Targets string `json:"targets"`
	// Fields are those of a batch.
	Fields []shardify.Field `json:"fields"`
	Doubt  bool             `json:"doubt"` // grey and palette PNG are an error: they may be class numbers
}

// Column is a field of a batch, in memory that Follow overwrites: lists become shorter.
type Column struct {
	Values  []byte
	Offsets [2][]int64
	Valid   []byte
	Mask    []byte // where the class numbers of a mask go
}

// places are the moves of a cut, as many for each image.
func (s *shaping) places(c *cut, w, h int, k *augment.Canvas) {
	if s.Area[1] > 0 || s.Resize[0] > 0 {
		k.Did(moves.Cut(w, h, c.x, c.y, c.partW, c.partH, c.toW, c.toH))
	}
	if s.Crop[0] > 0 && s.Area[1] == 0 {
		k.Did(moves.Cut(c.toW, c.toH, c.atX, c.atY, c.w, c.h, c.w, c.h))
	}
	switch {
	case c.mirrored:
		k.Did(moves.Oriented(c.w, c.h, 2))
	case s.Flip > 0 || s.none():
		k.Did(moves.Oriented(c.w, c.h, 1))
	}
}

// numbers are how many numbers Batch writes for the moves of an image, whose size the first has.
func (f *Form) numbers(chain *augment.Chain) int {
	n := 3
	if chain != nil {
		n += chain.Moving()
	}
	return n * moves.Numbers
}

func (f *Form) followers() (*augment.Followers, *augment.Chain, error) {
	chain, err := f.chain()
	if err != nil {
		return nil, nil, err
	}
	moving := !f.none() || chain != nil && chain.Moving() > 0
	l, err := augment.NewFollowers(f.Targets, f.Image, f.Fields, moving)
	return l, chain, err
}

// Following is the fields that follow the images, what they become, and the numbers of an image's moves.
func (f *Form) Following() (any, error) {
	l, chain, err := f.followers()
	if err != nil {
		return nil, err
	}
	return struct {
		Targets json.RawMessage `json:"targets"`
		Numbers int             `json:"numbers"`
		Doubt   bool            `json:"doubt"`
	}{l.Targets, f.numbers(chain), l.Doubt}, nil
}

// Follow makes the masks, boxes and points of a batch follow the moves that Batch wrote. columns are in
// the order of Fields; those that nothing follows are empty.
func (f *Form) Follow(ids []int64, moves []float64, columns []Column) ([]Left, error) {
	l, chain, err := f.followers()
	if err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	numbers, n := f.numbers(chain), len(ids)
	if len(columns) != len(f.Fields) || len(moves) != n*numbers {
		return nil, fmt.Errorf("%d fields and %d numbers of moves for %d fields of %d samples", len(columns), len(moves), len(f.Fields), n)
	}
	b := &shardify.Batch{Samples: n, IDs: make([]shardify.ID, n)}
	for i, id := range ids {
		b.IDs[i].Sample = id
	}
	for k := range columns {
		c := &columns[k]
		b.Columns = append(b.Columns, shardify.Column{Field: l.Fields()[k]})
		if err := c.fill(&b.Columns[k], n); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Columns[k].Name, err)
		}
	}
	var left []Left
	for k := range columns {
		if columns[k].Mask != nil {
			some, err := f.masks(l, b, k, moves, numbers, columns[k].Mask)
			if err != nil {
				return nil, err
			}
			left = append(left, some...)
		}
	}
	return left, l.Places(b, moves, numbers, func(b *shardify.Batch) error {
		for k := range columns {
			columns[k].take(&b.Columns[k])
		}
		return nil
	})
}

// fill checks the memory of a column, and hands it on.
func (c *Column) fill(to *shardify.Column, n int) error {
	if c.Valid != nil && len(c.Valid) != n {
		return fmt.Errorf("%d marks of %d samples", len(c.Valid), n)
	}
	if to.Valid = c.Valid; c.Values == nil && c.Offsets[0] == nil {
		for range to.Levels {
			to.Offsets = append(to.Offsets, make([]int64, n+1))
		}
		return nil
	}
	count := int64(n)
	for level := range to.Levels {
		o := c.Offsets[level]
		if int64(len(o)) != count+1 || o[0] != 0 || !slices.IsSorted(o) {
			return fmt.Errorf("%d offsets, not in order, for %d lists", len(o), count)
		}
		to.Offsets, count = append(to.Offsets, o), o[count]
	}
	if int64(len(c.Values)) != count*int64(to.ElemBytes()) {
		return fmt.Errorf("%d bytes for %d elements of %d", len(c.Values), count, to.ElemBytes())
	}
	to.Data = c.Values
	return nil
}

// take writes what a column has become over what it was.
func (c *Column) take(from *shardify.Column) {
	if c.Values == nil {
		return
	}
	copy(c.Values, from.Data)
	for level, o := range from.Offsets {
		copy(c.Offsets[level], o)
	}
}

// masks makes the class numbers of column k.
func (f *Form) masks(l *augment.Followers, b *shardify.Batch, k int, moves []float64, numbers int, out []byte) ([]Left, error) {
	n := b.Samples
	if n == 0 {
		return nil, nil
	}
	if len(out)%n != 0 {
		return nil, fmt.Errorf("%d bytes for %d masks", len(out), n)
	}
	var (
		each = len(out) / n
		next atomic.Int64
		mu   sync.Mutex
		left []Left
		wg   sync.WaitGroup
	)
	work := func() {
		canvas, _ := canvases.Get().(*augment.Canvas)
		if canvas == nil {
			canvas = new(augment.Canvas)
		}
		defer canvases.Put(canvas)
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			row := out[i*each : (i+1)*each]
			if v := b.Columns[k].Valid; b.IDs[i].Sample < 0 || v != nil && v[i] == 0 {
				clear(row)
				continue
			}
			if err := guard.Do(func() error { return l.Mask(canvas, b, k, i, moves[i*numbers:(i+1)*numbers], row) }); err != nil {
				clear(row)
				mu.Lock()
				left = append(left, leave(i, err))
				left[len(left)-1].Field = b.Columns[k].Name
				mu.Unlock()
			}
		}
	}
	for range min(f.Threads, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	slices.SortFunc(left, func(a, b Left) int { return a.Row - b.Row })
	return left, nil
}

var canvases sync.Pool
