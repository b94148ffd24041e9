package gpuload

import (
	"io"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// tarFormat is how the wanted fields stand in the tars of one input.
type tarFormat struct {
	keyed   bool
	members []tarMember
	names   []tarName // sorted, as members stand in a sample
	wanted  int       // members that are wanted
	key     index.ColumnTensors
}

// tarMember is a field's member, and the wanted tensors that it fills; -1 for none.
type tarMember struct {
	index.Member
	field  *shardify.Field
	wanted int // its number among the wanted, or -1
	at     index.ColumnTensors
	// leads: the field decides the lengths in at.Offsets; others of the counter are
	// compared.
	leads       bool
	shape, ext  int
	elem        int64
	rank        int
	fixedHeader []byte
}

// tarName is the end of a member's name, from the dot on.
type tarName struct {
	tail   string
	member int
	code   int
}

func newTarFormat(in *input, layout *index.Layout) (*tarFormat, error) {
	schema := in.manifest.Schema
	members, err := index.MembersOf(schema, in.manifest.Members)
	if err != nil {
		return nil, err
	}
	f := &tarFormat{keyed: in.manifest.Keyed, key: layout.Key}
	for i, m := range members {
		tm := newTarMember(schema, m, layout)
		if tm.wanted >= 0 || tm.shape >= 0 || tm.ext >= 0 {
			tm.wanted = f.wanted
			f.wanted++
		}
		f.members = append(f.members, tm)
		for code, name := range m.Names() {
			f.names = append(f.names, tarName{"." + name, i, code})
		}
	}
	slices.SortFunc(f.names, func(a, b tarName) int { return strings.Compare(a.tail, b.tail) })
	return f, nil
}

func newTarMember(schema []shardify.Field, m index.Member, layout *index.Layout) tarMember {
	f := &schema[m.Field]
	t := tarMember{Member: m, field: f, wanted: -1, shape: -1, ext: -1, elem: int64(f.ElemBytes()), rank: f.Levels + len(f.Shape)}
	t.at = index.ColumnTensors{Values: -1, Offsets: -1, Offsets1: -1, Valid: -1}
	if i := shardify.FieldIndex(layout.Schema, f.Name); i >= 0 {
		t.wanted, t.at = 0, layout.Columns[i]
		t.leads = t.at.Offsets >= 0 && layout.Tensors[t.at.Offsets].Column == i
	}
	companion := func(i int) int {
		if i < 0 {
			return -1
		}
		j := shardify.FieldIndex(layout.Schema, schema[i].Name)
		if j < 0 {
			return -1
		}
		return layout.Columns[j].Values
	}
	t.shape, t.ext = companion(m.Shape), companion(m.Ext)
	if m.Shape >= 0 {
		t.rank = len(f.Shape) + schema[m.Shape].Shape[0]
	}
	if m.Kind == index.MemberNPY {
		h := index.NewNPYHeader(f)
		t.fixedHeader = h.Fixed()
	}
	return t
}

// openTar checks the sizes of a tar and of its offset index, the index's digest,
// and that the tar ends as it should.
func (s *shardSet) openTar(h *openShard, size int64) error {
	if size != h.record.Bytes {
		return shardify.Corrupt(-1, "bytes: the manifest says %d, the file has %d", h.record.Bytes, size)
	}
	var w index.TarWindow
	w.Reset(h.file, size, make([]byte, 4<<10))
	if _, err := index.CheckTarEnd(&w); err != nil {
		return err
	}
	if s.checks(h.shard) {
		if err := checkTar(h); err != nil {
			return err
		}
	}
	return s.readTarIndex(h)
}

func (s *shardSet) readTarIndex(h *openShard) error {
	name := h.path + index.TarIndexExt
	f, size, err := openRegular(name)
	if err != nil {
		return shardify.Annotate(err, "open", name, "")
	}
	defer f.Close()
	if want := index.TarIndexBytes(h.record.Samples); size != want {
		return shardify.Annotate(shardify.Corrupt(-1, "bytes: %d samples take %d, the file has %d", h.record.Samples, want, size), "open", name, "")
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return shardify.Annotate(err, "read", name, "")
	}
	for i := range h.record.Files {
		r := &h.record.Files[i]
		if r.Name != h.record.Name+index.TarIndexExt {
			continue
		}
		d := index.DigestOf(b)
		if strings.HasPrefix(r.Digest, index.PiecePrefix) {
			d = index.PieceDigestOf(b)
		}
		if d != r.Digest {
			return shardify.Annotate(shardify.Corrupt(0, "digest: the manifest says %s, the file has %s", r.Digest, d), "open", name, "")
		}
	}
	h.index, err = index.ParseTarIndex(b, h.record.Samples, h.record.Bytes)
	return shardify.Annotate(err, "read", name, "")
}

// checkTar compares all bytes of a tar with its digest.
func checkTar(h *openShard) error { return checkTarFrom(h.file, h) }

func checkTarFrom(r io.ReaderAt, h *openShard) error {
	var d index.PieceDigest
	buf := make([]byte, 4*index.PieceBytes)
	n, err := io.CopyBuffer(&d, struct{ io.Reader }{io.NewSectionReader(r, 0, h.record.Bytes)}, buf)
	if err != nil {
		return err
	}
	if n != h.record.Bytes {
		return shardify.Corrupt(n, "file ends here, %d more bytes expected", h.record.Bytes-n)
	}
	if d.String() != h.record.Digest {
		return shardify.Corrupt(-1, "digest: the manifest says %s, the file has %s", h.record.Digest, d.String())
	}
	return nil
}
