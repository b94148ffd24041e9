package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/tests/race"
)

const million = 1_000_000

// heapPeak samples the heap, rubbish included, until stop is called.
func heapPeak() (stop func() int64) {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	base, peak := sample[0].Value.Uint64(), uint64(0)
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
	return func() int64 { close(quit); wg.Wait(); return int64(peak - base) }
}

func TestMillionFilesFitIn200MiB(t *testing.T) {
	if race.On {
		t.Skip("memory under the race detector says nothing")
	}
	stop := heapPeak()
	table := &format.Table{Roots: []string{"/nowhere"}}
	var name []byte
	for i := range million {
		name = append(name[:0], "class"...)
		name = strconv.AppendInt(name, int64(i/2/700), 10)
		name = append(name, "/image_"...)
		name = strconv.AppendInt(name, int64(100_000_000+i/2), 10)
		name = append(name, []string{".jpg", ".json"}[i%2]...)
		table.Append(0, string(name), int64(i%5000), 1e18)
	}
	src := openTable(t, table, nil)
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for s, err := range src.Spans(context.Background(), 4<<20) {
		if err != nil {
			t.Fatal(err)
		}
		n += s.Samples()
	}
	peak := stop()
	if n != million/2 || len(src.Schema()) != 3 {
		t.Fatalf("%d samples of %q", n, describe(src))
	}
	if len(state) > 16<<10 {
		t.Errorf("a state of %d bytes for files in order", len(state))
	}
	t.Logf("%d files: heap peak %s", table.Len(), shardify.FormatSize(peak))
	if peak > 200<<20 {
		t.Errorf("heap peak %s", shardify.FormatSize(peak))
	}
	runtime.KeepAlive(table)
}

// TestMillionRealFilesFitIn200MiB makes the files: half a minute.
func TestMillionRealFilesFitIn200MiB(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("SHARDIFY_LONG is not set")
	}
	for _, c := range []struct{ folders, each int }{{1000, 1000}, {1, million}} {
		t.Run(fmt.Sprintf("%d folders", c.folders), func(t *testing.T) { realFiles(t, c.folders, c.each) })
	}
}

func realFiles(t *testing.T, folders, each int) {
	dir := t.TempDir()
	for d := range folders {
		sub := filepath.Join(dir, fmt.Sprintf("class%04d", d))
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range each {
			fd, err := syscall.Open(filepath.Join(sub, fmt.Sprintf("img_%07d.jpg", d*each+i)), syscall.O_CREAT|syscall.O_WRONLY, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			syscall.Close(fd)
		}
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("cannot reset the peak of memory: ", err)
	}
	start := time.Now()
	table, _, err := walk.Walk(context.Background(), walk.Request{Inputs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	walked := time.Since(start)
	src := openTable(t, table, nil)
	opened := time.Since(start) - walked
	peak := residentPeak(t)
	t.Logf("%d files in %d folders: listed in %v, grouped in %v, %d fields, peak %s", table.Len(), folders, walked, opened, len(src.Schema()), shardify.FormatSize(peak))
	if table.Len() != million || peak > 200<<20 {
		t.Errorf("%d files, peak %s", table.Len(), shardify.FormatSize(peak))
	}
}

func residentPeak(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	t.Skip("no VmHWM")
	return 0
}
