//go:build cuda && linux

package gpuload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/fakecuda"
)

// TestRandomProgramsOnTheDevice runs random programs of a consumer, beyond what people
// write. Batches are taken, read on streams of every kind as late as these allow, held, and
// given back in any order by any thread, while epochs restart midway and loaders are closed.
// Every read must give the samples of its batch, and every program must end. $SEED runs one
// program alone.
func TestRandomProgramsOnTheDevice(t *testing.T) {
	fake := useFakeDriver(t)
	programs := 150
	if long() {
		programs = 10_000
	} else if testing.Short() {
		programs = 50
	}
	if s := os.Getenv("PROGRAMS"); s != "" {
		programs, _ = strconv.Atoi(s)
	}
	var sets []*sampled
	for _, o := range []setOptions{
		{format: index.FormatMmap, schema: "x:f32[6],y:u8[5]", samples: 97, shard: 30},
		{format: index.FormatMmap, schema: "x:i64,hits:f32*", samples: 60, shard: 60},
		{format: index.FormatWDS, schema: "x:u8[33],h:i16*", samples: 41, shard: 20},
	} {
		sets = append(sets, sample(t, o))
	}
	first, last := uint64(0), uint64(programs)
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		first, last = s, s+1
	}
	for seed := first; seed < last; seed++ {
		p := &program{fake: fake, r: rand.New(rand.NewPCG(seed, 1)), untold: map[*Batch]bool{}}
		p.set = sets[p.r.IntN(len(sets))]
		done := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // stream 2 is its own
			done <- p.run()
		}()
		select {
		case err := <-done:
			if s := fake.Text("report"); s != "" {
				err = errors.Join(err, errors.New(s))
			}
			if s := fake.Left(); s != "" {
				err = errors.Join(err, errors.New("left behind: "+s))
			}
			if err != nil {
				t.Fatalf("program %d: %v\n%s", seed, err, p.text())
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("program %d does not end:\n%s", seed, p.text())
		}
	}
}

// sampled is a set, and what its column x holds.
type sampled struct {
	*Dataset
	x   []byte
	row int
}

func sample(t testing.TB, o setOptions) *sampled {
	s := &sampled{Dataset: mustOpen(t, makeSet(t, o))}
	l := mustLoader(t, s.Dataset, Config{Batch: o.samples, Device: "host"})
	b, err := l.Next(bg)
	if err != nil {
		t.Fatal(err)
	}
	s.x = append(s.x, b.Host("x")...)
	s.row = len(s.x) / o.samples
	b.Release()
	l.Close()
	return s
}

// program is one consumer.
type program struct {
	fake    *fakecuda.Driver
	r       *rand.Rand
	set     *sampled
	l       *Loader
	streams []Stream
	held    []*Batch
	untold  map[*Batch]bool // it is read on a stream that only Release is to wait for
	reads   []read
	lines   []string
	copies  bool // some batches are copied, and the copies are read
}

// read is a batch's x as a stream saw it.
type read struct {
	line int
	ids  []int64
	got  []byte
}

func (p *program) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *program) text() string { return strings.Join(p.lines[max(len(p.lines)-100, 0):], "\n") }

func (p *program) one(list ...int) int { return list[p.r.IntN(len(list))] }

func (p *program) config() Config {
	c := Config{
		Device: "cuda:0", Columns: []string{"x", "*"}[:1+p.r.IntN(2)], Batch: p.one(1, 4, 7, 16), Seed: p.r.Uint64(),
		Shuffle: []Shuffle{None, Block, Global}[p.r.IntN(3)], ShuffleWindow: int64(p.one(8, 24, 40)), Streams: p.one(1, 2, 3),
		Last: []Last{Drop, Pad, Short}[p.r.IntN(3)], Tier: []Tier{TierStream, TierPinned, TierDevice}[p.r.IntN(3)],
		DeviceMemory: 1 << 20, Depth: p.one(1, 2, 3), Workers: p.one(1, 2, 3), Verify: load.VerifyNone,
	}
	switch {
	case p.r.IntN(3) > 0:
	case c.Tier == TierDevice:
		c.DeviceMemory = int64(p.one(1000, 1400, 2000)) // a part of the set
	default:
		c.DeviceMemory = -1 // kernels read host memory
	}
	return c
}

