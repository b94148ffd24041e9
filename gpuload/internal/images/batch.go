package images

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/internal/guard"
	"github.com/shardify/shardify/numbers/half"
)

// Form is what the pixels of a batch are to be.
type Form struct {
	Width    int            `json:"width"`
	Height   int            `json:"height"`
	Channels int            `json:"channels"` // 3: RGB, 1: grey
	Last     bool           `json:"last"`     // the channels are the last dimension
	To       shardify.DType `json:"dtype"`    // U8, F16, BF16 or F32
	// Scale and Shift make x * scale + shift of the values of each channel; none: x.
	Scale []float32 `json:"scale"`
	Shift []float32 `json:"shift"`
	// Scaled decodes JPEGs that become smaller at 1/2, 1/4 or 1/8 of their size.
	Scaled bool `json:"scaled"`
	shaping
	// Augment is operations on the images that shaping makes, as --augment has them.
	Augment []string `json:"augment"`
	following
	Seed    uint64 `json:"seed"`
	Threads int    `json:"threads"`
}

// Left is an image that was not made: its row in the batch and why. Damaged ones are Corrupt; the
// others are of a kind that is not decoded here, or do not have the size.
type Left struct {
	Row     int    `json:"row"`
	Corrupt bool   `json:"corrupt"`
	Refused bool   `json:"refused"` // the settings do not say what to do
	Why     string `json:"why"`
	Offset  int64  `json:"offset"`          // in the file, -1 unknown
	Field   string `json:"field,omitempty"` // of a mask
}

func leave(row int, err error) Left {
	l := Left{Row: row, Corrupt: errors.Is(err, shardify.ErrCorrupt), Refused: errors.Is(err, shardify.ErrSchema), Why: shardify.Plain(err), Offset: -1}
	var e *shardify.Error
	if l.Corrupt && errors.As(err, &e) {
		l.Why, l.Offset = strings.TrimSuffix(e.Err.Error(), ": "+shardify.ErrCorrupt.Error()), e.Offset
	}
	return l
}

const maxThreads = 1 << 10

func (f *Form) check() error {
	switch {
	case f.Width < 0 || f.Height < 0 || f.Width > 1<<16 || f.Height > 1<<16 || f.Width*f.Height > maxPixels:
		return fmt.Errorf("images of %d x %d pixels", f.Width, f.Height)
	case f.Channels != 1 && f.Channels != 3:
		return fmt.Errorf("images of %d channels", f.Channels)
	case !slices.Contains([]shardify.DType{shardify.U8, shardify.F16, shardify.BF16, shardify.F32}, f.To):
		return fmt.Errorf("pixels of type %v", f.To)
	case len(f.Scale) != len(f.Shift) || len(f.Scale) != 0 && len(f.Scale) != f.Channels:
		return fmt.Errorf("%d scales and %d shifts for %d channels", len(f.Scale), len(f.Shift), f.Channels)
	case f.Threads < 1 || f.Threads > maxThreads:
		return fmt.Errorf("%d threads", f.Threads)
	}
	for _, size := range [...][2]int{f.Resize, f.Crop} {
		if min(size[0], size[1]) < 0 || max(size[0], size[1]) > 1<<16 {
			return fmt.Errorf("a size of %d x %d pixels", size[0], size[1])
		}
	}
	return nil
}

// Batch writes the pixels of the images values[offsets[k]:offsets[k+1]] of the samples ids to out,
// row by row. Samples of number -1 are padding: they and images that are left become zeros. moves is what
// was done to the places of each image, for Follow; or none.
func (f *Form) Batch(epoch uint64, values []byte, offsets, ids []int64, out []byte, moves []float64) ([]Left, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	each := f.Width * f.Height * f.Channels * f.To.Size()
	if len(offsets) != len(ids)+1 || len(out) != each*len(ids) {
		return nil, fmt.Errorf("%d offsets and %d bytes for %d images of %d", len(offsets), len(out), len(ids), each)
	}
	chain, err := f.chain()
	if err != nil {
		return nil, err
	}
	numbers := f.numbers(chain)
	if moves != nil && len(moves) != numbers*len(ids) {
		return nil, fmt.Errorf("%d numbers of moves for %d images of %d", len(moves), len(ids), numbers)
	}
	for k := range ids {
		if offsets[k] < 0 || offsets[k+1] < offsets[k] || offsets[k+1] > int64(len(values)) {
			return nil, fmt.Errorf("offsets of image %d leave the %d bytes of the batch", k, len(values))
		}
	}
	if chain != nil && moves != nil {
		chain.Follow()
	}
	tables := f.tables()
	var (
		next atomic.Int64
		mu   sync.Mutex
		left []Left
		wg   sync.WaitGroup
	)
	work := func() {
		p, _ := painters.Get().(*painter)
		if p == nil {
			p = &painter{}
		}
		defer painters.Put(p)
		for k := int(next.Add(1)) - 1; k < len(ids); k = int(next.Add(1)) - 1 {
			row := out[k*each : (k+1)*each]
			if ids[k] < 0 {
				clear(row)
				continue
			}
			p.form, p.chain, p.tables, p.out = f, chain, tables, row
			p.chance, p.seed = chanceOf(f.Seed, epoch, forCut, uint64(ids[k])), uint64(chanceOf(f.Seed, epoch, forAugment, uint64(ids[k])))
			data := values[offsets[k]:offsets[k+1]]
			p.canvas.Begin()
			err := guard.Do(func() error { return p.paint(data) })
			if err == nil && moves != nil {
				p.canvas.Moves(moves[k*numbers : (k+1)*numbers])
			}
			if err != nil {
				clear(row)
				mu.Lock()
				left = append(left, leave(k, err))
				mu.Unlock()
			}
		}
	}
	for range min(f.Threads, len(ids)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	slices.SortFunc(left, func(a, b Left) int { return a.Row - b.Row })
	return left, nil
}

var painters sync.Pool

// chain is nil if there is nothing to augment.
func (f *Form) chain() (*augment.Chain, error) {
	if len(f.Augment) == 0 {
		return nil, nil
	}
	if f.Channels != 3 {
		return nil, errors.New("augment wants colours: leave out color=")
	}
	return augment.NewChain(f.Augment)
}

// Size is that of the images that the options make, whatever they are made of; 0: they have no common size.
func (f *Form) Size() (w, h int, err error) {
	c, err := f.chain()
	if w, h = f.size(); c != nil {
		w, h = c.Size(w, h)
	}
	return w, h, err
}

// tables are the bits that each value of each channel becomes.
func (f *Form) tables() *[3][256]uint32 {
	t := new([3][256]uint32)
	for c := range f.Channels {
		for v := range 256 {
			x := float32(v)
			if len(f.Scale) > 0 {
				x = float32(x*f.Scale[c]) + f.Shift[c]
			}
			switch f.To {
			case shardify.U8:
				t[c][v] = uint32(v)
			case shardify.F16:
				t[c][v] = uint32(half.ToF16(x))
			case shardify.BF16:
				t[c][v] = uint32(half.ToBF16(x))
			default:
				t[c][v] = math.Float32bits(x)
			}
		}
	}
	return t
}

func sized[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
