//go:build cuda && linux

package gpuload

import (
	"bytes"
	"container/heap"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/race"
)

// counted is what a batch costs the driver on its way to a consumer with one stream: calls
// that give it work or wait for some, and calls that concern the thread and the stream alone.
type counted struct {
	launches, copies, calls, thread, queries, link float64
	unused, numbered                               int64 // pinned bytes that no batch uses; samples that the host computed
}

// TestWhatABatchCostsTheDriver counts calls of the driver and bytes over the link, of a set of one
// column, of 16, and of 16 beside two of variable length; and of lists of 400 KiB a batch.
func TestWhatABatchCostsTheDriver(t *testing.T) {
	race.Sequential(t)
	fake := useFakeDriver(t)
	// Who copies what depends on the speeds: those of a typical GPU.
	device.Assume(0, &cuda.Speed{Batch: true})
	t.Cleanup(func() { device.Assume(0, nil) })
	schemas := map[string]string{"1": "x:f32[8]", "16": "x0:f32[8]"}
	for i := 1; i < 16; i++ {
		schemas["16"] += fmt.Sprintf(",x%d:%s", i, []string{"i64", "f32[3]", "u8[5]", "f16[32]"}[i%4])
	}
	schemas["16 and lists"] = schemas["16"] + ",a:f32*,b:i64*"
	schemas["long lists"] = "x:f32[8],a:f32*1600,b:i64*800"
	for name, schema := range schemas {
		lists, long := strings.HasSuffix(name, "lists"), name == "long lists"
		samples := 4096
		if long {
			samples = 1024
		}
		d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: schema, samples: samples, shard: 1000}))
		for _, way := range []struct {
			name   string
			config Config
		}{
			{"device, none", Config{Tier: TierDevice, DeviceMemory: 64 << 20}},
			{"device, global", Config{Tier: TierDevice, DeviceMemory: 64 << 20, Shuffle: Global, Seed: 1}},
			{"device, block", Config{Tier: TierDevice, DeviceMemory: 64 << 20, Shuffle: Block, Seed: 1, ShuffleWindow: 1024, Streams: 4}},
			{"pinned, global", Config{Tier: TierPinned, Shuffle: Global, Seed: 1}},
			{"pinned, block", Config{Tier: TierPinned, Shuffle: Block, Seed: 1, ShuffleWindow: 1024, Streams: 4}},
			{"stream, block", Config{Tier: TierStream, Shuffle: Block, Seed: 1, ShuffleWindow: 1024, Streams: 4}},
		} {
			if long && way.name != "pinned, global" || testing.Short() && name == "16" {
				continue
			}
			t.Run(way.name+", "+name, func(t *testing.T) {
				way.config.Batch, way.config.Device = 64, "cuda:0"
				c := countBatches(t, fake, d, way.config)
				t.Logf("launches %.2f, copies %.2f, calls %.2f and %.2f for the thread, queries %.2f, %.3f bytes over the link for each delivered, %d pinned bytes unused, %d samples computed by the host", c.launches, c.copies, c.calls, c.thread, c.queries, c.link, c.unused, c.numbered)
				// Five, six for each window of 16 batches, and one wait for several batches' lists. How many
				// batches are made ahead for the epoch to come depends on how fast the test takes them.
				calls := c.calls / max(c.launches, 1)
				limit := 5.5
				if lists {
					limit = 6
				}
				if c.launches > 1.1 || calls > limit || c.queries > 0 {
					t.Errorf("%.2f launches and %.2f calls a batch that was made, want at most 1 and %.1f", c.launches, calls, limit)
				}
				// One bracket of five, and two streams that must not be captured; a bracket at the end of the epoch.
				if c.thread > 7.4 {
					t.Errorf("%.2f calls a batch for the thread, want at most 7", c.thread)
				}
				most := 1.01
				if way.config.Tier == TierDevice && !lists {
					most = 0
				}
				if c.link > most {
					t.Errorf("%.3f bytes over the link for each delivered, want at most %.2f", c.link, most)
				}
				if c.unused != 0 {
					t.Errorf("%d bytes are pinned that no batch uses", c.unused)
				}
				if c.copies > 0.1 {
					t.Errorf("%.2f copies a batch", c.copies)
				}
				if c.numbered != 0 && !lists {
					t.Errorf("the host computed %d samples", c.numbered)
				}
			})
		}
	}
}

