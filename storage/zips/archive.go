package zips

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// archive is an open zip file with the list of its members.
type archive struct {
	in    storage.File
	stamp storage.Stamp
	dir   *Directory
	// err says why nothing of it can be trusted, whole that a reader takes it as one file: or it is
	// no zip file at all, and who reads it says so.
	err    error
	whole  bool
	refs   int
	inputs sync.Pool // *Input

	mu      sync.Mutex
	checked map[int]bool
	decoded map[int]*decoded
}

// decoded is the content of a deflated member that is read in parts, for all who have it open.
type decoded struct {
	refs int
	once sync.Once
	all  []byte
	err  error
}

// whole are names of files that make an archive one input of a reader.
var whole = []string{"zarr.json", ".zgroup", ".zarray", ".zmetadata"}

// read reads the directory of an archive. An error is one of the storage.
func read(f storage.File) (*archive, error) {
	a := &archive{in: f, stamp: f.Stamp(), checked: map[int]bool{}, decoded: map[int]*decoded{}}
	a.inputs.New = func() any { return &Input{R: f, Size: f.Size()} }
	dir, err := ReadDirectory(&Input{R: f, Size: f.Size()})
	switch {
	case isData(err):
		a.whole = true
		return a, nil
	case err != nil:
		return nil, err
	}
	a.dir = dir
	for i := range dir.Entries {
		name := dir.Entries[i].Name
		if d := strings.LastIndexByte(name, '/'); slices.Contains(whole, name[d+1:]) && strings.Count(name, "/") <= 1 {
			a.whole = true
			return a, nil
		}
	}
	a.err = dir.check()
	return a, nil
}

func isData(err error) bool {
	_, ok := err.(*shardify.Error)
	return ok
}

