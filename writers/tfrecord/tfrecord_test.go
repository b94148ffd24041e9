package tfrecord_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers/tfrecord"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) { writertest.Run(t, tfrecord.Format, nil) }

func TestContractOfArrayRecord(t *testing.T) { writertest.Run(t, tfrecord.ArrayRecord, nil) }

// TestNumbersThatAnExampleDoesNotHold: the error names sample and field, and there is no shard. What is stored of a missing
// value is not written.
func TestNumbersThatAnExampleDoesNotHold(t *testing.T) {
	column := func(nullable bool, levels int) writertest.Schema {
		return writertest.Schema{Fields: []shardify.Field{{Name: "n", DType: shardify.U64, Levels: levels, Nullable: nullable}}}
	}
	for _, c := range []struct {
		schema writertest.Schema
		valid  []byte
		ends   []int64
		sample int64
	}{
		{column(false, 0), nil, nil, 2},
		{column(true, 0), []byte{1, 1, 1, 0}, nil, 2},
		{column(true, 0), []byte{1, 1, 0, 1}, nil, -1},
		{column(false, 1), nil, []int64{0, 0, 2, 2, 4}, 3},
		{column(true, 1), []byte{1, 1, 1, 0}, []int64{0, 0, 2, 2, 4}, -1},
	} {
		b := writertest.Batches(c.schema, 4, 1, 4)[0]
		x := &b.Columns[0]
		x.Data = nil
		for _, v := range []uint64{math.MaxInt64, 0, math.MaxInt64 + 1, 7} {
			x.Data = binary.LittleEndian.AppendUint64(x.Data, v)
		}
		if x.Valid = c.valid; c.ends != nil {
			x.Offsets = [][]int64{c.ends}
		}
		dir := t.TempDir()
		sink, err := tfrecord.Format.New(local.NewDir(dir, local.SyncNone), format.ShardSpec{Name: "a.tfrecord", Schema: c.schema.Fields, Samples: 4})
		if err != nil {
			t.Fatal(err)
		}
		err = sink.Write(b)
		if e := sink.Abort(); e != nil {
			t.Error(e)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "a*"))
		e, is := errors.AsType[*shardify.Error](err)
		switch {
		case c.sample < 0 && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.sample >= 0 && (!is || e.Field != "n" || e.Sample != c.sample || !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "9223372036854775808")):
			t.Errorf("%+v: %v", c, err)
		case len(files) > 0:
			t.Error(files)
		}
	}
}
