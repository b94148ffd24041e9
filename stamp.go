package shardify

import (
	"io/fs"
	"os"
	"sync"
)

// A file can be replaced by another of equal size and modification time. Within one
// process, and so on one machine, that is told by what no program can set: which file it
// is, and when it was changed. Plans do not have it: other machines may number the files of
// a server otherwise, and a copy that was made with care is as good as the original.

// stamp says which file something is. The zero stamp is not known.
type stamp struct {
	dev, ino uint64
	changed  int64 // nanoseconds since 1970
	// What else changes the time of a change: names, owners and rights.
	links uint64
	owner [2]uint32
	mode  fs.FileMode
}

// stamps are those of the files of a table, as far as they are known.
type stamps struct {
	mu   sync.Mutex
	list []stamp
}

// maxStamps is how many files are remembered: more are folders of small files, where a
// look at each would cost as much as reading it.
const maxStamps = 1 << 17

// Remember takes down which files the table has, for Replaced. Those that cannot be looked
// at are left to whoever opens them.
func (t *Table) Remember() {
	for i := range min(t.Len(), maxStamps) {
		if st, err := os.Stat(t.Path(i)); err == nil {
			t.Replaced(i, st)
		}
	}
}

// Replaced tells whether file i is another one than at the first call, or was written to
// since. st is what a stat says now.
func (t *Table) Replaced(i int, st fs.FileInfo) bool {
	now := stampOf(st)
	if i >= maxStamps || now == (stamp{}) {
		return false
	}
	t.seen.mu.Lock()
	defer t.seen.mu.Unlock()
	if len(t.seen.list) <= i {
		t.seen.list = append(t.seen.list, make([]stamp, max(min(t.Len(), maxStamps), i+1)-len(t.seen.list))...)
	}
	was := &t.seen.list[i]
	if *was == (stamp{}) {
		*was = now
		return false
	}
	return was.other(now, t.Path(i))
}

func (s *stamp) other(now stamp, path string) bool {
	if s.dev != now.dev || s.ino != now.ino {
		return numbersLast(path)
	}
	return s.changed != now.changed && s.links == now.links && s.owner == now.owner && s.mode == now.mode
}
