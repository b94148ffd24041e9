// Package tars has the members of tars as files: photos.tar!/a/1.jpg is the member a/1.jpg of
// photos.tar.
//
//	table, left, err = tars.Expand(ctx, table, left) // of each tar its members
//	f, err := tars.Over(fs).Open(ctx, "photos.tar!/a/1.jpg")
//
// A tar is read where its members are: its headers once, then each member by itself. So it must
// not be compressed.
package tars

import (
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
)

const ext = ".tar"

// is reports whether a file is a tar, by its name.
func is(name string) bool {
	return len(name) > len(ext) && strings.EqualFold(name[len(name)-len(ext):], ext)
}

// packed are the ends of the names of compressed tars, and what unpacks them.
var packed = map[string]string{".tar.gz": "gunzip", ".tgz": "gunzip", ".tar.zst": "zstd -d", ".tzst": "zstd -d", ".tar.bz2": "bunzip2", ".tbz2": "bunzip2", ".tar.xz": "unxz", ".txz": "unxz"}

// Unpack is the command that makes a tar of a compressed one, by its name; "" for other files.
func Unpack(name string) string {
	for end, tool := range packed {
		if n := len(name) - len(end); n > 0 && strings.EqualFold(name[n:], end) {
			return tool + " " + walk.Quote(name)
		}
	}
	return ""
}

// Split splits the name of a member into that of the tar and its own, "" for the tar as a folder.
func Split(name string) (file, member string, ok bool) {
	for at := 0; ; {
		i := strings.IndexByte(name[at:], '!')
		if i < 0 {
			return "", "", false
		}
		i += at
		if at = i + 1; is(name[:i]) && (at == len(name) || name[at] == '/') {
			return name[:i], strings.TrimPrefix(name[at:], "/"), true
		}
	}
}

// entry is a member.
type entry struct {
	name     string
	at, size int64
}

// window is the size of reads of headers.
const window = 256 << 10

// input is the bytes of a tar.
type input struct{ tar.Window }

func (p *input) Bytes(at int64, n int) ([]byte, int64, error) {
	if n = int(min(int64(n), max(p.Size()-at, 0))); n == 0 {
		return nil, p.Size(), nil
	}
	b, err := p.Window.Bytes(at, n)
	return b, p.Size(), err
}

// scan reads the headers of a tar: its files, in their order, and what it has else, by reason.
func scan(ctx context.Context, f storage.File) (list []entry, left map[string]int64, err error) {
	in := &input{}
	in.Reset(f, f.Size(), make([]byte, window))
	left = map[string]int64{}
	t := tar.NewForeign(in)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		m, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var why string
		var name string
		if err == nil {
			name, why, err = nameOf(&m)
		}
		switch {
		case err != nil:
			return nil, nil, shardify.Amend(err, func(e *shardify.Error) {
				if e.Object == "" {
					e.Object = string(m.Name)
				}
				if e.Offset < 0 {
					e.Offset = m.Offset
				}
			})
		case why != "":
			left[why]++
		case m.Data+m.Size > f.Size():
			return nil, nil, shardify.Corrupt(m.Data, "member %.200q ends behind the end of the tar", name)
		default:
			list = append(list, entry{name, m.Data, m.Size})
		}
	}
	return list, left, twice(list)
}

// nameOf is the path of a member, or why it is left out.
func nameOf(m *tar.ForeignMember) (name, why string, err error) {
	switch m.Type {
	case '0':
	case '5':
		return "", "folders in tars", nil
	case '1', '2':
		return "", "", shardify.Unsupported("a link to %.200q: pack it again with the files themselves (tar --dereference --hard-dereference)", m.Link)
	default:
		return "", "", shardify.Unsupported("a member that is not a regular file")
	}
	name = string(m.Name)
	parts := strings.Split(name, "/")
	switch {
	case strings.HasPrefix(name, "/") || slices.Contains(parts, ".."):
		return "", "", shardify.Unsupported("a name that leads out of the folder")
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "", "", shardify.Mismatch("a name that is not UTF-8, or has a zero byte")
	}
	base := parts[len(parts)-1]
	if slices.ContainsFunc(parts, func(p string) bool { return len(p) > 1 && p[0] == '.' }) || strings.EqualFold(base, "thumbs.db") || strings.EqualFold(base, "desktop.ini") {
		return "", "hidden files in tars", nil
	}
	if name = path.Clean(name); name == "." {
		return "", "", shardify.Corrupt(m.Offset, "a file without a name")
	}
	return name, "", nil
}

// sorted are the members by their names.
func sorted(list []entry) []entry {
	list = slices.Clone(list)
	slices.SortFunc(list, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	return list
}

// twice refuses a tar with several members of one name.
func twice(list []entry) error {
	list = sorted(list)
	for i := range list[:max(len(list)-1, 0)] {
		if x, y := list[i], list[i+1]; x.name == y.name {
			return shardify.Mismatch("two members are called %s, at bytes %d and %d: unpack the tar, then the last one is left", walk.Quote(x.name), min(x.at, y.at), max(x.at, y.at))
		}
	}
	return nil
}

// Expand puts the members of the tars among the inputs into their places. left is what was left
// out before.
func Expand(ctx context.Context, t *format.Table, left []format.Leftover) (*format.Table, []format.Leftover, error) {
	tarred := false
	for i := range t.Len() {
		tarred = tarred || is(t.Name(i))
	}
	if !tarred {
		return t, left, nil
	}
	out := &format.Table{Roots: slices.Clone(t.Roots), FS: t.FS}
	more := map[string]int64{}
	for i := range t.Len() {
		root, name := t.Root(i), string(t.NameBytes(i))
		if !is(t.Name(i)) {
			out.Append(root, name, t.Size(i), t.ModTime(i))
			continue
		}
		if name == "" {
			name, out.Roots[root] = t.Name(i), storage.Dir(t.Roots[root])
		}
		if err := members(ctx, t, i, out, root, name, more); err != nil {
			return nil, nil, shardify.Annotate(err, "open", walk.Quote(t.Path(i)), "")
		}
	}
	for _, why := range slices.Sorted(maps.Keys(more)) {
		left = append(left, format.Leftover{Name: "members of tars", Reason: why, Count: more[why], Unit: "member"})
	}
	return out, left, nil
}

// members appends the members of file i of t.
func members(ctx context.Context, t *format.Table, i int, out *format.Table, root int, name string, left map[string]int64) error {
	f, err := storages.Of(t).Open(ctx, t.Path(i))
	if err != nil {
		return err
	}
	defer f.Close()
	list, more, err := scan(ctx, f)
	for why, n := range more {
		left[why] += n
	}
	for _, m := range list {
		out.Append(root, name+"!/"+m.name, m.size, f.Stamp().ModTime)
	}
	return err
}
