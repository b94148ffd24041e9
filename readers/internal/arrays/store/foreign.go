package store

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/node"
)

// A damaged directory of an archive gives a member another name: a chunk would be missing, so
// that its values would be the fill value, or it would replace another chunk. The archive has the
// name twice, in the directory and before the data, and named compares them. A member of an
// archive belongs to an array or a group of the store, or is a stray; every other member is
// foreign.

// stray says which kind of stray a member is by its name, "" if none: what systems put beside
// files, and documents.
func stray(name string) string {
	base := path.Base(name)
	switch ext := strings.ToLower(path.Ext(base)); {
	case strings.HasPrefix(name, "__MACOSX/"):
		return "__MACOSX/*"
	case strings.HasPrefix(base, "._"):
		return "._*"
	case base == ".DS_Store" || base == "desktop.ini" || strings.EqualFold(base, "Thumbs.db"):
		return base
	case slices.Contains([]string{"README", "LICENSE", "NOTICE", "CITATION"}, base):
		return base
	case base != v3Name && slices.Contains([]string{".md", ".txt", ".rst", ".html", ".pdf", ".xml", ".csv", ".tsv", ".json", ".yaml", ".yml", ".png", ".jpg", ".svg", ".parquet"}, ext):
		return "*" + ext
	}
	return ""
}

// Strays are the members that are strays, by their kind.
func (a *archive) Strays() (out []format.Leftover) {
	for _, kind := range slices.Sorted(maps.Keys(a.strays)) {
		out = append(out, format.Leftover{Name: kind, Reason: "no part of the store", Count: a.strays[kind]})
	}
	return out
}

// foreign finds the members that belong to no array and no group.
func (t *Tree) foreign(ctx context.Context, a *archive) (out []string, err error) {
	arrays, groups := map[string]*Array{}, map[string]bool{}
	for i := range t.Arrays {
		arrays[t.Arrays[i].Path] = &t.Arrays[i]
	}
	var rest []string
	for name := range a.members {
		dir, base := path.Split(name)
		dir = strings.TrimSuffix(dir, "/")
		switch base {
		case v3Name, arrayName:
			if arrays[dir] == nil && !groups[dir] { // one that is not wanted
				m := &meta{}
				p, err := read(ctx, a, name, node.MaxJSON)
				if err != nil {
					return nil, err
				}
				m.set(base, p)
				if x, err := t.known.parse(m); err != nil || x.Array != nil {
					x.Path, x.Err = dir, err
					if arrays[dir] = &x; t.in(dir) { // the walk has not met it
						out = append(out, name)
					}
				}
			}
		case groupName, attrsName, allName:
		default:
			rest = append(rest, name)
		}
	}
	for p, m := range t.paths() { // consolidated alone
		if arrays[p] == nil && (m.v3 != nil || m.array != nil) {
			if x, err := t.known.parse(m); err != nil || x.Array != nil {
				x.Path, x.Err = p, err
				arrays[p] = &x
			}
		}
	}
	for _, name := range rest {
		known := false
		for dir := parent(name); !known; dir = parent(dir) {
			if x := arrays[dir]; x != nil {
				known = x.Err != nil || x.HasKey(strings.TrimPrefix(name[len(dir):], "/"))
				break
			}
			if dir == "" {
				break
			}
		}
		if !known {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// CheckNames compares the names of all members in the directory and before their data.
func (a *archive) CheckNames() error {
	for _, f := range a.all {
		if !strings.HasSuffix(f.Name, "/") {
			if _, err := a.place(f); err != nil {
				return err
			}
		}
	}
	a.all = nil // which are as they should be
	return nil
}

// The header of a member before its data, which its name and an extra field of up to 64 KiB follow.
const (
	localSig   = "PK\x03\x04"
	localBytes = 30
)

// place is where the data of a member begin, behind its name.
func (a *archive) place(f *zip.File) (int64, error) {
	off, err := f.DataOffset()
	if err != nil {
		return 0, damaged(f, err)
	}
	if off > a.in.Size() {
		return 0, shardify.Corrupt(off, "member %q begins behind the end of the archive", f.Name)
	}
	n := int64(len(f.Name))
	for _, extra := range []int64{64, 1 << 16} {
		p := make([]byte, max(min(localBytes+n+extra, off), 0))
		if _, err := a.in.ReadAt(p, off-int64(len(p))); err != nil {
			return 0, err
		}
		for at := len(p) - localBytes - int(n); at >= 0; at-- {
			h := p[at:]
			if string(h[:4]) == localSig && int64(binary.LittleEndian.Uint16(h[26:])) == n && int(binary.LittleEndian.Uint16(h[28:])) == len(h)-localBytes-int(n) {
				if string(h[localBytes:][:n]) == f.Name {
					return off, nil
				}
				return 0, shardify.Corrupt(off-int64(len(h)), "member %q is %q before its data", f.Name, h[localBytes:][:n])
			}
		}
	}
	return 0, shardify.Corrupt(off, "member %q has another name before its data", f.Name)
}

// sized refuses a folder with bytes: a damaged directory makes one of a file.
func sized(f *zip.File) error {
	if n := cmp.Or(f.UncompressedSize64, f.CompressedSize64); n > 0 {
		return shardify.Corrupt(-1, "member %q is a folder of %d bytes", f.Name, n)
	}
	return nil
}
