package dataset

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/mds"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// Tar is how the tars of a set store its fields. It is immutable.
type Tar struct {
	Members []Member
	keyed   bool
	names   []memberName // sorted, as the members of a sample are
	loose   *loose       // of shards of others; else nil
}

// Member is what a sample has of a field in the tar.
type Member struct {
	tar.Member
	Of    *shardify.Field
	Elem  int64 // bytes of an element
	rank  int   // of arrays
	fixed []byte
	// column is how MDS stores the field; else nil.
	column *mds.Column
}

// memberName is the end of a member's name, from the dot on.
type memberName struct {
	tail   string
	member int
	code   int // of an image's extension
}

// NewTar finds the members of a schema under the names that the manifest gives them.
func NewTar(schema []shardify.Field, members map[string]string, keyed bool) (*Tar, error) {
	list, err := tar.MembersOf(schema, members)
	if err != nil {
		return nil, err
	}
	t := &Tar{keyed: keyed}
	for i, m := range list {
		t.Members = append(t.Members, newMember(schema, m))
		for code, n := range m.Names() {
			t.names = append(t.names, memberName{"." + n, i, code})
		}
	}
	slices.SortFunc(t.names, func(a, b memberName) int { return strings.Compare(a.tail, b.tail) })
	return t, nil
}

func newMember(schema []shardify.Field, m tar.Member) Member {
	f := &schema[m.Field]
	x := Member{Member: m, Of: f, Elem: int64(f.ElemBytes()), rank: f.Levels + len(f.Shape)}
	if m.Shape >= 0 {
		x.rank = len(f.Shape) + schema[m.Shape].Shape[0]
	}
	if m.Kind == tar.MemberNPY {
		h := npy.NewHeader(f)
		x.fixed = h.Fixed()
	}
	return x
}

// Dims is how many dimensions a ragged value has before those of its elements.
func (m *Member) Dims() int { return m.rank - len(m.Of.Shape) }

// Header is the bytes before the data of an array of no elements.
func (m *Member) Header() int { return len(m.fixed) }

// Find is the member whose names end so, behind the key and the dot. The n-th of a sample is
// mostly the n-th of all names.
func (t *Tar) Find(n int, name []byte) (member int, text string, ok bool) {
	if n >= len(t.names) || t.names[n].tail[1:] != string(name) {
		n, ok = slices.BinarySearchFunc(t.names, string(name), func(a memberName, b string) int { return strings.Compare(a.tail[1:], b) })
		if !ok {
			return 0, "", false
		}
	}
	return t.names[n].member, t.names[n].tail[1:], true
}

// LongestName is the bytes of the longest name of a member, without key and dot.
func (t *Tar) LongestName() (n int) {
	for i := range t.names {
		n = max(n, len(t.names[i].tail)-1)
	}
	return n
}

func tails(names []memberName) string {
	var b strings.Builder
	for i := range names {
		b.WriteString(" " + names[i].tail)
	}
	return strings.TrimSpace(b.String())
}

// TarIndex is the offset index beside a tar.
type TarIndex struct {
	name           string
	file           storage.File
	samples, bytes int64
}

// OpenTarIndex opens the index of a tar of so many samples and bytes.
func OpenTarIndex(ctx context.Context, in storage.FS, shard string, samples, bytes int64) (*TarIndex, error) {
	x := &TarIndex{name: shard + tar.IndexExt, samples: samples, bytes: bytes}
	var err error
	x.file, err = OpenFile(ctx, in, x.name, tar.IndexBytes(samples))
	return x, shardify.Annotate(err, "open", x.name, "")
}

// Entries reads entries [first, first+len(dst)). b is memory of 8 bytes for each.
func (x *TarIndex) Entries(dst []int64, b []byte, first int64) error {
	err := ReadFull(x.file, b, first*8)
	if err == nil {
		err = tar.DecodeIndex(dst, b, first, x.samples, x.bytes)
	}
	return shardify.Annotate(err, "read", x.name, "")
}

// Close closes the file.
func (x *TarIndex) Close() error { return x.file.Close() }

// ReadTarIndex reads all of the index beside a tar and holds it against its digest.
func ReadTarIndex(ctx context.Context, in storage.FS, shard string, record *shardify.Shard) (entries []int64, err error) {
	x, err := OpenTarIndex(ctx, in, shard, record.Samples, record.Bytes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	entries, err = x.all(record)
	if Again(x.file, err) {
		entries, err = x.all(record)
	}
	return entries, err
}

// all reads and checks all entries.
func (x *TarIndex) all(record *shardify.Shard) ([]int64, error) {
	b := make([]byte, tar.IndexBytes(record.Samples))
	entries := make([]int64, record.Samples+1)
	if err := x.Entries(entries, b, 0); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(record.Files, func(f shardify.File) bool { return f.Name == record.Name+tar.IndexExt })
	if i < 0 {
		return entries, nil
	}
	c, err := NewChecker(record.Files[i].Digest)
	if err == nil {
		_, _ = c.Write(b)
		err = c.End()
	}
	return entries, shardify.Annotate(err, "open", x.name, "")
}

// CheckDigest compares all bytes of a tar with its digest.
func CheckDigest(r io.ReaderAt, record *shardify.Shard) error {
	c, err := NewChecker(record.Digest)
	if err != nil {
		return err
	}
	return pass(r, record.Bytes, c, make([]byte, 4*index.PieceBytes))
}
