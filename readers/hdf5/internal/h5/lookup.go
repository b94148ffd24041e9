package h5

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Lookup resolves an absolute path through hard and soft links. A missing name is
// an error that wraps fs.ErrNotExist; a user-defined link wraps ErrUnsupported.
// External links are not followed: the caller decides.
//
// lookup walks a path name by name. A soft link replaces what was walked since
// its group by its target, put before the rest of the path.
func (f *File) Lookup(path string) (found, error) {
	at := []walked{{name: "", addr: f.Root}}
	rest := path
	for hops := 0; ; {
		name, tail := nextName(rest)
		if name == "" {
			return found{Path: joined(at), Addr: at[len(at)-1].addr}, nil
		}
		group, err := f.Object(at[len(at)-1].addr, joined(at))
		if err != nil {
			return found{}, err
		}
		if group.Kind != KindGroup {
			return found{}, f.missing(path, fmt.Sprintf("%s is a %s, not a group", group.Path, group.Kind))
		}
		l, ok, err := group.Child(name)
		if err == nil && ok {
			err = l.Err
		}
		if err != nil {
			return found{}, f.Fail(err, path)
		}
		if !ok {
			return found{}, f.missing(path, fmt.Sprintf("%s holds no %q", group.Path, name))
		}
		switch {
		case l.Kind == HardLink:
			at = append(at, walked{name, l.Addr})
			rest = tail
		case l.Kind == SoftLink:
			if hops++; hops > maxHops {
				return found{}, f.Fail(shardify.Corrupt(-1, "more than %d soft links on the way", maxHops), path)
			}
			if strings.HasPrefix(l.Target, "/") {
				at = at[:1]
			}
			rest = l.Target + "/" + tail
		case l.Kind == ExternalLink:
			target := l.Target
			if n, _ := nextName(tail); n != "" {
				target = strings.TrimSuffix(target, "/") + "/" + tail
			}
			return found{Path: joined(append(at, walked{name: name})), Addr: meta.Undefined, External: true, File: l.File, Target: target}, nil
		default:
			return found{}, f.Fail(shardify.Unsupported("%s/%s is a user-defined link of kind %d", strings.TrimSuffix(group.Path, "/"), name, l.Kind), path)
		}
	}
}

type walked struct {
	name string
	addr int64
}

func joined(at []walked) string {
	if len(at) == 1 {
		return "/"
	}
	var b strings.Builder
	for _, w := range at[1:] {
		b.WriteByte('/')
		b.WriteString(w.name)
	}
	return b.String()
}

// nextName cuts the first name off a path; "." names nothing.
func nextName(path string) (name, rest string) {
	for {
		path = strings.TrimLeft(path, "/")
		name, rest, _ = strings.Cut(path, "/")
		if name != "." {
			return name, rest
		}
		path = rest
	}
}

func (f *File) missing(path, why string) error {
	return &shardify.Error{Op: "read", File: f.Name(), Object: path, Sample: -1, Offset: -1, Err: fmt.Errorf("%s: %w", why, fs.ErrNotExist)}
}
