package main

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
)

// keyName is the column of the samples' own names.
const keyName = "__key__"

// info is what shardify_open returns.
type info struct {
	Schema  []shardify.Field `json:"schema"` // as delivered, companions included
	Columns []columnInfo     `json:"columns"`
	Tensors []tensorInfo     `json:"tensors"`
	Numbers int              `json:"numbers"` // in Tensors: the samples' numbers on the GPU, or -1
	Steps   int              `json:"steps"`
	Group   int              `json:"group"`   // steps of a batch, at most
	Samples int64            `json:"samples"` // of the set
	Length  int64            `json:"length"`  // positions of an epoch
	Strided bool             `json:"strided"` // the rows of a step go to the ranks in turn
	Slots   int              `json:"slots"`
	Device  string           `json:"device"`
	Tier    string           `json:"tier"`
	Notes   []string         `json:"notes"`
	State   gpuload.State    `json:"state"` // before the first batch
	Order   string           `json:"order"` // of a state inside the first epoch
}

// columnInfo says where in Tensors a column's tensors are; -1: it has none.
type columnInfo struct {
	Name     string `json:"name"`
	Values   int    `json:"values"`
	Offsets  int    `json:"offsets"`
	Offsets1 int    `json:"offsets1"`
	Valid    int    `json:"valid"`
}

type tensorInfo struct {
	DType string `json:"dtype"`
	Inner []int  `json:"inner"` // dimensions after the first
	// Lead is what the first dimension counts: "samples", "offsets" (samples + 1),
	// "lists" or "elements".
	Lead string `json:"lead"`

	get func(*gpuload.Batch) (gpuload.Tensor, error)
}

// samples is those that there are.
func (l *loader) samples() int64 {
	if w := l.Window(); w != nil {
		return w.Len()
	}
	return l.set.Len()
}

// describe lists the tensors of every batch: each once, though columns with one
// counter share their offsets.
func (l *loader) describe(numbers bool) {
	offsets := map[string]int{}
	add := func(d shardify.DType, inner []int, lead string, get func(*gpuload.Batch, string) (gpuload.Tensor, error), col string) int {
		if inner == nil {
			inner = []int{}
		}
		l.tensors = append(l.tensors, tensorInfo{d.String(), inner, lead, func(b *gpuload.Batch) (gpuload.Tensor, error) { return get(b, col) }})
		return len(l.tensors) - 1
	}
	schema := l.Schema()
	fields := schema
	for _, name := range l.Columns() {
		if name == keyName {
			fields = append(fields, shardify.Field{Name: keyName, DType: shardify.U8, Levels: 1, Media: "txt"})
		}
	}
	columns := []columnInfo{}
	for i := range fields {
		f := &fields[i]
		c := columnInfo{f.Name, -1, -1, -1, -1}
		if f.Levels == 0 {
			c.Values = add(f.DType, f.Shape, "samples", (*gpuload.Batch).Tensor, f.Name)
		} else {
			c.Values = add(f.DType, f.Shape, "elements", (*gpuload.Batch).Tensor, f.Name)
			n, ok := offsets[f.CounterName()]
			if !ok {
				n = add(shardify.I64, nil, "offsets", (*gpuload.Batch).Offsets, f.Name)
				offsets[f.CounterName()] = n
			}
			c.Offsets = n
		}
		if f.Levels == 2 {
			c.Offsets1 = add(shardify.I64, nil, "lists", (*gpuload.Batch).Offsets1, f.Name)
		}
		if f.Nullable {
			var inner []int
			if l.Window() != nil { // for each row of a window
				inner = f.Shape[:1]
			}
			c.Valid = add(shardify.Bool, inner, "samples", (*gpuload.Batch).Valid, f.Name)
		}
		columns = append(columns, c)
	}
	at := -1
	if numbers && l.Device().Device != "host" {
		at = add(shardify.I64, nil, "samples", func(b *gpuload.Batch, _ string) (gpuload.Tensor, error) { return b.Numbers() }, "")
	}
	l.info = info{
		Schema: schema, Columns: columns, Tensors: l.tensors, Numbers: at, Steps: l.Steps(), Group: l.Loader.Together(), Samples: l.samples(), Length: l.Order().LenOf(l.State().Epoch), Strided: l.Strided(), Slots: l.slots,
		Device: l.Device().Device, Tier: string(l.Stats().Tier), Notes: l.Notes(), State: l.State(), Order: l.Order().TextAt(l.State().Epoch, 1),
	}
}
