package convert

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/memory"
)

// reopening is a source of files that can be opened again.
type reopening struct {
	*fakeSource
	count atomic.Int64
}

func (r *reopening) Reopen() { r.count.Add(1) }

// flaky gives errors for the first reads of one span.
func flaky(f *fakeSource, times int64, err error) *atomic.Int64 {
	left := new(atomic.Int64)
	left.Store(times)
	f.bad = map[[2]int64]error{}
	at := [2]int64{3, 40}
	f.bad[at] = err
	f.onRead = func(s shardify.Span) {
		if int64(s.Input) == at[0] && s.Lo <= at[1] && at[1] < s.Hi && left.Add(-1) < 0 {
			f.bad[at] = nil
		}
	}
	return left
}

func quickly(t *testing.T) {
	old := again
	again = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	t.Cleanup(func() { again = old })
}

// files makes the inputs of a plan real, since what was read is looked at again.
func files(t *testing.T, p *plan.Plan) {
	t.Helper()
	dir := t.TempDir()
	p.In.Table.Roots[0] = dir
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range p.In.Table.Len() {
		at := time.Unix(0, p.In.Table.ModTime(i))
		if err := os.WriteFile(p.In.Table.Path(i), make([]byte, p.In.Table.Size(i)), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p.In.Table.Path(i), at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestErrorsThatPassAreTriedAgain: three times, with files opened again, in a run as elsewhere;
// other errors never.
func TestErrorsThatPassAreTriedAgain(t *testing.T) {
	quickly(t)
	for _, c := range []struct {
		err     error
		times   int64
		reopens int64
		ok      bool
	}{
		{syscall.ESTALE, 1, 1, true},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, 3, 3, true},
		{syscall.ETIMEDOUT, 4, 3, false},
		{syscall.ENOENT, 1, 0, false},
		{shardify.Corrupt(0, "x"), 1, 0, false},
	} {
		f := mixed()
		p := fakePlan(t, f, nil)
		files(t, p)
		src := &reopening{fakeSource: f}
		flaky(f, c.times, c.err)
		j := fakeJob(p, f, memory.New())
		j.Source, j.Jobs = src, 1
		_, err := j.Convert(bg)
		if n := src.count.Load(); (err == nil) != c.ok || n != c.reopens {
			t.Errorf("%v, %d times: %v after opening %d times again", c.err, c.times, err, n)
		}
		if !c.ok && c.reopens > 0 && (!errors.Is(err, c.err) || !strings.Contains(err.Error(), "tried 4 times")) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

// TestAnInputThatChangesWhileItIsRead is found before a shard has it.
func TestAnInputThatChangesWhileItIsRead(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"size": func(path string) error { return os.Truncate(path, 3) },
		"time": func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(5, 0)) },
		"gone": os.Remove,
		"replaced": func(path string) error {
			st, err := os.Stat(path)
			other := path + ".other"
			return errors.Join(err, os.WriteFile(other, make([]byte, st.Size()), 0o666), os.Chtimes(other, time.Time{}, st.ModTime()), os.Rename(other, path))
		},
		"rewritten": func(path string) error {
			time.Sleep(20 * time.Millisecond) // times on disk have steps
			st, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, make([]byte, st.Size()), 0o666), os.Chtimes(path, time.Time{}, st.ModTime()))
		},
		"rights": func(path string) error { return os.Chmod(path, 0o600) },
		"link":   func(path string) error { return os.Link(path, path+".link") },
	} {
		if name != "size" && name != "time" && name != "gone" && runtime.GOOS != "linux" {
			continue
		}
		for _, ignore := range []bool{false, true} {
			f := mixed()
			p := fakePlan(t, f, nil)
			files(t, p)
			last := p.In.Table.Path(3)
			f.onRead = func(s shardify.Span) {
				if s.Input == 3 && s.Hi == 211 {
					if err := change(last); err != nil {
						t.Error(err)
					}
				}
			}
			m := memory.New()
			j := fakeJob(p, f, m)
			j.Source, j.Jobs, j.IgnoreTimes = &reopening{fakeSource: f}, 1, ignore
			_, err := j.Convert(bg)
			if ignore && (name == "time" || name == "replaced" || name == "rewritten") || name == "rights" || name == "link" {
				if err != nil {
					t.Errorf("%s does not count: %v", name, err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), last) || name != "gone" && !errors.Is(err, shardify.ErrChanged) {
				t.Errorf("%s: %v", name, err)
			}
			// Nothing that has its last samples is there.
			for n, b := range published(m) {
				if strings.Contains(b, string(f.bytes(3, 210, 211))) {
					t.Errorf("%s: %s was published", name, n)
				}
			}
		}
	}
}

// TestAnInputThatIsReplacedAfterThePlan was made, by one of equal size and time, before
// anything of it is read.
func TestAnInputThatIsReplacedAfterThePlan(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files have no numbers here")
	}
	f := mixed()
	p := fakePlan(t, f, nil)
	files(t, p)
	p.In.Table.Remember(bg, local.Files)
	path := p.In.Table.Path(1)
	st, err := os.Stat(path)
	if err == nil {
		err = errors.Join(os.WriteFile(path+".other", make([]byte, st.Size()), 0o666), os.Chtimes(path+".other", time.Time{}, st.ModTime()), os.Rename(path+".other", path))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, ignore := range []bool{false, true} {
		j := fakeJob(p, f, memory.New())
		j.Source, j.IgnoreTimes = &reopening{fakeSource: f}, ignore
		_, err = j.Convert(bg)
		if !ignore && (!errors.Is(err, shardify.ErrChanged) || !strings.Contains(err.Error(), path)) || ignore && err != nil {
			t.Errorf("ignore %v: %v", ignore, err)
		}
	}
}

// TestEveryInputOfAShardIsLookedAt: not the last alone.
func TestEveryInputOfAShardIsLookedAt(t *testing.T) {
	f := &fakeSource{inputs: []fakeInput{{20, 0}, {20, 0}, {20, 0}}}
	p := fakePlan(t, f, nil)
	files(t, p)
	f.onRead = func(s shardify.Span) {
		if s.Input == 1 {
			os.Truncate(p.In.Table.Path(0), 3)
		}
	}
	j := fakeJob(p, f, memory.New())
	j.Source, j.Jobs = &reopening{fakeSource: f}, 1
	// It was read before it changed, which looks the same as the other order.
	if _, err := j.Convert(bg); !errors.Is(err, shardify.ErrChanged) || !strings.Contains(err.Error(), p.In.Table.Path(0)) {
		t.Error(err)
	}
}
