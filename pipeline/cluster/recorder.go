package cluster

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Recorder writes the record of an attempt while it runs. Its errors never harm the attempt: the
// record is then missing or old.
type Recorder struct {
	mu   sync.Mutex
	a    Attempt
	put  func(b []byte) error // nil if there is no record
	shut func() error
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
	name := AttemptsDir + "/" + a.fileName(rand.Uint32())
	var err error
	if storages.Local(folder) {
		err = r.inFile(filepath.Join(storages.Plain(folder), filepath.FromSlash(name)))
	} else {
		err = r.inStore(folder, name)
	}
	return r, err
}

// inFile keeps the record in a file, which is written in place. Behind the text the file is
// overwritten only as far as the last text went.
func (r *Recorder) inFile(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	last := AttemptBytes
	r.shut = f.Close
	r.put = func(b []byte) error {
		text := len(bytes.TrimRight(b, " \n"))
		_, err := f.WriteAt(b[:max(text, last)], 0)
		if last = text; err != nil {
			last = AttemptBytes // the write may have come any distance
		}
		return err
	}
	if err := r.put(r.a.encode()); err != nil {
		r.put = nil
		f.Close()
		os.Remove(name) // an empty record has no information
		return err
	}
	return nil
}

// storePatience is how long another machine may take to keep a record.
const storePatience = 5 * time.Second

// inStore keeps the record in a storage that is not on this machine.
func (r *Recorder) inStore(folder, name string) error {
	s, err := storages.Open(folder, storages.Output{})
	if err != nil {
		return err
	}
	put := func(b []byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), storePatience)
		defer cancel()
		return storage.Replace(ctx, s, name, b)
	}
	if err := put(r.a.encode()); err != nil {
		return err
	}
	r.put, r.shut = put, func() error { return nil }
	return nil
}

// Follow gives signs of life until End; work reports how far the attempt is.
func (r *Recorder) Follow(work func() Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.put == nil || r.end != nil {
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
	if r.put == nil {
		return
	}
	r.update()
	r.put(r.a.encode()) // the next one may succeed
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
	if r.put == nil {
		return
	}
	r.update()
	now := r.a.Updated
	r.a.End, r.a.Ending = &now, e
	r.put(r.a.encode())
	r.shut()
	r.put = nil
}
