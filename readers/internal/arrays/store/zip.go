package store

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/storage"
)

// archive is a store in a zip file, whose members are stored or deflated.
type archive struct {
	members map[string]*zip.File
	folders map[string][]storage.Entry
	in      storage.File
	notes   []string
	all     []*zip.File
	strays  map[string]int64 // by their kind
}

// maxRatio is more than deflate can shrink anything.
const maxRatio = 1040

// openZip reads the directory of an archive. The root of the store is that of the archive, or
// the one folder in it.
func openZip(in storage.File) (Files, error) {
	// An offset before the file is damage, which a section of it knows; a file has another error.
	z, err := zip.NewReader(io.NewSectionReader(in, 0, in.Size()), in.Size())
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return nil, err
	}
	if err != nil {
		return nil, shardify.Corrupt(in.Size(), "no zip archive, or one that is cut short: %v", err)
	}
	a := &archive{members: map[string]*zip.File{}, folders: map[string][]storage.Entry{}, in: in, all: z.File, strays: map[string]int64{}}
	var twice []string
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		if err := node.CheckName(name); err != nil || name == "" {
			return nil, shardify.Corrupt(-1, "member %q: its name leads out of the archive", f.Name)
		}
		if strings.Count(name, "/") > 2*maxDepth+2 { // groups, and a folder for each dimension
			return nil, shardify.Unsupported("member %.40q: folders more than %d deep", f.Name, 2*maxDepth+2)
		}
		if name != f.Name { // a folder
			if err := sized(f); err != nil {
				return nil, err
			}
			a.folder(name)
			continue
		}
		if kind := stray(name); kind != "" {
			if _, err := a.place(f); err != nil {
				return nil, err
			}
			a.strays[kind]++
			continue
		}
		if a.members[name] != nil {
			twice = append(twice, name)
		}
		a.members[name] = f
	}
	root := ""
	if !a.rooted("") {
		for name := range a.members {
			top, _, _ := strings.Cut(name, "/")
			if root == "" {
				root = top
			} else if root != top {
				root = ""
				break
			}
		}
		if root == "" || !a.rooted(root+"/") {
			return nil, shardify.Unsupported("no Zarr store in this archive: unpack it first, with unzip")
		}
	}
	if len(twice) > 0 {
		if err := a.CheckNames(); err != nil {
			return nil, err
		}
		a.notes = append(a.notes, fmt.Sprintf("%d members are in the archive twice, as %s: the last counts", len(twice), twice[0]))
	}
	a.below(root)
	return a, nil
}

func (a *archive) rooted(prefix string) bool {
	return slices.ContainsFunc(Roots, func(r string) bool { return a.members[prefix+r] != nil })
}

// below makes a folder of the archive the root, and lists all folders.
func (a *archive) below(root string) {
	if root != "" {
		all := a.members
		a.members = make(map[string]*zip.File, len(all))
		for name, f := range all {
			a.members[name[len(root)+1:]] = f
		}
		a.folders = map[string][]storage.Entry{}
	}
	for name, f := range a.members {
		dir := a.folder(parent(name))
		a.folders[dir] = append(a.folders[dir], storage.Entry{Name: path.Base(name), Type: storage.Regular, Size: int64(f.UncompressedSize64)})
	}
	for _, list := range a.folders {
		slices.SortFunc(list, byName)
	}
}

func parent(name string) string { return strings.TrimPrefix(path.Dir(name), ".") }

// folder makes sure that a folder and those that it is in are listed.
func (a *archive) folder(name string) string {
	for at := name; ; at = parent(at) {
		if _, ok := a.folders[at]; ok {
			return name
		}
		a.folders[at] = nil
		if at == "" {
			return name
		}
		up := parent(at)
		if _, ok := a.folders[up]; !ok {
			a.folder(up)
		}
		a.folders[up] = append(a.folders[up], storage.Entry{Name: path.Base(at), Type: storage.Folder})
	}
}

func (a *archive) Far() bool       { return false }
func (a *archive) Notes() []string { return a.notes }

