package wds_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers/wds"
)

// nowhere is a store that keeps nothing: the cost of the sink alone.
type nowhere struct{ storage.Store }

type nothing struct{ storage.Pending }

func (nowhere) Create(string) (storage.Pending, error) { return nothing{}, nil }
func (nothing) Write(b []byte) (int, error)            { return len(b), nil }
func (nothing) Commit(context.Context) error           { return nil }
func (nothing) Abort() error                           { return nil }

// files is a batch of n samples of one opaque field of this many bytes.
func files(n, size int) *shardify.Batch {
	f := shardify.Field{Name: "jpg", DType: shardify.U8, Levels: 1, Media: "jpg"}
	k := shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1, Media: "txt"}
	offsets, ends := []int64{0}, []int64{0}
	var keys []byte
	for i := range n {
		keys = fmt.Appendf(keys, "train/n0153/n0153_%06d", i)
		offsets, ends = append(offsets, int64((i+1)*size)), append(ends, int64(len(keys)))
	}
	return &shardify.Batch{
		Samples: n,
		Columns: []shardify.Column{{Field: f, Data: make([]byte, n*size), Offsets: [][]int64{offsets}}},
		Keys:    &shardify.Column{Field: k, Data: keys, Offsets: [][]int64{ends}},
	}
}

// events is a batch of n samples of three fixed fields, 1864 bytes each.
func events(n int) *shardify.Batch {
	b := &shardify.Batch{Samples: n}
	for _, f := range []shardify.Field{
		{Name: "x", DType: shardify.F32, Shape: []int{64, 7}}, {Name: "y", DType: shardify.I64}, {Name: "mask", DType: shardify.U8, Shape: []int{64}},
	} {
		b.Columns = append(b.Columns, shardify.Column{Field: f, Data: make([]byte, n*f.ElemBytes())})
	}
	return b
}

// jagged is a batch of n samples of one jagged field of this many values each.
func jagged(n, size int) *shardify.Batch {
	f := shardify.Field{Name: "Jet_pt", DType: shardify.F32, Levels: 1}
	offsets := []int64{0}
	for i := range n {
		offsets = append(offsets, int64((i+1)*size))
	}
	return &shardify.Batch{Samples: n, Columns: []shardify.Column{{Field: f, Data: make([]byte, n*size*4), Offsets: [][]int64{offsets}}}}
}

func BenchmarkSink(b *testing.B) {
	for _, c := range []struct {
		name  string
		batch *shardify.Batch
	}{
		{"files 7 KB", files(1000, 7000)},
		{"files 38 KB", files(200, 38000)},
		{"files 1 MB", files(8, 1e6)},
		{"event a sample", events(2000)},
		{"jagged", jagged(2000, 5)},
	} {
		b.Run(c.name+"/copy+hash", func(b *testing.B) { benchFloor(b, c.batch) })
		b.Run(c.name+"/nowhere", func(b *testing.B) { benchSink(b, nowhere{}, c.batch) })
		b.Run(c.name+"/disk", func(b *testing.B) { benchSink(b, nil, c.batch) })
	}
}

// benchSink writes shards of about 16 MB and reports the time of a sample.
func benchSink(b *testing.B, st storage.Store, batch *shardify.Batch) {
	per := int(max(1, (16<<20)/batch.Bytes()))
	var schema []shardify.Field
	for i := range batch.Columns {
		schema = append(schema, batch.Columns[i].Field)
	}
	b.ReportAllocs()
	b.SetBytes(batch.Bytes() * int64(per))
	samples := 0
	begin := cpu()
	for b.Loop() {
		to := st
		if to == nil {
			b.StopTimer()
			to = local.NewDir(b.TempDir(), local.SyncNone)
			b.StartTimer()
		}
		sink, err := wds.Format.New(to, format.ShardSpec{Name: "shard-000000.tar", Schema: schema, Keyed: batch.Keys != nil})
		if err != nil {
			b.Fatal(err)
		}
		for n := range per {
			batch.First.Sample = int64(n * batch.Samples)
			if err := sink.Write(batch); err != nil {
				b.Fatal(err)
			}
			samples += batch.Samples
		}
		if _, err := sink.Commit(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(samples), "ns/sample")
	b.ReportMetric(float64(cpu()-begin)/float64(samples), "cpu-ns/sample")
}

// benchFloor copies the payload through a buffer of the sink's size and hashes
// it: what no sink can do without.
func benchFloor(b *testing.B, batch *shardify.Batch) {
	buf := make([]byte, 512<<10)
	var sum index.Digest
	b.SetBytes(batch.Bytes())
	samples := 0
	begin := cpu()
	for b.Loop() {
		for i := range batch.Columns {
			for data := batch.Columns[i].Data; len(data) > 0; {
				n := copy(buf, data)
				sum.Write(buf[:n])
				data = data[n:]
			}
		}
		samples += batch.Samples
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(samples), "ns/sample")
	b.ReportMetric(float64(cpu()-begin)/float64(samples), "cpu-ns/sample")
}

// cpu is the processor time of this process, which neighbours on the machine
// disturb less than the clock.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
