package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/walk"
)

// TarsIndexName is the file that keeps what the headers of the tars of others say, so that they are not read
// again each time a set is opened. It is beside the tars, or in a folder of its own.
const TarsIndexName = "shardify.tars"

// tarsMagic begins the file. The bytes of the JSON follow as u64, the JSON, the places of all tars as u64, and
// the XXH3-128 of all that.
const tarsMagic = "shtars1\n"

// tarsIndex is what the file holds.
type tarsIndex struct {
	// Root is the folder of the tars, if they are in another one.
	Root string     `json:"folder,omitempty"`
	Tars []*tarScan `json:"tars"`

	folder string // where it was read
	byName map[string]*tarScan
}

// tarRecord is what is known of a tar.
type tarRecord struct {
	Name string `json:"name"` // below the folder of the tars
	// What the file was: size, time of its last change in nanoseconds since 1970, version in an object store,
	// and XXH3-128 of the headers of the first and the last sample.
	Bytes    int64  `json:"bytes"`
	Modified int64  `json:"modified"`
	Version  string `json:"version,omitempty"`
	Heads    string `json:"heads"`

	Samples int64                   `json:"samples"`
	Facts   map[string]*memberFacts `json:"members"`        // by extension
	Left    map[string]int64        `json:"left,omitempty"` // members of no sample, by the reason
}

// IndexTars reads the headers of the tars of others in a folder, and makes the bytes of TarsIndexName, which is to
// be put into that folder or, if it is not "", into another one. A folder that has such an index of tars elsewhere
// gets a new one. Where there is anything else than tars of others, the set is nil.
func IndexTars(ctx context.Context, in storage.FS, path, to string) (s *Set, content []byte, err error) {
	root, x := Folder(path), &tarsIndex{}
	old, damage := readTarsIndex(ctx, in, root)
	if damage == nil && old != nil && old.Root != "" {
		if root = old.Root; to == "" {
			to = Folder(path)
		}
	}
	name := ManifestPath(root)
	_, err = readManifest(ctx, in, name)
	if a, none := Absent(ctx, in, name, err).(*absentSet); err == nil || !none || a.begun {
		return nil, nil, nil
	}
	if st, err := in.Stat(ctx, root); err != nil || st.Type != storage.Folder {
		if old != nil && old.Root != "" {
			err = againFrom(shardify.Mismatch("the tars of the index, in %s, are gone", root), path)
		} else {
			err = nil
		}
		return nil, nil, shardify.Annotate(err, "index", path, "")
	}
	if s, err = openForeign(ctx, in, root, false); err != nil || s == nil || s.Format != index.FormatWDS {
		if err == nil && errors.Is(damage, shardify.ErrCorrupt) {
			return nil, nil, againFrom(damage, path)
		}
		return nil, nil, shardify.Annotate(err, "index", root, "")
	}
	if to != "" && storage.Clean(to) != storage.Clean(root) {
		if x.Root, err = storage.Abs(root); err == nil {
			err = emptyOfSets(ctx, in, to)
		}
		if err != nil {
			return nil, nil, shardify.Annotate(err, "index", to, "")
		}
	}
	x.Tars = s.loose.scans
	content, err = x.encode()
	return s, content, err
}

// againFrom is an error about an index in a folder of its own, from which the tars are not found.
func againFrom(err error, folder string) error {
	return shardify.Hint(err, "make it again from the folder of the tars: shardify index FOLDER -o "+printable.Quote(folder))
}

// emptyOfSets refuses a folder for an index of other tars that has tars or a data set: it would be in their place.
func emptyOfSets(ctx context.Context, in storage.FS, folder string) error {
	if _, err := in.Stat(ctx, ManifestPath(folder)); err == nil {
		return shardify.Usage("the folder has a data set: want one for the index alone")
	}
	if _, err := in.Stat(ctx, folder); err != nil {
		return nil // it will be made
	}
	_, _, err := walk.Walk(ctx, walk.Request{FS: in, Inputs: []string{folder}, Keep: isTar, AnyKind: true, NoStat: true})
	if err == nil {
		return shardify.Usage("the folder has tars of its own: want one for the index alone")
	}
	if errors.Is(err, walk.ErrNone) {
		err = nil
	}
	return err
}

func (x *tarsIndex) encode() ([]byte, error) {
	for _, t := range x.Tars {
		if name := storage.Join(x.Root, t.Name); !utf8.ValidString(name) {
			return nil, shardify.Unsupported("the name %q is not UTF-8, and cannot be in an index: rename it, or open the tars without one", name)
		}
	}
	text, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64([]byte(tarsMagic), uint64(len(text)))
	b = append(b, text...)
	for _, t := range x.Tars {
		for _, at := range t.places {
			b = binary.LittleEndian.AppendUint64(b, uint64(at))
		}
	}
	sum := xxh3.Hash128(b).Bytes()
	return append(b, sum[:]...), nil
}

