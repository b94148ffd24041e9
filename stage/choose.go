package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/host"
)

// Place is a folder of a node's own storage, and the source of its name.
type Place struct{ Dir, From string }

// Places are those that batch systems and sites name, the best first.
func Places(getenv func(string) string) (out []Place) {
	for _, name := range []string{"SLURM_TMPDIR", "TMPDIR"} {
		if dir := getenv(name); dir != "" {
			out = append(out, Place{dir, "$" + name})
		}
	}
	return append(out, Place{"/dev/shm", "memory of the node"})
}

// Choose is the folder for the copy of a data set on this node: the first place that
// has it, or is getting it, or has room for it. memory is what the process may use; 0 is
// unknown.
func Choose(source string, places []Place, memory int64) (dest, why string, err error) {
	p, err := load(source)
	if err != nil {
		return "", "", err
	}
	var not []string
	for _, x := range places {
		dest := filepath.Join(x.Dir, filepath.Base(p.source))
		if at, err := placeOf(dest); err == nil && at.started() {
			return dest, x.From, nil // the first process has chosen it
		}
		if reason := x.lacks(p.bytes, memory); reason != "" {
			not = append(not, fmt.Sprintf("%s (%s) %s", x.Dir, x.From, reason))
			continue
		}
		return dest, fmt.Sprintf("%s, %s free", x.From, shardify.FormatSize(host.FreeSpace(x.Dir))), nil
	}
	return "", "", fmt.Errorf("no place of this node can have the copy, of %s: %s: %w", shardify.FormatSize(p.bytes), strings.Join(not, "; "), ErrSpace)
}

// started reports whether the copy exists, or another process makes it.
func (p *place) started() bool {
	for _, name := range []string{p.staging, filepath.Join(p.dest, MarkName)} {
		if _, err := os.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// lacks says why a place cannot hold so many bytes; "" if it can.
func (x *Place) lacks(need, memory int64) string {
	st, err := os.Stat(x.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && !st.IsDir():
		return "is not a folder"
	case err != nil:
		return err.Error()
	case host.Remote(x.Dir):
		return "is on a network"
	case x.From != "$SLURM_TMPDIR" && sameFileSystem(x.Dir, "/"):
		return "is on the system's own disk" // others suffer when that is full
	}
	if free := host.FreeSpace(x.Dir); free >= 0 && need > free {
		return "has " + shardify.FormatSize(free) + " free"
	}
	if inMemory(x.Dir) && memory > 0 && need > memory/2 {
		return fmt.Sprintf("would take more than half of the %s of memory", shardify.FormatSize(memory))
	}
	return ""
}
