package cluster

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/shardify/shardify/storage"
)

// Recorder writes the record of an attempt while it runs. What goes wrong with it
// never harms the attempt: the record is then missing or old.
type Recorder struct {
	mu   sync.Mutex
	a    Attempt
	file *os.File
	text int // bytes of the last record before its spaces
	work func() Work
	past []sight // the last few
	end  chan struct{}
	wg   sync.WaitGroup
}

// sight is how far an attempt was at some time.
type sight struct {
	at   time.Time
	work Work
}

// Heartbeat is the time between two signs of life of an attempt. The first ones come
// sooner, since most attempts that are killed for their memory are young.
const Heartbeat = 15 * time.Second

var firstBeats = []time.Duration{time.Second, 3 * time.Second, 6 * time.Second}

// Begin leaves the record of an attempt that starts now in the data set's folder. The
// error is worth a note; the Recorder can be used all the same.
func Begin(folder string, a Attempt) (*Recorder, error) {
	a.Version = attemptVersion
	a.Tasks = max(a.Tasks, 1)
	a.Start = time.Now()
	a.Updated = a.Start
	a.Peak = PeakMemory()
	length := len(a.Dir)
	for _, s := range a.Args {
		length += len(s) + 3
	}
	if length > mostArgs {
		a.Args, a.Dir = nil, ""
	}
	r := &Recorder{a: a}
	if storage.Scheme(folder) != "" {
		return r, nil // records are written in place, which needs a file system
	}
	name := filepath.Join(folder, filepath.FromSlash(AttemptsDir), filepath.FromSlash(a.fileName(rand.Uint32())))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return r, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return r, err
	}
	r.file, r.text = f, AttemptBytes
	if err := r.write(); err != nil {
		r.file = nil
		f.Close()
		os.Remove(name) // an empty record tells nothing
		return r, err
	}
	return r, nil
}

// write brings the record up to date, behind its text only as far as the last one went.
func (r *Recorder) write() error {
	b := r.a.encode()
	text := len(bytes.TrimRight(b, " \n"))
	_, err := r.file.WriteAt(b[:max(text, r.text)], 0)
	if r.text = text; err != nil {
		r.text = AttemptBytes // who knows how far it came
	}
	return err
}

// Follow gives signs of life until End; work tells how far the attempt is.
func (r *Recorder) Follow(work func() Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil || r.end != nil {
		return
	}
	r.work, r.end = work, make(chan struct{})
	r.past = []sight{{r.a.Start, Work{}}}
	end := r.end
	r.wg.Go(func() {
		for i := 0; ; i++ {
			wait := Heartbeat
			if i < len(firstBeats) {
				wait = firstBeats[i]
			}
			t := time.NewTimer(wait)
			select {
			case <-t.C:
				r.beat()
			case <-end:
				t.Stop()
				return
			}
		}
	})
}

func (r *Recorder) beat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return
	}
	r.update()
	r.write() // the next one may succeed
}

func (r *Recorder) update() {
	r.a.Peak = PeakMemory()
	r.a.Updated = time.Now()
	if r.work == nil {
		return
	}
	r.a.Work = r.work()
	const most = 5
	if r.past = append(r.past, sight{r.a.Updated, r.a.Work}); len(r.past) > most {
		r.past = r.past[1:]
	}
	r.a.Rate = rate(r.past[0], r.past[len(r.past)-1])
}

// rate is what was done a second between two sights. An attempt that does both stages of
// a global shuffle is in the second one as soon as it has gathered anything.
func rate(a, b sight) float64 {
	seconds := b.at.Sub(a.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	if b.work.Gathered > 0 {
		return float64(b.work.Gathered-a.work.Gathered) / seconds
	}
	return float64(b.work.Bytes-b.work.Resumed-a.work.Bytes+a.work.Resumed) / seconds
}

// End completes the record; later calls do nothing.
func (r *Recorder) End(e Ending) {
	r.complete(e)
	r.wg.Wait()
}

func (r *Recorder) complete(e Ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		close(r.end)
		r.end = nil
	}
	if r.file == nil {
		return
	}
	r.update()
	now := r.a.Updated
	r.a.End, r.a.Ending = &now, e
	r.write()
	r.file.Close()
	r.file = nil
}