func (a *archive) List(_ context.Context, folder string) ([]storage.Entry, error) {
	list, ok := a.folders[folder]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return list, nil
}

func (a *archive) Open(_ context.Context, name string) (storage.Blob, error) {
	f := a.members[name]
	if f == nil {
		if _, ok := a.folders[name]; ok {
			return nil, storage.ErrNotFile
		}
		return nil, fs.ErrNotExist
	}
	if f.UncompressedSize64 > node.MaxChunk || f.UncompressedSize64/maxRatio > f.CompressedSize64 {
		return nil, shardify.Corrupt(-1, "member %s: %d bytes cannot hold %d", f.Name, f.CompressedSize64, f.UncompressedSize64)
	}
	m := &member{f: f, size: int64(f.UncompressedSize64)}
	off, err := a.place(f)
	if err != nil {
		return nil, err
	}
	switch f.Method {
	case zip.Store:
	case zip.Deflate:
		return m, nil
	default:
		return nil, damaged(f, zip.ErrAlgorithm)
	}
	if off < 0 || off > a.in.Size()-m.size {
		return nil, shardify.Corrupt(off, "member %s: %d bytes, behind the end of the archive", f.Name, m.size)
	}
	if f.CompressedSize64 != f.UncompressedSize64 {
		return nil, shardify.Corrupt(off, "stored member of %d bytes takes %d", f.UncompressedSize64, f.CompressedSize64)
	}
	m.off, m.in = off, a.in
	return m, nil
}

// damaged says what an error of package zip means: those of the storage have paths.
func damaged(f *zip.File, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return err
	}
	if errors.Is(err, zip.ErrAlgorithm) {
		return shardify.Unsupported("member %s: compression method %d", f.Name, f.Method)
	}
	return shardify.Corrupt(-1, "member %s: %v", f.Name, err)
}

// member is a member of an archive. Its CRC-32 is compared before anything of it is used. A
// deflated one that is read as a whole is decoded to where it is wanted.
type member struct {
	f    *zip.File
	size int64
	off  int64
	in   io.ReaderAt
	all  []byte // of a deflated one that is read in parts

	once sync.Once
	err  error
}

func (m *member) Size() int64  { return m.size }
func (m *member) Close() error { return nil }

// inflate decodes a deflated member into p, which has its size.
func (m *member) inflate(p []byte) error {
	r, err := m.f.Open()
	if err != nil {
		return damaged(m.f, err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, p); err != nil {
		return damaged(m.f, err)
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF { // with the end comes the checksum
		return damaged(m.f, errors.Join(err, zip.ErrFormat))
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (m *member) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > m.size || int64(len(p)) > m.size-off {
		return 0, io.EOF
	}
	whole := off == 0 && int64(len(p)) == m.size
	if m.f.Method == zip.Deflate {
		if whole {
			if err := m.inflate(p); err != nil {
				return 0, err
			}
			return len(p), nil
		}
		m.once.Do(func() {
			m.all = make([]byte, m.size)
			m.err = m.inflate(m.all)
		})
		if m.err != nil {
			return 0, m.err
		}
		return copy(p, m.all[off:]), nil
	}
	if whole {
		n, err := m.in.ReadAt(p, m.off)
		if n < len(p) {
			return n, err
		}
		return n, m.check(crc32.ChecksumIEEE(p))
	}
	m.once.Do(func() {
		h := crc32.NewIEEE()
		if _, err := io.Copy(h, io.NewSectionReader(m.in, m.off, m.size)); err != nil {
			m.err = err
		} else {
			m.err = m.check(h.Sum32())
		}
	})
	if m.err != nil {
		return 0, m.err
	}
	return m.in.ReadAt(p, m.off+off)
}

func (m *member) check(sum uint32) error {
	if sum != m.f.CRC32 {
		return shardify.Corrupt(m.off, "member %s: crc32 is %08x, stored %08x", m.f.Name, sum, m.f.CRC32)
	}
	return nil
}
