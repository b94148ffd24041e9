package inspect

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/storages"
)

// Origin is where a sample of a data set was converted from.
type Origin struct {
	Input  int64  `json:"input"` // a line of the set's list of inputs, from 0
	File   string `json:"file,omitempty"`
	Object string `json:"object,omitempty"`
	Sample int64  `json:"sample"`
	Copy   int64  `json:"copy,omitempty"`
}

// IsOrigin reports whether a field is the one that --provenance makes.
func IsOrigin(f *shardify.Field) bool {
	return f.Name == plan.OriginField && f.DType == shardify.I64 && f.Levels == 0 && len(f.Shape) == 1 && f.Shape[0] >= 2 && f.Shape[0] <= 3
}

// origin reads the field that --provenance makes; nil if the batch has none. manifest
// is the path of the set's manifest, which the list of inputs is beside.
func origin(b *shardify.Batch, manifest string) *Origin {
	for k := range b.Columns {
		c := &b.Columns[k]
		if !IsOrigin(&c.Field) {
			continue
		}
		at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(c.Data[8*i:])) }
		o := &Origin{Input: at(0), Sample: at(1)}
		if c.Shape[0] > 2 {
			o.Copy = at(2)
		}
		o.find(filepath.Join(filepath.Dir(manifest), index.InputsName))
		return o
	}
	return nil
}

// find looks the input up. Without the list its number must do.
func (o *Origin) find(list string) {
	f, err := storages.Files.Open(context.Background(), list)
	if err != nil {
		return
	}
	defer f.Close()
	s := bufio.NewScanner(io.NewSectionReader(f, 0, f.Size()))
	s.Buffer(nil, 1<<20)
	for i := int64(0); s.Scan(); i++ {
		if i == o.Input {
			var line Origin
			if json.Unmarshal(s.Bytes(), &line) == nil {
				o.File, o.Object = line.File, line.Object
			}
			return
		}
	}
}

// String is the origin for people.
func (o *Origin) String() string {
	from := o.File
	if from == "" {
		from = fmt.Sprintf("input %d", o.Input)
	}
	if o.Object != "" {
		from += " " + o.Object
	}
	from += fmt.Sprintf(", sample %d", o.Sample)
	if o.Copy > 0 {
		from += fmt.Sprintf(", copy %d", o.Copy)
	}
	return from
}
