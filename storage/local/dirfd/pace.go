package dirfd

import "time"

// Pace decides whether calls keep their processor while they are in the kernel.
//
// The runtime takes it from a call that lasts 20 µs to give it to other goroutines:
// right when a disk or a server is behind it, wrong when the page cache is. There
// a conversion of small files then wakes another thread for every few of them, and
// spends a tenth more in the kernel. So calls keep it where the file system is on
// this machine and the files just before were quick, and nowhere else. The zero
// Pace keeps nothing at first.
type Pace struct {
	keep  bool
	files int
	since time.Time
}

const (
	paceFiles = 8
	// quickFile is a few times what a small file in memory takes, and less than one
	// access to any disk.
	quickFile = 50 * time.Microsecond
)

// Begin starts a series of files after something else took time.
func (p *Pace) Begin() { p.files, p.since = 0, time.Now() }

// Next is called before each file of d and reports whether its calls keep the
// processor.
func (p *Pace) Next(d Dir) bool {
	if p.files++; p.files == paceFiles {
		now := time.Now()
		p.keep = now.Sub(p.since) < paceFiles*quickFile
		p.files, p.since = 0, now
	}
	return p.keep && d.Local()
}