func (p *program) run() (err error) {
	order := []string{"prompt", "late", strconv.Itoa(p.r.IntN(1 << 20))}[p.r.IntN(3)]
	p.fake.Reset()
	p.fake.Configure(fakecuda.Order, order)
	p.streams = []Stream{0, 1, 2}
	for _, flags := range []uint32{1, 1, 1, 0} {
		s := p.fake.Stream(flags)
		defer p.fake.Drop(s)
		p.streams = append(p.streams, Stream(s))
	}
	c := p.config()
	p.copies = p.r.IntN(3) == 0
	p.say("order %s, %+v", order, c)
	if p.l, err = p.set.Loader(c); errors.Is(err, shardify.ErrUnsupported) { // hardly any sample fits
		c.DeviceMemory = 1 << 20
		p.l, err = p.set.Loader(c)
	}
	if err != nil {
		return err
	}
	for range 20 + p.r.IntN(60) {
		if err := p.step(c.Depth); err != nil {
			return errors.Join(err, p.l.Close())
		}
	}
	for len(p.held) > 0 && p.r.IntN(8) > 0 {
		if err := p.release(p.take()); err != nil {
			return err
		}
	}
	p.say("close with %d held", len(p.held))
	if p.copies { // the copies are in memory of the device, which goes with it
		p.fake.Finish()
	}
	err = p.l.Close()
	for _, b := range p.held {
		err = errors.Join(err, p.read(b, p.streams[0]), b.ReleaseOn())
	}
	p.fake.Finish()
	return errors.Join(err, p.check())
}

// step is one thing that the consumer does.
func (p *program) step(depth int) error {
	switch k := p.r.IntN(20); {
	case len(p.held) <= depth && k < 12:
		return p.next()
	case len(p.held) == 0:
		return p.elsewhere()
	case k < 14:
		return p.use(p.held[p.r.IntN(len(p.held))])
	case k == 19:
		return p.elsewhere()
	default:
		return p.release(p.take())
	}
}

func (p *program) elsewhere() error {
	switch p.r.IntN(6) {
	case 0:
		e := p.r.IntN(4)
		p.say("epoch %d", e)
		return p.l.SetEpoch(e)
	case 1:
		s := p.l.State()
		s.Epoch, s.Position = p.r.IntN(3), int64(p.r.IntN(40))
		p.say("state %d, %d", s.Epoch, s.Position)
		return p.l.Restore(s)
	case 2:
		p.say("grow")
		return p.l.Grow()
	}
	time.Sleep(time.Duration(p.r.IntN(300)) * time.Microsecond)
	return nil
}

func (p *program) next() error {
	b, err := p.l.Next(bg)
	if err == io.EOF {
		p.say("end of an epoch")
		return nil
	}
	if err != nil {
		return err
	}
	p.held = append(p.held, b)
	p.say("batch %d of epoch %d: samples %v", b.Index(), b.Epoch(), b.IDs())
	if p.r.IntN(8) == 0 {
		return nil // used later, or never
	}
	return p.use(b)
}

func (p *program) take() *Batch {
	k := p.r.IntN(len(p.held))
	b := p.held[k]
	p.held = append(p.held[:k], p.held[k+1:]...)
	return b
}

func (p *program) stream() Stream { return p.streams[p.r.IntN(len(p.streams))] }

// use reads a batch and reports that in one of the possible ways.
func (p *program) use(b *Batch) error {
	s := p.stream()
	switch p.r.IntN(8) {
	case 0: // on a thread of its own
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- errors.Join(b.Ready(s), p.read(b, s))
		}()
		return <-done
	case 1:
		p.say("a consumer on an unknown stream")
		p.untold[b] = true
		err := b.slot.Load().On.State.(*device.CUDASlot).Wait(bg)
		return errors.Join(err, b.Use(Unknown), p.read(b, s))
	case 2:
		if p.untold[b] {
			break
		}
		err := errors.Join(b.Ready(s), p.read(b, s), b.Leave(s))
		p.say("stream %#x left", s)
		return err
	case 3:
		if p.copies && !p.l.queue.isClosed() {
			return p.copy(b, s)
		}
	case 4:
		if err := b.Wait(bg); err != nil {
			return err
		}
	}
	return errors.Join(b.Ready(s), p.read(b, s))
}

