package members

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/zips"
)

// place is where the bytes of an array are.
type place struct {
	Off     int64 // in the file, of the NPY magic or of the packed data
	Packed  int64 // bytes there
	Method  uint16
	Checked bool // crc is known: it is the member of an archive
	Crc     uint32
	HeadSum uint32 // CRC-32 of the NPY header
}

// Array is one member as a survey finds it: an array, or the reason why not.
type Array struct {
	Key string // its name for users
	npy.Header
	place
	Err error
}

// Listing is what one file holds.
type Listing struct {
	Size   int64
	Arrays []Array
	// Notes are facts that no error reports: double members, bytes left over.
	Notes   []format.Leftover
	NpyFile bool // one array, named by the file
	// Foreign: the file is neither NPY nor NPZ, and not named so.
	Foreign bool
}

// ErrForeign: the file begins as no NPY or NPZ file does.
var ErrForeign = errors.New("not an NPY or NPZ file")

// Survey opens a file and lists its arrays. npyName names the array of an .npy file; want
// says which members of an archive to look into, nil means all.
func Survey(ctx context.Context, fs storage.FS, file, npyName string, want func(key string) bool) (*Listing, error) {
	f, err := fs.Open(ctx, file)
	if errors.Is(err, storage.ErrNotFile) {
		return nil, shardify.Unsupported("%v", storage.ErrNotFile)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return list(&zips.Input{R: f, Size: f.Size()}, file, npyName, want)
}

// list is survey on an open file.
func list(in *zips.Input, file, npyName string, want func(key string) bool) (*Listing, error) {
	l := &Listing{Size: in.Size}
	ext := strings.ToLower(path.Ext(file))
	head, err := in.At(0, int(min(in.Size, 8)))
	if err != nil {
		return nil, err
	}
	named := ext == ".npy" || ext == ".npz"
	switch {
	case bytes.HasPrefix(head, []byte(npy.Magic)), ext == ".npy" && !bytes.HasPrefix(head, []byte("PK")):
		return l, l.npy(in, npyName)
	case ext == ".npz", named && bytes.HasPrefix(head, []byte("PK")):
		return l, l.npz(in, want)
	}
	l.Foreign = true
	return l, nil
}

func (l *Listing) npy(in *zips.Input, name string) error {
	l.NpyFile = true
	a := Array{Key: name, place: place{Packed: in.Size}}
	if a.Err = a.readStored(in); a.Err != nil {
		return a.Err
	}
	switch behind := in.Size - int64(a.Header.Bytes) - a.Data; {
	case behind < 0:
		return shardify.Corrupt(-1, "truncated: %s needs %d bytes, has %d", a.String(), a.Data, a.Data+behind)
	case behind > 0:
		at := in.Size - behind
		if b, err := in.At(at, int(min(behind, int64(len(npy.Magic))))); err == nil && string(b) == npy.Magic {
			return shardify.Unsupported("several arrays in one file, the second at byte %d: np.savez stores them separately", at)
		}
		return shardify.Corrupt(at, "%s ends here, the file has %d bytes more", a.String(), behind)
	}
	l.Arrays = append(l.Arrays, a)
	return nil
}

func (l *Listing) npz(in *zips.Input, want func(key string) bool) error {
	dir, err := zips.ReadDirectory(in)
	if err != nil {
		return err
	}
	last := make(map[string]int, len(dir.Entries))
	for i := range dir.Entries {
		last[MemberKey(dir.Entries[i].Name)] = i
	}
	for i := range dir.Entries {
		e := &dir.Entries[i]
		key := MemberKey(e.Name)
		if strings.HasSuffix(key, "/") && e.Decoded == 0 {
			continue // a folder
		}
		if last[key] != i {
			if _, err := dir.DataOffset(in, e); err != nil { // is that its name at all?
				return shardify.Annotate(err, "", "", e.Name)
			}
			l.Notes = append(l.Notes, format.Leftover{Name: key, Reason: "an earlier member of the same name; the last one counts, as for numpy"})
			continue
		}
		a := Array{Key: key}
		if want == nil || want(key) {
			if a.Err = a.readMember(in, dir, e); a.Err != nil && !IsData(a.Err) {
				return a.Err
			}
			a.Err = shardify.Annotate(a.Err, "", "", e.Name)
		} else {
			a.Err = ErrNotRead
		}
		l.Arrays = append(l.Arrays, a)
	}
	return nil
}

// ErrNotRead marks members that are not wanted.
var ErrNotRead = errors.New("not read")

// MemberKey is the name of the array that a member of an archive holds.
func MemberKey(name string) string { return strings.TrimSuffix(name, ".npy") }

// IsData reports whether an error is about the bytes, and not about getting them.
func IsData(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported)
}

// readMember finds the data of a member and reads the header there.
func (a *Array) readMember(in *zips.Input, dir *zips.Directory, e *zips.Entry) (err error) {
	a.place = place{Packed: e.Packed, Method: e.Method, Checked: true, Crc: e.CRC}
	if a.Off, err = dir.DataOffset(in, e); err != nil {
		return err
	}
	if err := readable(e); err != nil {
		return err
	}
	if e.Method == zips.Stored {
		err = a.readStored(in)
	} else {
		err = a.readPacked(in, e)
	}
	if errors.Is(err, ErrNoArray) && strings.HasSuffix(e.Name, ".npy") {
		return shardify.Corrupt(a.Off, "not an NPY array, as its name says")
	}
	if err != nil {
		return err
	}
	switch need := int64(a.Header.Bytes) + a.Data; {
	case need > e.Decoded:
		return shardify.Corrupt(-1, "truncated: %s needs %d bytes, the member has %d", a.String(), need, e.Decoded)
	case need < e.Decoded:
		return shardify.Corrupt(-1, "member of %d bytes is larger than its array: %s takes %d", e.Decoded, a.String(), need)
	}
	return nil
}

