package parttest

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/tests/race"
)

// writeNames writes a list of n names, in the order of their bytes.
func writeNames(w io.Writer, n int64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	pad := func(b []byte, x, digits int64) []byte {
		var text [20]byte
		s := strconv.AppendInt(text[:0], x, 10)
		for range digits - int64(len(s)) {
			b = append(b, '0')
		}
		return append(b, s...)
	}
	var b []byte
	for i := range n {
		b = pad(append(b[:0], "photos/d"...), i/10_000, 6)
		b = pad(append(b, "/img_"...), i, 10)
		b = append(b, ".jpg\n"...)
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// heapPeak samples the heap, rubbish included, until stop is called.
func heapPeak() (stop func() int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var peak uint64
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() int64 { close(quit); wg.Wait(); return int64(peak) }
}

// TestTwoMillionNamesArePlannedInParts: memory does not grow with the list.
func TestTwoMillionNamesArePlannedInParts(t *testing.T) {
	race.Sequential(t)
	const names, most = 2_000_000, 120 << 20
	n := int64(names)
	if race.On {
		n /= 10
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { writeNames(w, n); w.Close() }()
	stop := heapPeak()
	start := time.Now()
	x, err := pipeline.Prepare(context.Background(), pipeline.Settings{
		FilesFrom: "-", Stdin: r, Output: filepath.Join(t.TempDir(), "out"), Options: map[string]string{"assume-size": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Job.Source.Close()
	if err := plan.Publish(t.Context(), x.Plan, x.Store); err != nil {
		t.Fatal(err)
	}
	peak := stop()
	t.Logf("%d names in %d parts: %.2f s, heap peak %s", n, x.Plan.Pack.Parts(), time.Since(start).Seconds(), shardify.FormatSize(peak))
	if files, _ := x.Plan.In.Total(); files != n || x.Plan.Pack.Samples != n || x.Plan.Pack.Parts() < int(n/200_000) {
		t.Errorf("%d files, %d samples in %d parts", files, x.Plan.Pack.Samples, x.Plan.Pack.Parts())
	}
	if peak > most && !race.On {
		t.Errorf("heap peak %s", shardify.FormatSize(peak))
	}
}