// countBatches counts over the second epoch, when tiers are full.
func countBatches(t *testing.T, fake *fakecuda.Driver, d *Dataset, config Config) (c counted) {
	l := mustLoader(t, d, config)
	const stream = 0
	var before map[string]int
	var link uint64
	batches, bytes := 0.0, 0.0
	var last *Batch
	for epoch := range 3 {
		if epoch == 1 {
			before, link = fake.Calls(), fake.Link()
		}
		for {
			unbind := l.Bind()
			if last != nil {
				if err := last.ReleaseOn(stream); err != nil {
					t.Fatal(err)
				}
			}
			b, err := l.Next(bg)
			if last = b; err == io.EOF {
				unbind()
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if epoch > 0 {
				batches, bytes = batches+1, bytes+float64(b.Bytes())
			}
			if err := b.Ready(stream); err != nil {
				t.Fatal(err)
			}
			unbind()
		}
	}
	after := fake.Calls()
	for name, n := range after {
		k := float64(n-before[name]) / batches
		switch name {
		case "cuLaunchKernel":
			c.launches = k
		case "cuMemcpyHtoDAsync_v2", "cuMemcpyBatchAsync_v2":
			c.copies += k
		case "cuEventQuery", "cuStreamQuery":
			c.queries += k
			continue
		case "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuThreadExchangeStreamCaptureMode", "cuStreamIsCapturing":
			c.thread += k
			continue
		}
		c.calls += k
	}
	// Batches are made ahead, and two windows loaded, for the epoch to come.
	ahead := bytes / batches * float64(len(l.queue.slots))
	if l.from.Windows != nil {
		ahead = float64(l.Stats().DeviceMemory)
	}
	c.link = (float64(fake.Link()-link) - ahead) / bytes
	c.numbered = l.meter.Computed.Load()
	for _, s := range l.queue.slots {
		for i := range s.Table.Data {
			if s.Table.Layout.Tensors[i].Lead == index.LeadSamples {
				c.unused += int64(len(s.Table.Data[i]))
			}
		}
	}
	return c
}

// TestStepsComeTogetherOnTheDevice: several steps are one batch there, too, with the rows that
// the host delivers, from one launch.
func TestStepsComeTogetherOnTheDevice(t *testing.T) {
	useFakeDriver(t)
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],y:i64", samples: 200, shard: 64}))
	for _, c := range []Config{
		{Shuffle: Global, Tier: TierDevice, DeviceMemory: 1 << 20}, {Shuffle: None, Tier: TierPinned, World: 3, Rank: 1},
		{Shuffle: Block, ShuffleWindow: 32, Streams: 4, Tier: TierStream, World: 2, Rank: 1},
	} {
		c.Numbers = true
		c.Batch, c.Group, c.Last, c.Seed = 8, 1<<10, Pad, 5
		host := c
		host.Device, host.DeviceMemory, host.Tier = "host", 0, TierStream
		c.Device = "cuda:0"
		want, have := mustLoader(t, d, host), mustLoader(t, d, c)
		if n := have.Together(); n < 2 || n != want.Together() {
			t.Fatalf("%d steps together, on the host %d", n, want.Together())
		}
		for {
			a, e1 := want.Next(bg)
			b, e2 := have.Next(bg)
			if e1 == io.EOF && e2 == io.EOF {
				break
			}
			if e1 != nil || e2 != nil {
				t.Fatal(e1, e2)
			}
			at := fetch(t, b)
			for _, name := range []string{"x", "y"} {
				if !bytes.Equal(a.Host(name), at.Host(name)) {
					t.Fatalf("%s: step %d, column %s differs from the host's", c.Shuffle, b.Index(), name)
				}
			}
			numbers, err := b.Numbers()
			if err != nil {
				t.Fatal(err)
			}
			at64 := unsafe.Slice((*int64)(*(*unsafe.Pointer)(unsafe.Pointer(&numbers.Ptr))), numbers.Shape[0])
			if !slices.Equal(at64, a.IDs()) || !slices.Equal(b.IDs(), a.IDs()) {
				t.Fatalf("%s: step %d has samples %v, want %v", c.Shuffle, b.Index(), at64, a.IDs())
			}
			a.Release()
			b.Release()
		}
	}
}

