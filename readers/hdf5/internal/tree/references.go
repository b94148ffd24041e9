package tree

import (
	"path"
	"path/filepath"

	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/storage"
)

// Reference is a data set whose values another file holds.
type Reference struct {
	Input, Object string // the path of the file it is in, and its own there
	File, Target  string // path of the other file, and what is meant there
	Virtual       bool
}

// maxReferences bounds those of a file.
const maxReferences = 1 << 16

// externalLink notes a link to another file, followed or not.
func (t *Tree) externalLink(l *h5.Link, p string) {
	clean := filepath.FromSlash(l.File)
	if len(t.refs) < maxReferences && filepath.IsLocal(clean) {
		t.refs = append(t.refs, Reference{t.File.Path, p, storage.Join(storage.Dir(t.File.Path), clean), path.Clean("/" + l.Target), false})
	}
}

// References are those of a tree.
func (t *Tree) References() []Reference {
	out := t.refs
	for i := range t.Objects {
		o := &t.Objects[i]
		a, err := t.File.Dataset(o.Path)
		if err != nil {
			continue
		}
		for _, src := range a.Sources() {
			r := Reference{t.File.Path, o.Path, src.File, src.Path, true}
			if n := len(out); r.File == r.Input || n > 0 && out[n-1] == r || n >= maxReferences {
				continue
			}
			out = append(out, r)
		}
	}
	return out
}
