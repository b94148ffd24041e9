//go:build linux

package cuda

import (
	"context"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/fakecuda"
)

// The tests run on a stand-in for the driver, which a C compiler builds when they start.

var bg = context.Background()

// fake is the stand-in's side of a test.
type fake struct{ *fakecuda.Driver }

func newFake(t testing.TB, flags ...string) *fake {
	t.Helper()
	return &fake{fakecuda.Load(t, flags...)}
}

// open opens the fake device without calibration and checks the end of the test.
func (f *fake) open(t testing.TB, o Options) *Device {
	t.Helper()
	o.Library, o.NoCalibration = f.Path, true
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		f.End(t)
	})
	return d
}

// eachOrder runs a test with streams that run what is queued at once, as late as they
// may, and with mixtures of both.
func eachOrder(t *testing.T, f *fake, test func(t *testing.T)) {
	for _, order := range []string{"prompt", "late", "1", "2", "3", "4"} {
		t.Run(order, func(t *testing.T) {
			f.Configure(fakecuda.Order, order)
			test(t)
		})
	}
}

// within fails a test that hangs instead of letting it.
func within(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// alloc is pinned memory for the length of the test.
func alloc(t testing.TB, d *Device, n int64) []byte {
	t.Helper()
	b, err := d.Alloc(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stream makes a stream as a consumer would.
func stream(t testing.TB, d *Device) uintptr {
	t.Helper()
	var s uintptr
	check(t, d.do(func() (err error) {
		s, err = d.drv.streamCreate(streamNonBlocking, 0)
		return err
	}))
	t.Cleanup(func() { check(t, d.do(func() error { return d.drv.streamDestroy(s) })) })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// move starts the move of rows into a tensor as a loader would: by the copy engine what is
// long and in host memory, else by a kernel. A second source begins at half of the rows.
func move(s *Slot, i int, ids []int64, row int64, from ...Source) error {
	n := int64(len(ids))
	b := Batch{Size: n, Rows: n, Split: n, IDs: ids}
	c := Column{Tensor: i, Row: row}
	if copy(c.From[:], from) == 2 {
		b.Split = n / 2
	}
	if from[0].Host != nil && len(from) == 1 && s.casts[i] == nil && row >= s.d.EngineRow() {
		b.Engine = []Column{c}
	} else {
		b.Columns = []Column{c}
	}
	if err := s.check(&b); err != nil {
		return err
	}
	return s.d.do(func() error {
		if err := s.begin(); err != nil {
			return err
		}
		if err := s.copyAll(nil, &b); err != nil {
			return err
		}
		return s.gather(&b)
	})
}