// readTarsIndex reads the index in a folder, if it has one.
func readTarsIndex(ctx context.Context, in storage.FS, folder string) (*tarsIndex, error) {
	name := storage.Join(folder, TarsIndexName)
	b, err := storage.ReadOwn(ctx, in, name, maxManifest)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) { // the headers say the same
		return nil, nil
	}
	x := &tarsIndex{folder: folder, byName: map[string]*tarScan{}}
	if err == nil {
		err = x.parse(b)
	}
	if err != nil {
		return nil, shardify.Annotate(err, "open", name, "")
	}
	return x, nil
}

// TarsOf returns the folder of the tars whose index a folder has instead of them; "" if it has none.
func TarsOf(ctx context.Context, in storage.FS, folder string) (string, error) {
	x, err := readTarsIndex(ctx, in, folder)
	if x == nil {
		return "", err
	}
	return x.Root, nil
}

// parse decodes an index. What it returns is as sound as if it came from headers.
func (x *tarsIndex) parse(b []byte) error {
	const head, sum = int64(len(tarsMagic) + 8), 16
	size := int64(len(b))
	if size < head+sum || string(b[:len(tarsMagic)]) != tarsMagic {
		return shardify.Corrupt(0, "no index of tars of this version: remove it, or make it again with shardify index")
	}
	body := size - sum
	if want := xxh3.Hash128(b[:body]).Bytes(); !bytes.Equal(want[:], b[body:]) {
		return shardify.Corrupt(body, "the index of tars was changed: its bytes are not of its XXH3-128: remove it, or make it again with shardify index")
	}
	text := binary.LittleEndian.Uint64(b[len(tarsMagic):])
	if text > uint64(body-head) {
		return shardify.Corrupt(int64(len(tarsMagic)), "%d bytes of JSON in a file of %d", text, size)
	}
	at := head + int64(text)
	if err := json.Unmarshal(b[head:at], x); err != nil {
		return shardify.Corrupt(head, "%v", err)
	}
	for i, t := range x.Tars {
		if t == nil || x.byName[t.Name] != nil {
			return shardify.Corrupt(head, "tar %d is empty, or there twice", i)
		}
		if t.Samples < 0 || t.Samples >= (body-at)/8 {
			return shardify.Corrupt(head, "tar %q: %d samples, the file ends before", t.Name, t.Samples)
		}
		next := at + 8*(t.Samples+1)
		if bad, err := t.decode(b[at:next]); err != nil {
			return shardify.Corrupt(at+bad, "tar %q: %v", t.Name, err)
		}
		x.byName[t.Name], at = t, next
	}
	if at != body {
		return shardify.Corrupt(at, "%d bytes more than its tars have places", body-at)
	}
	return nil
}

// decode takes the places of a record, and checks both. bad is where in b something is wrong.
func (x *tarScan) decode(b []byte) (bad int64, err error) {
	last := int64(-tar.Block)
	for i := range x.Samples + 1 {
		v := binary.LittleEndian.Uint64(b[8*i:])
		if least := last + tar.Block; v > uint64(max(x.Bytes, 0)) || v%tar.Block != 0 || int64(v) < least && x.Samples > 0 {
			return 8 * i, fmt.Errorf("place %d is %d behind %d, in %d bytes", i, v, max(last, 0), x.Bytes)
		}
		last = int64(v)
		x.places = append(x.places, last)
	}
	if len(x.Facts) > maxExts || x.Samples > 0 && len(x.Facts) == 0 {
		return 0, fmt.Errorf("%d extensions", len(x.Facts))
	}
	for ext, f := range x.Facts {
		err := shardify.ValidName(ext)
		switch {
		case err != nil:
		case f == nil || f.Members <= 0 || f.Members > x.Samples:
			err = errors.New("no members, or more than samples")
		case f.Class && ext != "cls", (f.DType == nil) != (f.Dims == nil), f.Array() && !strings.HasSuffix("."+ext, ".npy"), f.Inner && len(f.Dims) == 0:
			err = errors.New("no value of such a member")
		case f.Array():
			if n, ok := npy.Bytes(*f.DType, f.Dims); !ok || n > x.Bytes || len(f.Dims) > 32 || slices.ContainsFunc(f.Dims, func(d int64) bool { return d < 0 }) {
				err = fmt.Errorf("an array of %v in a tar of %d bytes", f.Dims, x.Bytes)
			}
		}
		if err != nil {
			return 0, fmt.Errorf("members %q: %w", ext, err)
		}
	}
	for why, n := range x.Left {
		if n <= 0 || strings.ContainsFunc(why, func(r rune) bool { return r < ' ' || r > '~' }) {
			return 0, fmt.Errorf("%d members left out: %q", n, why)
		}
	}
	return 0, nil
}

