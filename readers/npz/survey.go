package npz

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// place is where the bytes of an array stand.
type place struct {
	off     int64 // in the file, of the NPY magic or of the packed data
	packed  int64 // bytes there
	method  uint16
	checked bool // crc is known: it is the member of an archive
	crc     uint32
	headSum uint32 // CRC-32 of the NPY header
}

// array is one member as a survey finds it: an array, or the reason why not.
type array struct {
	key string // its name for users
	header
	place
	err error
}

// listing is what one file holds.
type listing struct {
	size   int64
	arrays []array
	// notes are facts that no error tells: double members, bytes left over.
	notes   []shardify.Leftover
	npyFile bool // one array, named by the file
	// foreign: the file is neither NPY nor NPZ, and not named so.
	foreign bool
}

var errForeign = errors.New("not an NPY or NPZ file")

// survey opens a file and lists its arrays. npyName names the array of an .npy
// file; want tells which members of an archive to look into, nil means all.
func survey(ctx context.Context, fs storage.FS, file, npyName string, want func(key string) bool) (*listing, error) {
	f, err := fs.Open(ctx, file)
	if errors.Is(err, storage.ErrNotFile) {
		return nil, shardify.Unsupported("%v", storage.ErrNotFile)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return list(&input{r: f, size: f.Size()}, file, npyName, want)
}

// list is survey on an open file.
func list(in *input, file, npyName string, want func(key string) bool) (*listing, error) {
	l := &listing{size: in.size}
	ext := strings.ToLower(path.Ext(file))
	head, err := in.at(0, int(min(in.size, 8)))
	if err != nil {
		return nil, err
	}
	named := ext == ".npy" || ext == ".npz"
	switch {
	case bytes.HasPrefix(head, []byte(magic)), ext == ".npy" && !bytes.HasPrefix(head, []byte("PK")):
		return l, l.npy(in, npyName)
	case ext == ".npz", named && bytes.HasPrefix(head, []byte("PK")):
		return l, l.npz(in, want)
	}
	l.foreign = true
	return l, nil
}

func (l *listing) npy(in *input, name string) error {
	l.npyFile = true
	a := array{key: name, place: place{packed: in.size}}
	if a.err = a.readStored(in); a.err != nil {
		return a.err
	}
	switch behind := in.size - int64(a.header.bytes) - a.data; {
	case behind < 0:
		return shardify.Corrupt(-1, "truncated: %s needs %d bytes, has %d", a.String(), a.data, a.data+behind)
	case behind > 0:
		at := in.size - behind
		if b, err := in.at(at, int(min(behind, int64(len(magic))))); err == nil && string(b) == magic {
			return shardify.Unsupported("several arrays in one file, the second at byte %d: np.savez keeps them apart", at)
		}
		return shardify.Corrupt(at, "%s ends here, the file has %d bytes more", a.String(), behind)
	}
	l.arrays = append(l.arrays, a)
	return nil
}

func (l *listing) npz(in *input, want func(key string) bool) error {
	dir, err := readDirectory(in)
	if err != nil {
		return err
	}
	last := make(map[string]int, len(dir.entries))
	for i := range dir.entries {
		last[memberKey(dir.entries[i].name)] = i
	}
	for i := range dir.entries {
		e := &dir.entries[i]
		key := memberKey(e.name)
		if strings.HasSuffix(key, "/") && e.decoded == 0 {
			continue // a folder
		}
		if last[key] != i {
			if _, err := dir.dataOffset(in, e); err != nil { // is that its name at all?
				return shardify.Annotate(err, "", "", e.name)
			}
			l.notes = append(l.notes, shardify.Leftover{Name: key, Reason: "an earlier member of the same name; the last one counts, as for numpy"})
			continue
		}
		a := array{key: key}
		if want == nil || want(key) {
			if a.err = a.readMember(in, dir, e); a.err != nil && !isData(a.err) {
				return a.err
			}
			a.err = shardify.Annotate(a.err, "", "", e.name)
		} else {
			a.err = errNotRead
		}
		l.arrays = append(l.arrays, a)
	}
	return nil
}

// errNotRead marks members that nobody wants.
var errNotRead = errors.New("not read")

func memberKey(name string) string { return strings.TrimSuffix(name, ".npy") }

// isData tells an error about the bytes from one about getting them.
func isData(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported)
}

// readMember finds the data of a member and reads the header there.
func (a *array) readMember(in *input, dir *directory, e *entry) (err error) {
	a.place = place{packed: e.packed, method: e.method, checked: true, crc: e.crc}
	if a.off, err = dir.dataOffset(in, e); err != nil {
		return err
	}
	if err := e.readable(); err != nil {
		return err
	}
	if e.method == stored {
		err = a.readStored(in)
	} else {
		err = a.readPacked(in, e)
	}
	if errors.Is(err, errNoArray) && strings.HasSuffix(e.name, ".npy") {
		return shardify.Corrupt(a.off, "not an NPY array, as its name says")
	}
	if err != nil {
		return err
	}
	switch need := int64(a.header.bytes) + a.data; {
	case need > e.decoded:
		return shardify.Corrupt(-1, "truncated: %s needs %d bytes, the member has %d", a.String(), need, e.decoded)
	case need < e.decoded:
		return shardify.Corrupt(-1, "member of %d bytes is larger than its array: %s takes %d", e.decoded, a.String(), need)
	}
	return nil
}

// readStored reads the header of an array whose bytes stand in the file.
func (a *array) readStored(in *input) error {
	b, err := in.at(a.off, int(min(a.packed, prefixBytes)))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return notNPY(a.off, a.checked)
	}
	n, err := headerBytes(b)
	if err != nil {
		return shift(err, a.off)
	}
	if int64(n) > a.packed {
		return shardify.Corrupt(a.off, "truncated: header of %d bytes, has %d", n, a.packed)
	}
	if b, err = in.at(a.off, n); err != nil {
		return err
	}
	a.headSum = crc32.ChecksumIEEE(b)
	a.header, err = parseHeader(b)
	return shift(err, a.off)
}

// readPacked reads the header of a compressed array. Offsets in its errors count
// decoded bytes.
func (a *array) readPacked(in *input, e *entry) error {
	s := openStream(in.r, a.off, e.packed, e.decoded, e.method, e.crc)
	s.raw.step = pieceBytes
	defer s.close()
	b := make([]byte, min(e.decoded, prefixBytes))
	if err := s.fill(b); err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return notNPY(0, true)
	}
	n, err := headerBytes(b)
	if err != nil {
		return err
	}
	if int64(n) > e.decoded {
		return shardify.Corrupt(0, "truncated: header of %d bytes, has %d", n, e.decoded)
	}
	have := min(len(b), n)
	b = append(b[:have], make([]byte, n-have)...)
	if err := s.fill(b[have:]); err != nil {
		return err
	}
	a.headSum = crc32.ChecksumIEEE(b)
	a.header, err = parseHeader(b)
	return err
}

// errNoArray is a member that is no array, nor named as one.
var errNoArray = shardify.Unsupported("no NPY array")

// notNPY is about bytes that do not begin as an array does. In an archive they
// are legal, a file that somebody added.
func notNPY(off int64, member bool) error {
	if member {
		return errNoArray
	}
	return shardify.Corrupt(off, "not an NPY file")
}

// shift turns an offset in an array into one in the file.
func shift(err error, by int64) error {
	var e *shardify.Error
	if err == nil || !errors.As(err, &e) || e.Offset < 0 {
		return err
	}
	c := *e
	c.Offset += by
	return &c
}
