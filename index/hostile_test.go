package index

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/race"
)

// peakHeap is the most heap, rubbish included, that do takes beyond what there was.
func peakHeap(do func()) int64 {
	runtime.GC()
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64() + sample[1].Value.Uint64())
	}
	base, peak := read(), int64(0)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			peak = max(peak, read()-base)
			select {
			case <-quit:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	do()
	close(quit)
	<-done
	return peak
}

// hostileHeaders are texts of about n bytes, each made to unpack to as much as
// it can.
func hostileHeaders(n int) map[string]string {
	times := func(head, item, tail string) string {
		return head + strings.Repeat(item, max(1, (n-len(head)-len(tail))/len(item))) + tail
	}
	upTo := func(n int, head, form, tail string) string {
		b := []byte(head)
		for i := 0; len(b) < n-len(tail)-64; i++ {
			b = fmt.Appendf(b, form, i)
		}
		return string(b[:len(b)-1]) + tail
	}
	count := func(head, form, tail string) string { return upTo(n, head, form, tail) }
	list := strings.TrimSuffix(strings.Repeat("0,", maxRank), ",")
	shard := func(schema string) string {
		return `{"__metadata__":{"shardify":"1","shardify.samples":"0","shardify.schema":"` + schema[:min(len(schema), n-300)] + `"},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`
	}
	return map[string]string{
		"tensors":      count(`{`, `"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, `}`),
		"dimensions":   count(`{`, `"%x":{"dtype":"U8","shape":[`+list+`],"data_offsets":[0,0]},`, `}`),
		"one shape":    times(`{"a":{"dtype":"U8","shape":[`, `0,`, `0],"data_offsets":[0,0]}}`),
		"metadata":     count(`{"__metadata__":{`, `"%x":"",`, `}}`),
		"long text":    times(`{"__metadata__":{"a":"`, `x`, `"}}`),
		"escapes":      times(`{"__metadata__":{"a":"`, `\n`, `"}}`),
		"unknown keys": count(`{"a":{`, `"%x":0,`, `}}`),
		"schema":       shard(times(`[`, `{},`, `{}]`)),
		"attributes":   shard(upTo(n*9/32, `[{\"Attrs\":{`, `\"%x\":\"\",`, `}}]`)),
		"open lists":   shard(times(``, `[`, ``)),
	}
}

// TestHostileHeadersTakeLittleMemory: whatever a header unpacks to, its bound holds
// a process below 512 MiB. The short form measures headers of an eighth.
func TestHostileHeadersTakeLittleMemory(t *testing.T) {
	race.Sequential(t)
	size, bound := maxHeader/8, int64(60<<20)
	if os.Getenv("SHARDIFY_LONG") != "" {
		size, bound = maxHeader, 400<<20
	}
	for name, text := range hostileHeaders(size) {
		b := file(text, 0)
		text = ""
		var err error
		peak := peakHeap(func() { _, err = ParseShard(bytes.NewReader(b), int64(len(b))) })
		t.Logf("%-12s %3d MiB for a header of %d: %.100v", name, peak>>20, size>>20, err)
		if peak > bound {
			t.Errorf("%s: %d MiB of heap for a header of %d bytes", name, peak>>20, len(b))
		}
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