// heads is the digest of the headers of the first and the last sample: another file of the same size and time
// has others.
func (x *tarScan) heads(f storage.File) (string, error) {
	b := make([]byte, 2*tar.Block)
	if x.Samples > 0 {
		for i, at := range []int64{x.places[0], x.places[x.Samples-1]} {
			if err := ReadFull(f, b[i*tar.Block:][:tar.Block], at); err != nil {
				return "", err
			}
		}
	}
	return index.DigestOf(b), nil
}

// open takes what is known of a tar that is as it was; else it reads the headers.
func (x *tarScan) open(ctx context.Context, in storage.FS, path, name string, known *tarsIndex) error {
	f, err := in.Open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	st := f.Stamp()
	x.Name, x.Bytes, x.Modified, x.Version = name, f.Size(), st.ModTime, st.Version
	if known != nil {
		if k := known.byName[name]; k != nil && k.Bytes == x.Bytes && k.Modified == x.Modified && k.Version == x.Version {
			heads, err := k.heads(f)
			if err != nil {
				return err
			}
			if heads == k.Heads {
				*x = *k
				return nil
			}
		}
		x.again = true
	}
	if err := x.read(ctx, f); err != nil {
		return err
	}
	x.Samples = int64(len(x.places) - 1)
	x.Heads, err = x.heads(f)
	return err
}

// note says what an index does not have as it is; "" if all is.
func (x *tarsIndex) note(list []tarScan, whole bool) string {
	again := 0
	have := map[string]bool{}
	for i := range list {
		have[list[i].Name] = true
		if list[i].again {
			again++
		}
	}
	gone := 0
	for name := range x.byName {
		if whole && !have[name] {
			gone++
		}
	}
	if again+gone == 0 {
		return ""
	}
	var what []string
	if again > 0 {
		what = append(what, fmt.Sprintf("the headers of %d of them were read again", again))
	}
	if gone > 0 {
		what = append(what, fmt.Sprintf("%d that it has are gone", gone))
	}
	return fmt.Sprintf("%s is older than the tars: %s; shardify index %s makes it again", TarsIndexName, strings.Join(what, ", "), printable.Quote(x.folder))
}

// CheckTarsIndex reads the headers of the tars that the index in a folder has, and compares. root is the folder of
// the tars, "" if there is no index; wrong is what differs.
func CheckTarsIndex(ctx context.Context, in storage.FS, folder string) (root string, wrong []string, err error) {
	x, err := readTarsIndex(ctx, in, folder)
	if x == nil {
		return "", nil, err
	}
	if root = x.Root; root == "" {
		root = folder
	}
	t, _, err := walk.Walk(ctx, walk.Request{FS: in, Inputs: []string{root}, Keep: isTar, AnyKind: true})
	if errors.Is(err, walk.ErrNone) {
		t, err = &format.Table{}, nil
	}
	if err != nil {
		return root, nil, err
	}
	left := maps.Clone(x.byName)
	for i := range t.Len() {
		name, now := tarName(root, t.Path(i)), tarScan{}
		was := left[name]
		delete(left, name)
		if was == nil {
			wrong = append(wrong, fmt.Sprintf("the index does not have the tar %q", name))
			continue
		}
		if err := now.open(ctx, in, t.Path(i), name, nil); err != nil {
			if ctx.Err() != nil {
				return root, nil, context.Cause(ctx)
			}
			continue // the reader of the tar says what is wrong with it
		}
		was.Modified, was.Version = now.Modified, now.Version
		a, errA := json.Marshal(was)
		b, errB := json.Marshal(&now)
		if err := errors.Join(errA, errB); err != nil {
			return root, nil, err
		}
		if !bytes.Equal(a, b) || !slices.Equal(was.places, now.places) {
			wrong = append(wrong, fmt.Sprintf("the tar %q has other samples than when the index was made", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		wrong = append(wrong, fmt.Sprintf("the tar %q of the index is gone", name))
	}
	return root, wrong, nil
}

// tarName is the name of a tar below the folder of a set.
func tarName(root, path string) string {
	return strings.TrimPrefix(path, strings.TrimSuffix(storage.Join(root, "x"), "x"))
}
