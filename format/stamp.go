package format

import (
	"context"
	"sync"

	"github.com/shardify/shardify/storage"
)

// A file can be replaced by another of equal size and modification time. Within one
// process, and so on one machine, what no program can set shows that: which file it is, and
// when it was changed.

// stamps are those of the files of a table, as far as they are known.
type stamps struct {
	mu   sync.Mutex
	list []storage.Stamp
}

// maxStamps is how many files are remembered: more are folders of small files, where a
// look at each would cost as much as reading it.
const maxStamps = 1 << 17

// Remember notes which files of this machine the table has, for Replaced, before they are
// opened. Files whose stat fails give their error when they are opened.
func (t *Table) Remember(ctx context.Context, fs storage.FS) {
	for i := range min(t.Len(), maxStamps) {
		path := t.Path(i)
		if _, own := storage.Path(fs, path); !own {
			continue
		}
		if st, err := fs.Stat(ctx, path); err == nil {
			t.Replaced(i, st.Stamp, fs)
		}
	}
}

// RememberOpened notes which files of other machines the table has, as they were when
// they were opened: to look at each would be a request.
func (t *Table) RememberOpened(fs storage.FS) {
	for i := range min(t.Len(), maxStamps) {
		if s, ok := storage.Opened(fs, t.Path(i)); ok {
			t.Replaced(i, s, fs)
		}
	}
}

// Replaced reports whether file i is another one than at the first call, or was written to
// since. now is what a stat says.
func (t *Table) Replaced(i int, now storage.Stamp, fs storage.FS) bool {
	if i >= maxStamps {
		return false
	}
	t.seen.mu.Lock()
	defer t.seen.mu.Unlock()
	if len(t.seen.list) <= i {
		t.seen.list = append(t.seen.list, make([]storage.Stamp, max(min(t.Len(), maxStamps), i+1)-len(t.seen.list))...)
	}
	was := &t.seen.list[i]
	if *was == (storage.Stamp{}) {
		*was = now
		return false
	}
	return was.Replaced(now, func() bool { return storage.Numbered(fs, t.Path(i)) })
}
