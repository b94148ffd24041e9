package inspect

import (
	"encoding/binary"
	"testing"

	"github.com/shardify/shardify"
)

func TestRowsOfOneSampleAreNoticed(t *testing.T) {
	column := func(values ...uint64) *shardify.Column {
		c := &shardify.Column{Field: shardify.Field{Name: "event_id", DType: shardify.U64}}
		for _, v := range values {
			c.Data = binary.LittleEndian.AppendUint64(c.Data, v)
		}
		return c
	}
	for want, c := range map[int]*shardify.Column{3: column(1, 1, 1, 7, 7, 2, 2), 0: column(1, 1, 2, 2, 1), 4: column(1, 2, 3, 4), 1: column(5, 5)} {
		if n := runsOf(c, len(c.Data)/8); n != want {
			t.Errorf("%d runs, want %d", n, want)
		}
	}
	for name, want := range map[string]bool{"event_id": true, "event_no": true, "Event": true, "id": true, "energy": false, "width": false} {
		if f := (shardify.Field{Name: name, DType: shardify.I64}); indexLike(&f) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if indexLike(&shardify.Field{Name: "event_id", DType: shardify.I64, Levels: 1}) {
		t.Error("a list is taken for an index")
	}
}