// TestDeviceKeepsAsManySamplesAsAnOrderThatIsKnownAllows holds the bytes over the link of a set that the
// device has no room for against Belady's choice, which knows the whole order: of the samples that
// are there, and the one that is just used, those that are needed latest go.
func TestDeviceKeepsAsManySamplesAsAnOrderThatIsKnownAllows(t *testing.T) {
	fake := useFakeDriver(t)
	const n = 2048
	schemas := []string{"x:f32[8]", "x:f32[8],y:u8[5]"}
	for k, row := range []int64{32, 37} {
		d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: schemas[k], samples: n, shard: 500}))
		for _, share := range []int64{8, 4, 2} {
			for _, c := range []Config{{Shuffle: None}, {Shuffle: Global}, {Shuffle: Block, ShuffleWindow: 512, Streams: 4}} {
				c.Seed, c.Batch, c.Tier, c.Device = 3, 64, TierDevice, "cuda:0"
				c.DeviceMemory = n/share*row + int64(k+1)*256
				l := mustLoader(t, d, c)
				kept := l.Stats().Kept
				if kept != n/share || !strings.Contains(notes(l), printable.Count(kept)+" of 2,048 samples fit") {
					t.Fatalf("%d samples are kept, want %d: %s", kept, n/share, notes(l))
				}
				link, made := linkShare(t, fake, d, c)
				// How many batches are made ahead for the next epoch depends on how fast the test takes them.
				least := 0.0
				for _, samples := range []int{3 * n, made} {
					least = max(least, float64(belady(l, samples, int(kept))-int(kept))/float64(samples))
				}
				t.Logf("%s, 1/%d: %.4f bytes over the link for each delivered, %.4f at least", c.Shuffle, share, link, least)
				if link > least+0.015 || least < 1-1/float64(share) {
					t.Errorf("%s, 1/%d: %.4f bytes over the link for each delivered, %.4f at least", c.Shuffle, share, link, least)
				}
				have := countBatches(t, fake, d, c)
				if have.launches > 1.1 || have.numbered != 0 || have.calls > 6 {
					t.Errorf("%s, 1/%d: %+v", c.Shuffle, share, have)
				}
			}
		}
	}
}

// linkShare is the bytes over the link for each byte of the batches that were made, without those
// that fill the tier, and how many samples these batches had: those of three epochs, and of the
// batches that were made ahead for the next one.
func linkShare(t *testing.T, fake *fakecuda.Driver, d *Dataset, c Config) (share float64, samples int) {
	l := mustLoader(t, d, c)
	calls, link := fake.Calls()["cuLaunchKernel"], fake.Link()
	for range 3 {
		if err := wholeOf(l); err != nil {
			t.Fatal(err)
		}
	}
	kept := l.Stats().Kept
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	row := l.want.Layout.RowBytes()
	samples = (fake.Calls()["cuLaunchKernel"] - calls) * c.Batch
	return float64(int64(fake.Link()-link)-kept*row) / float64(int64(samples)*row), samples
}

// belady is how many of the first samples of the epochs a cache of room samples has to fetch at least.
func belady(l *Loader, samples, room int) (misses int) {
	n := int(l.want.Order.Len())
	var ids []int64
	for e := 0; len(ids) < samples+n; e++ { // one epoch more, which says what is needed later
		part := make([]int64, n)
		l.want.Order.Cursor(e).Fill(part, 0, 1)
		ids = append(ids, part...)
	}
	next, last := make([]int, len(ids)), map[int64]int{}
	for i := len(ids) - 1; i >= 0; i-- {
		if next[i] = len(ids); last[ids[i]] > 0 {
			next[i] = last[ids[i]]
		}
		last[ids[i]] = i
	}
	there, latest := map[int64]bool{}, &latestFirst{}
	for i, id := range ids[:samples] {
		if !there[id] {
			misses++
		}
		there[id] = true
		heap.Push(latest, need{next[i], id}) // that of its use before is behind all others
		if len(there) > room {
			delete(there, heap.Pop(latest).(need).id)
		}
	}
	return misses
}

// TestDeviceKeepsSamplesThatAreDrawnMost: of a subset, and of samples with weights, the device keeps
// those that batches have.
func TestDeviceKeepsSamplesThatAreDrawnMost(t *testing.T) {
	fake := useFakeDriver(t)
	const n = 4096
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[8]", samples: n, shard: 1000}))
	weights, last := make([]float64, n), []int64{}
	for i := range weights {
		weights[i] = 1
		if i >= n/2 {
			last, weights[i] = append(last, int64(i)), 9
		}
	}
	for _, c := range []struct {
		Config
		least, most float64
	}{
		{Config{Indices: last[:n/4], Shuffle: Global, DeviceMemory: n/4*32 + 256}, 0, 0.01}, // the indices, too
		{Config{Indices: last, Shuffle: Global, DeviceMemory: n/4*32 + 256}, 0.49, 0.52},
		{Config{Weights: weights, DeviceMemory: n/2*32 + 256}, 0.33, 0.37}, // numbers cross it, too
	} {
		c.Batch, c.Tier, c.Device = 64, TierDevice, "cuda:0"
		if link, _ := linkShare(t, fake, d, c.Config); link < c.least || link > c.most {
			t.Errorf("%d indices, %d weights: %.4f bytes over the link for each delivered, want %.2f to %.2f", len(c.Indices), len(c.Weights), link, c.least, c.most)
		}
	}
}

// need is when a sample is needed next.
type need struct {
	at int
	id int64
}

type latestFirst []need

func (h latestFirst) Len() int           { return len(h) }
func (h latestFirst) Less(i, j int) bool { return h[i].at > h[j].at }
func (h latestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *latestFirst) Push(x any)        { *h = append(*h, x.(need)) }
func (h *latestFirst) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}