// check refuses archives that programs unpack to different trees, or out of their folder. Then the
// members are in the order of their names.
func (d *Directory) check() error {
	slices.SortFunc(d.Entries, func(a, b Entry) int { return cmp.Compare(a.local, b.local) })
	for i := range d.Entries {
		e := &d.Entries[i]
		if err := e.check(); err != nil {
			return err
		}
		end := d.Start
		if i+1 < len(d.Entries) {
			end = d.Entries[i+1].local
		}
		if e.local > end || e.Packed > end-e.local || localBytes+int64(len(e.raw)) > end-e.local-e.Packed {
			return shardify.Corrupt(e.local, "member %s overlaps what follows it at byte %d", clip(e.Name, 200), end)
		}
	}
	slices.SortFunc(d.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for i := range d.Entries {
		e := &d.Entries[i]
		if i > 0 && e.Name == d.Entries[i-1].Name && !strings.HasSuffix(e.Name, "/") {
			return shardify.Corrupt(e.local, "two members are named %s: unpack it, choose one, and name the folder", clip(e.Name, 200))
		}
		if k := d.search(e.Name + "/"); !strings.HasSuffix(e.Name, "/") && k < len(d.Entries) && strings.HasPrefix(d.Entries[k].Name, e.Name+"/") {
			return shardify.Corrupt(e.local, "member %s is a file and a folder", clip(e.Name, 200))
		}
	}
	return nil
}

// typeLink is the type of a symbolic link in a mode of Unix.
const typeMask, typeLink = 0xf000, 0xa000

// check refuses names that are no paths below a folder.
func (e *Entry) check() error {
	name := strings.TrimSuffix(e.Name, "/")
	switch {
	case !fs.ValidPath(name) || name == "." || strings.IndexByte(name, 0) >= 0 || len(name) > 1 && name[1] == ':':
		return shardify.Corrupt(e.local, "member %q: its name leads out of the archive", clip(e.Name, 200))
	case strings.Contains(name, `\`):
		return shardify.Unsupported("member %q: its name has a backslash, which some programs take for a folder: unpack it first, with unzip", clip(e.Name, 200))
	case !utf8.ValidString(name):
		return shardify.Corrupt(e.local, "member %q: its name is not UTF-8", clip(e.Name, 200))
	case e.mode&typeMask == typeLink:
		return shardify.Unsupported("member %s is a symbolic link: unpack it first, with unzip", clip(e.Name, 200))
	case name != e.Name && e.Decoded != 0:
		return shardify.Corrupt(e.local, "member %s: a folder of %d bytes", clip(e.Name, 200), e.Decoded)
	}
	return nil
}

// search is where a name is, or would be.
func (d *Directory) search(name string) int {
	i, _ := slices.BinarySearchFunc(d.Entries, name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	return i
}

// find finds a file.
func (a *archive) find(name string) (int, bool) {
	i := a.dir.search(name)
	return i, name != "" && i < len(a.dir.Entries) && a.dir.Entries[i].Name == name
}

func (a *archive) isFolder(name string) bool {
	if name == "" {
		return true
	}
	i := a.dir.search(name + "/")
	return i < len(a.dir.Entries) && strings.HasPrefix(a.dir.Entries[i].Name, name+"/")
}

// list yields what is in a folder, by name.
func (a *archive) list(folder string, yield func(storage.Entry) bool) {
	if folder != "" {
		folder += "/"
	}
	for i := a.dir.search(folder); i < len(a.dir.Entries) && strings.HasPrefix(a.dir.Entries[i].Name, folder); {
		name := a.dir.Entries[i].Name[len(folder):]
		below, _, deeper := strings.Cut(name, "/")
		switch {
		case name == "": // the folder itself
			i++
			continue
		case deeper:
			if !yield(storage.Entry{Name: below, Type: storage.Folder, Size: -1}) {
				return
			}
			i = a.dir.search(folder + below + "0") // the character behind the slash
			continue
		}
		if !yield(storage.Entry{Name: name, Type: storage.Regular, Size: a.dir.Entries[i].Decoded, ModTime: a.stamp.ModTime}) {
			return
		}
		i++
	}
}

// stampOf is that of a member: it changes with the archive.
func (a *archive) stampOf(i int) storage.Stamp {
	return storage.Stamp{Size: a.dir.Entries[i].Decoded, ModTime: a.stamp.ModTime}
}

// open finds the data of a member.
func (a *archive) open(name string) (*member, error) {
	i, ok := a.find(name)
	if !ok {
		if a.isFolder(name) {
			return nil, storage.ErrNotFile
		}
		return nil, fs.ErrNotExist
	}
	e := &a.dir.Entries[i]
	in := a.inputs.Get().(*Input)
	off, err := a.dir.DataOffset(in, e)
	a.inputs.Put(in)
	if err == nil {
		err = e.readable(off)
	}
	if err != nil {
		return nil, inMember(e, err)
	}
	return &member{a: a, e: e, i: i, off: off}, nil
}

// inMember names the member that an error is about.
func inMember(e *Entry, err error) error { return shardify.Annotate(err, "", "", e.Name) }

// readable refuses members that are not decoded here, and sizes that contradict each other.
func (e *Entry) readable(off int64) error {
	switch {
	case e.Flags&EncryptedFlags != 0:
		return shardify.Unsupported("member is encrypted: unpack the archive first, with unzip, which asks for the password")
	case e.Method != Stored && e.Method != Deflated:
		name := cmp.Or(MethodNames[e.Method], "bzip2")
		if e.Method != Bzip2ed && MethodNames[e.Method] == "" {
			return shardify.Corrupt(off, "compression method %d, which the format does not have", e.Method)
		}
		return shardify.Unsupported("compression method %d (%s): unpack the archive first, with 7z x", e.Method, name)
	case e.Method == Stored && e.Packed != e.Decoded:
		return shardify.Corrupt(off, "stored member of %d bytes takes %d", e.Decoded, e.Packed)
	case e.Method == Deflated && e.Decoded/MaxRatio > e.Packed:
		return shardify.Corrupt(off, "%d deflated bytes cannot hold %d", e.Packed, e.Decoded)
	}
	return nil
}