// copy copies a batch's columns to memory of the consumer, and reads x there.
func (p *program) copy(b *Batch, s Stream) error {
	var list []DeviceCopy
	var sizes []int64
	for _, name := range b.Columns() {
		t, err := b.Tensor(name)
		if err != nil {
			return err
		}
		n := int64(t.DType.Size())
		for _, k := range t.Shape {
			n *= k
		}
		list, sizes = append(list, DeviceCopy{From: t, Bytes: n}), append(sizes, n)
	}
	to, err := p.l.dev.Dev.(*device.CUDA).Driver.NewSlot(cuda.SlotOptions{Tensors: sizes})
	if err != nil {
		return err
	}
	for i := range list {
		list[i].To = uintptr(to.Ptr(i))
	}
	p.say("copy on %#x", s)
	return errors.Join(b.CopyOn(s, list...), p.readAt(b, s, list[0].To))
}

func (p *program) read(b *Batch, s Stream) error {
	t, err := b.Tensor("x")
	if err != nil {
		return err
	}
	return p.readAt(b, s, t.Ptr)
}

func (p *program) readAt(b *Batch, s Stream, at uintptr) error {
	rows := b.Batch()
	n := int64(rows * p.set.row)
	if n == 0 {
		return nil
	}
	to, err := load.HostMemory{}.Alloc(n, 1)
	if err != nil {
		return err
	}
	p.say("read on %#x", s)
	p.reads = append(p.reads, read{len(p.lines), append([]int64(nil), b.IDs()[:rows]...), to})
	if b.slot.Load() != nil && p.l.queue.isClosed() {
		err = b.Ready(s)
	}
	if r := p.fake.Read(uintptr(s), uint64(at), uint64(n), &to[0]); r != 0 {
		err = errors.Join(err, fmt.Errorf("read: %d", r))
	}
	return err
}

func (p *program) release(b *Batch) error {
	p.say("release batch %d of epoch %d", b.Index(), b.Epoch())
	switch k := p.r.IntN(4); {
	case k == 0 && !p.untold[b]:
		return b.ReleaseOn(p.stream())
	case k == 1:
		done := make(chan error)
		go func() { done <- b.ReleaseOn() }()
		return <-done
	}
	return b.ReleaseOn()
}

// check compares what was read with the samples.
func (p *program) check() (err error) {
	zeros := make([]byte, p.set.row)
	for _, r := range p.reads {
		for k, id := range r.ids {
			want := zeros
			if id >= 0 {
				want = p.set.x[int(id)*p.set.row:][:p.set.row]
			}
			if got := r.got[k*p.set.row:][:p.set.row]; err == nil && !bytes.Equal(got, want) {
				err = fmt.Errorf("row %d of the read in line %d is %x, sample %d is %x", k, r.line, got, id, want)
			}
		}
		load.HostMemory{}.Free(r.got)
	}
	return err
}

// TestDeviceReadsHostWindowsBeforeTheyAreFilledAgain: a GPU that is late gathers from windows in host
// memory when the loader has long wanted to read on.
func TestDeviceReadsHostWindowsBeforeTheyAreFilledAgain(t *testing.T) {
	fake := useFakeDriver(t)
	fake.Configure(fakecuda.Order, "late")
	p := &program{fake: fake, untold: map[*Batch]bool{}}
	p.set = sample(t, setOptions{format: index.FormatMmap, schema: "x:f32[6]", samples: 97, shard: 30})
	p.l = mustLoader(t, p.set.Dataset, Config{
		Device: "cuda:0", Tier: TierStream, DeviceMemory: -1, Shuffle: Block, ShuffleWindow: 8, Streams: 2, Batch: 4, Depth: 8, Last: Pad,
	})
	stream := Stream(fake.Stream(1))
	defer fake.Drop(uintptr(stream))
	for range 3 {
		for {
			b, err := p.l.Next(bg)
			if err == io.EOF {
				break
			}
			if err = errors.Join(err, b.Ready(stream), p.read(b, stream), b.ReleaseOn(stream)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fake.Finish()
	if err := p.check(); err != nil {
		t.Error(err)
	}
}