// readStored reads the header of an array whose bytes are in the file.
func (a *Array) readStored(in *zips.Input) error {
	b, err := in.At(a.Off, int(min(a.Packed, npy.PrefixBytes)))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(npy.Magic)) {
		return notNPY(a.Off, a.Checked)
	}
	n, err := npy.HeaderBytes(b)
	if err != nil {
		return shift(err, a.Off)
	}
	if int64(n) > a.Packed {
		return shardify.Corrupt(a.Off, "truncated: header of %d bytes, has %d", n, a.Packed)
	}
	if b, err = in.At(a.Off, n); err != nil {
		return err
	}
	a.HeadSum = crc32.ChecksumIEEE(b)
	a.Header, err = npy.ParseHeader(b)
	return shift(err, a.Off)
}

// readPacked reads the header of a compressed array. Offsets in its errors count
// decoded bytes.
func (a *Array) readPacked(in *zips.Input, e *zips.Entry) error {
	s := OpenStream(in.R, a.Off, e.Packed, e.Decoded, e.Method, e.CRC)
	s.raw.step = 1 << 10
	defer s.Close()
	b := make([]byte, min(e.Decoded, npy.PrefixBytes))
	if err := s.Fill(b); err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(npy.Magic)) {
		return notNPY(0, true)
	}
	n, err := npy.HeaderBytes(b)
	if err != nil {
		return err
	}
	if int64(n) > e.Decoded {
		return shardify.Corrupt(0, "truncated: header of %d bytes, has %d", n, e.Decoded)
	}
	have := min(len(b), n)
	b = append(b[:have], make([]byte, n-have)...)
	if err := s.Fill(b[have:]); err != nil {
		return err
	}
	a.HeadSum = crc32.ChecksumIEEE(b)
	a.Header, err = npy.ParseHeader(b)
	return err
}

// ErrNoArray is a member that is no array, nor named as one.
var ErrNoArray = shardify.Unsupported("no NPY array")

// notNPY is about bytes that do not begin as an array does. In an archive they are legal:
// such a file was added.
func notNPY(off int64, member bool) error {
	if member {
		return ErrNoArray
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

// FieldName is the name of the field that a leaf becomes. The fields of an .npy
// file need no key before them.
func (a *Array) FieldName(leaf int, npyFile bool) string {
	switch name := a.Item.Leaves[leaf].Name; {
	case name == "":
		return a.Key
	case npyFile:
		return name
	default:
		return a.Key + "/" + name
	}
}

// Sparse recognises what scipy.sparse.save_npz writes.
func (l *Listing) Sparse() bool {
	found := 0
	for i := range l.Arrays {
		switch l.Arrays[i].Key {
		case "data", "indices", "indptr", "shape", "format":
			found++
		}
	}
	return found == 5
}

// Shapes lists what a file has, for messages.
func (l *Listing) Shapes() string {
	var all []string
	for i := range l.Arrays {
		a := &l.Arrays[i]
		switch {
		case a.Err == ErrNotRead:
			all = append(all, a.Key)
		case a.Err != nil:
			all = append(all, fmt.Sprintf("%s (%s)", a.Key, format.Reason(a.Err)))
		default:
			all = append(all, a.Key+" "+a.String())
		}
		if len(all) == 60 {
			all = append(all, fmt.Sprintf("and %d more", len(l.Arrays)-60))
			break
		}
	}
	if len(all) == 0 {
		return "no arrays"
	}
	return strings.Join(all, ", ")
}

// HasData reports whether an array that can be read has values.
func (l *Listing) HasData() bool {
	return slices.ContainsFunc(l.Arrays, func(a Array) bool { return a.Err == nil && a.Data > 0 })
}

// readable refuses members that we cannot decode, by name of what they use, and
// sizes that contradict each other.
func readable(e *zips.Entry) error {
	switch {
	case e.Flags&zips.EncryptedFlags != 0:
		return shardify.Unsupported("member is encrypted")
	case e.Method != zips.Stored && e.Method != zips.Deflated && e.Method != zips.Bzip2ed:
		if name := zips.MethodNames[e.Method]; name != "" {
			return shardify.Unsupported("compression method %d (%s): save it with np.savez_compressed", e.Method, name)
		}
		return shardify.Corrupt(-1, "compression method %d, which the format does not have", e.Method)
	case e.Method == zips.Stored && e.Packed != e.Decoded:
		return shardify.Corrupt(-1, "stored member of %d bytes takes %d", e.Decoded, e.Packed)
	case e.Method == zips.Deflated && e.Decoded/zips.MaxRatio > e.Packed:
		return shardify.Corrupt(-1, "%d deflated bytes cannot hold %d", e.Packed, e.Decoded)
	case e.Method == zips.Bzip2ed && e.Decoded/zips.MaxRatio > e.Packed: // legal, but good for bombs
		return shardify.Unsupported("bzip2 member that grows from %d to %d bytes: save it with np.savez_compressed", e.Packed, e.Decoded)
	}
	return nil
}
