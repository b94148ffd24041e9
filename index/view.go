package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

// NextSuffix makes the name of what follows an anchor from that of a field.
const NextSuffix = ".next"

// MaxWindow is the most rows of a window, those of In and those of Out each.
const MaxWindow = 1 << 20

// maxReach is the farthest that a row can be from its anchor.
const maxReach = 1 << 61

// View says which rows of a set make a sample: a window around an anchor, which is a row too.
// Rows are stored once, however many windows they are in.
type View struct {
	// Window is the text that the view was made from.
	Window string `json:"window,omitempty"`
	// In and Out are rows as distances from the anchor: those of field NAME and of NAME.next.
	In  []int64 `json:"in"`
	Out []int64 `json:"out,omitempty"`
	// Anchors are runs of row numbers, in rising order.
	Anchors []Anchors `json:"anchors"`
}

// Anchors are rows Lo, Lo+Step, ... below Hi. In JSON they are [Lo, Hi], or [Lo, Hi, Step] where
// Step is not 1.
type Anchors struct{ Lo, Hi, Step int64 }

// Len is how many there are.
func (a Anchors) Len() int64 { return (a.Hi-a.Lo-1)/a.Step + 1 }

// MarshalJSON writes a list of two or three numbers.
func (a Anchors) MarshalJSON() ([]byte, error) {
	if a.Step == 1 {
		return json.Marshal([2]int64{a.Lo, a.Hi})
	}
	return json.Marshal([3]int64{a.Lo, a.Hi, a.Step})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *Anchors) UnmarshalJSON(b []byte) error {
	var v []int64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	switch len(v) {
	case 2:
		v = append(v, 1)
	case 3:
	default:
		return fmt.Errorf("anchors of %d numbers: want 2 or 3", len(v))
	}
	*a = Anchors{v[0], v[1], v[2]}
	return nil
}

// Len is the number of windows.
func (v *View) Len() (n int64) {
	for _, a := range v.Anchors {
		n += a.Len()
	}
	return n
}

// Rows are all anchors.
func (v *View) Rows() []int64 {
	list := make([]int64, 0, v.Len())
	for _, a := range v.Anchors {
		for r := a.Lo; r < a.Hi; r += a.Step {
			list = append(list, r)
		}
	}
	return list
}

// CheckAnchors refuses rows that are no anchors.
func (v *View) CheckAnchors(list []int64) error {
	for i, row := range list {
		k, ok := slices.BinarySearchFunc(v.Anchors, row, func(a Anchors, row int64) int {
			switch {
			case row < a.Lo:
				return 1
			case row >= a.Hi:
				return -1
			}
			return 0
		})
		if !ok || (row-v.Anchors[k].Lo)%v.Anchors[k].Step != 0 {
			return fmt.Errorf("index %d is row %d, which is not the anchor of a window", i, row)
		}
	}
	return nil
}

// Span is the least and the greatest distance of a row from its anchor.
func (v *View) Span() (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	for _, list := range [][]int64{v.In, v.Out} {
		for _, o := range list {
			lo, hi = min(lo, o), max(hi, o)
		}
	}
	return lo, hi
}

// Digest is a number of the anchors, which decide the order of the windows.
func (v *View) Digest() uint64 {
	var h xxh3.Hasher
	var w [24]byte
	for _, a := range v.Anchors {
		binary.LittleEndian.PutUint64(w[:], uint64(a.Lo))
		binary.LittleEndian.PutUint64(w[8:], uint64(a.Hi))
		binary.LittleEndian.PutUint64(w[16:], uint64(a.Step))
		h.Write(w[:])
	}
	return h.Sum64()
}

// Check refuses a view with a row outside of a set of so many.
func (v *View) Check(rows int64) error {
	if len(v.In) == 0 || len(v.In) > MaxWindow || len(v.Out) > MaxWindow {
		return shardify.Corrupt(-1, "a window of %d rows and %d after them: want 1 to %d, and 0 to %d", len(v.In), len(v.Out), MaxWindow, MaxWindow)
	}
	lo, hi := v.Span()
	if lo < -maxReach || hi > maxReach {
		return shardify.Corrupt(-1, "a window from row %d to row %d of its anchor", lo, hi)
	}
	at := int64(0)
	for _, a := range v.Anchors {
		if a.Step < 1 || a.Lo < at || a.Hi <= a.Lo || a.Hi > rows {
			return shardify.Corrupt(-1, "anchors [%d, %d) with step %d, behind row %d of %d", a.Lo, a.Hi, a.Step, at, rows)
		}
		if last := a.Lo + (a.Len()-1)*a.Step; a.Lo+lo < 0 || hi >= rows-last {
			return shardify.Corrupt(-1, "windows of the anchors from %d to %d reach from %d rows before them to %d behind: there are %d", a.Lo, last, -lo, hi, rows)
		}
		at = a.Hi
	}
	return nil
}

// JoinWindows is the views of a set that has the rows of others one after the other: those that all
// of them have, of the same rows around the anchor. No window goes from one to the next. What a set
// without anchors says of rows does not matter. lost are the views of the first set that are left out.
func JoinWindows(sets ...*Manifest) (all map[string]View, lost []string) {
	for _, name := range slices.Sorted(maps.Keys(sets[0].Windows)) {
		at := int64(0)
		v, alike := sets[0].Windows[name], true
		v.Anchors = []Anchors{}
		for _, m := range sets {
			w, ok := m.Windows[name]
			if len(v.Anchors) == 0 && len(w.Anchors) > 0 {
				v.In, v.Out = w.In, w.Out
			}
			alike = alike && ok && (len(w.Anchors) == 0 || slices.Equal(v.In, w.In) && slices.Equal(v.Out, w.Out))
			for _, a := range w.Anchors {
				v.Anchors = append(v.Anchors, Anchors{a.Lo + at, a.Hi + at, a.Step})
			}
			at += m.Samples
		}
		if !alike {
			lost = append(lost, name)
			continue
		}
		if all == nil {
			all = map[string]View{}
		}
		all[name] = v
	}
	return all, lost
}

// checkWindows: every view fits the rows, and its names the fields.
func (m *Manifest) checkWindows() error {
	for _, name := range slices.Sorted(maps.Keys(m.Windows)) {
		v := m.Windows[name]
		if err := v.Check(m.Samples); err != nil {
			return shardify.Annotate(err, "", "", "window "+name)
		}
	}
	return nil
}
