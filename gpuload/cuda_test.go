//go:build cuda && linux

package gpuload

import (
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/index"
)

// useFakeDriver makes cuda:0 the driver of internal/cuda/testdata/fakecuda, whose
// device memory is host memory. Its streams are slow, so that what reads too early
// reads something else.
func useFakeDriver(t testing.TB) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the fake driver with")
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if out, err := exec.Command(cc, "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-DFAKECUDA_BATCH=2", "-o", path,
		"internal/cuda/testdata/fakecuda/fakecuda.c", "-lpthread", "-lm").CombinedOutput(); err != nil {
		t.Skipf("the C compiler cannot build the fake driver: %v\n%s", err, out)
	}
	t.Setenv(cuda.LibraryVariable, path)
}

// fetch waits for a batch on the device and puts it where the tests look.
func fetch(t testing.TB, b *Batch) {
	t.Helper()
	s := b.slot
	if err := b.Ready(0); err != nil {
		t.Fatal(err)
	}
	if err := s.device.(*cudaSlot).Wait(bg); err != nil {
		t.Fatal(err)
	}
	for i := range s.table.data {
		at := b.loader.dev.tensor(s, i)
		if to := s.table.bytes(i); len(to) > 0 {
			copy(to, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), len(to)))
		}
	}
}

func TestTheDeviceDeliversEverySampleBitExact(t *testing.T) {
	useFakeDriver(t)
	for format, schema := range everyKind {
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 257, shard: 50, keyed: true})
		want := contents(t, format, dir)
		d := mustOpen(t, dir)
		t.Run(format, func(t *testing.T) {
			eachWay(t, func(t *testing.T, c Config) {
				c.Batch, c.Last, c.Keys, c.Workers, c.Device = 16, Pad, true, 3, "cuda:0"
				l := mustLoader(t, d, c)
				for range 2 {
					var all []int64
					for {
						b, err := l.Next(bg)
						if err == io.EOF {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						fetch(t, b)
						for i, id := range b.IDs()[:b.Rows()] {
							compareRow(t, b, i, want, id)
							compareKey(t, b, i, want, id)
							all = append(all, id)
						}
						comparePadding(t, b)
						b.Release()
					}
					slices.Sort(all)
					for i, id := range all {
						if id != int64(i) || len(all) != 257 {
							t.Fatalf("%d samples of 257; number %d is sample %d", len(all), i, id)
						}
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// comparePadding: fixed fields of rows behind the last sample are zeros.
func comparePadding(t testing.TB, b *Batch) {
	t.Helper()
	tb := b.slot.table
	for i := range tb.layout.Tensors {
		if tb.layout.Tensors[i].Lead != index.LeadSamples {
			continue
		}
		for _, v := range tb.part(i, int64(b.Rows()), tb.rows) {
			if v != 0 {
				t.Fatalf("padding of tensor %s is %d", tb.layout.Tensors[i].Name, v)
			}
		}
	}
}

func TestABatchOutlivesItsLoaderOnTheDevice(t *testing.T) {
	useFakeDriver(t)
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100, shard: 30})
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 10, Device: "cuda"})
	b, err := l.Next(bg)
	if err != nil {
		t.Fatal(err)
	}
	dev := l.dev.(*cudaDevice)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fetch(t, b)
	x := b.Host("x")
	if len(x) != 80 || len(shardify.View[int64](x)) != 10 {
		t.Errorf("%d bytes", len(x))
	}
	b.Release()
	if n := dev.gpu.Pinned(); n != 0 || dev.err != nil {
		t.Errorf("%d bytes are still pinned, error %v", n, dev.err)
	}
}

func TestWithoutADriverAutoIsTheHost(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, "/nowhere/libcuda.so.1")
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100, shard: 30})
	d := mustOpen(t, dir)
	if l := mustLoader(t, d, Config{Batch: 10}); l.dev.String() != "host" {
		t.Errorf("device %s", l.dev)
	}
	if _, err := d.Loader(Config{Batch: 10, Device: "cuda:0"}); !errors.Is(err, ErrNoDriver) {
		t.Errorf("%v: want ErrNoDriver", err)
	}
	useFakeDriver(t)
	if l := mustLoader(t, d, Config{Batch: 10}); l.dev.String() != "cuda:0" {
		t.Errorf("device %s", l.dev)
	}
	if _, err := d.Loader(Config{Batch: 10, Device: "cuda:1"}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("%v: want ErrNoDevice", err)
	}
}
