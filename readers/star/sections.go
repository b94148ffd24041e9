package star

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/mrc"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

const (
	optStacks  = "stacks"
	imageField = "image"
	nameField  = "rlnImageName" // 000001@Extract/job005/stack.mrcs: sections count from 1
)

// table is the rows of STAR files.
type table interface {
	shardify.Source
	format.Stater
	format.Noter
	format.Reporter
	format.Reopener
	format.Skipper
	format.Ranger
	format.Splitter
	format.Piecer
}

// named are rows that name sections, which are not read.
type named struct{ table }

// Notes implements format.Noter.
func (n named) Notes() []string {
	return append(n.table.Notes(), nameField+" names sections of stacks: --stacks FOLDER reads them, from the folder that the paths are below")
}

// sections adds to rows the sections of stacks that they name.
type sections struct {
	table
	fs     storage.FS
	folder string
	named  bool // the names are a field, too
	found
}

// found is what the survey found.
type found struct {
	Image  shardify.Field
	Stacks map[string]stamp
}

// stamp is how a stack was when the rows were surveyed. Time is 0 where the storage does not know it.
type stamp struct {
	Size, Time int64
	Version    string `json:",omitempty"`
}

func stampOf(f storage.File) stamp {
	now := f.Stamp()
	return stamp{f.Size(), now.ModTime, now.Version}
}

// isImage begins the state of sections: the length of found as JSON, found, and the state of the rows.
const isImage = 0xfd

// openSections opens rows with their sections. open opens the rows.
func openSections(ctx context.Context, a format.OpenArgs, folder string, open func(format.OpenArgs) (shardify.Source, error)) (shardify.Source, error) {
	want, err := columns.New(a.Columns)
	if err != nil {
		return nil, err
	}
	s := &sections{fs: storages.Of(a.Table), folder: folder}
	s.named, _ = want.Match(nameField)
	pictured, _ := want.Match(imageField)
	if !pictured {
		return open(a)
	}
	if a.Columns = slices.DeleteFunc(slices.Clone(a.Columns), func(c string) bool { return c == imageField || c == columns.Helper(imageField) }); !s.named || len(a.Columns) == 0 && !want.All() {
		a.Columns = append(a.Columns, columns.Helper(nameField))
		if !want.Open() && len(a.Columns) == 1 {
			a.Columns = []string{nameField}
		}
	}
	if state := a.State; state != nil {
		size, w := binary.Uvarint(state[min(1, len(state)):])
		if len(state) == 0 || state[0] != isImage || w <= 0 || size > uint64(len(state)-1-w) || json.Unmarshal(state[1+w:1+w+int(size)], &s.found) != nil || s.Image.Validate() != nil || s.Image.Levels != 0 {
			return nil, shardify.Corrupt(-1, "survey of the plan: the sections of a STAR file")
		}
		a.State = state[1+w+int(size):]
	}
	src, err := open(a)
	if err != nil {
		return nil, err
	}
	s.table = src.(table)
	if a.State == nil {
		err = s.survey(ctx)
	}
	if err == nil {
		err = shardify.ValidateSchema(s.Schema())
	}
	if err != nil {
		src.Close()
		return nil, err
	}
	return s, nil
}

// section is what a row names.
func section(name []byte) (number int64, file string, err error) {
	digits, path, ok := bytes.Cut(name, []byte("@"))
	number, bad := strconv.ParseInt(string(digits), 10, 64)
	if !ok || bad != nil || number < 1 || len(path) == 0 {
		return 0, "", shardify.Unsupported("%s is %.80q; want the number of a section and a stack, as 000001@stack.mrcs", nameField, name)
	}
	if slices.Contains(strings.Split(string(path), "/"), "..") {
		return 0, "", shardify.Unsupported("%s is %.80q, which leaves the folder of --stacks; name a folder above with --stacks, and write the paths from there", nameField, name)
	}
	return number, string(path), nil
}

// survey reads the headers of all stacks that are named, which must be alike.
func (s *sections) survey(ctx context.Context) error {
	if i := shardify.FieldIndex(s.table.Schema(), nameField); i < 0 || s.table.Schema()[i].Media != "txt" {
		return shardify.Mismatch("no column %s, which names the sections of --stacks", nameField)
	}
	most, first := map[string]int64{}, ""
	s.Stacks = map[string]stamp{}
	r, err := s.table.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	pool := shardify.NewPool(64 << 20)
	for sp, err := range s.table.Spans(ctx, 1<<20) {
		if err != nil {
			return err
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return err
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			err = eachName(b, sp.Lo, func(_ int, number int64, file string) error {
				most[file] = max(most[file], number)
				return nil
			})
		}
		mem.Release()
		if err != nil {
			return err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(most)) {
		st, err := s.open(ctx, file, nil, most[file])
		if err != nil {
			return err
		}
		s.Stacks[file] = stampOf(st.in)
		st.in.Close()
		if s.Image.Name == "" {
			s.Image, first = st.field, file
		} else if !alike(&s.Image, &st.field) {
			return shardify.Mismatch("sections of %s are %s %v, those of %s %s %v", first, s.Image.DType, s.Image.Shape, file, st.field.DType, st.field.Shape)
		}
	}
	if s.Image.Name == "" {
		return shardify.Unsupported("no row names a section")
	}
	return nil
}

// eachName parses the names of a batch of rows.
func eachName(b *shardify.Batch, lo int64, do func(i int, number int64, file string) error) error {
	for c := range b.Columns {
		if b.Columns[c].Name != nameField {
			continue
		}
		data, off := b.Columns[c].Data, b.Columns[c].Offsets[0]
		for i := range len(off) - 1 {
			number, file, err := section(data[off[i]:off[i+1]])
			if err == nil {
				err = do(i, number, file)
			}
			if err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Sample = lo + int64(i) })
			}
		}
		return nil
	}
	return shardify.Corrupt(-1, "no column %s", nameField)
}

// stack is an open file.
type stack struct {
	in    storage.File
	field shardify.Field
	head  *mrc.Header
}

// path is where a stack is.
func (s *sections) path(file string) string { return storage.Join(s.folder, file) }

// open opens a stack that is as it was, unless was is nil, and must have so many sections.
func (s *sections) open(ctx context.Context, file string, was *stamp, most int64) (*stack, error) {
	name, size := s.path(file), int64(-1)
	if was != nil {
		size = was.Size
	}
	in, err := rows.OpenFile(ctx, s.fs, name, size)
	if err != nil {
		return nil, err
	}
	st := &stack{in: in}
	if now := stampOf(in); was != nil && (now.Version != was.Version || now.Time != was.Time && now.Time != 0 && was.Time != 0) {
		err = fmt.Errorf("%w: it was written to, and has the size that it had", shardify.ErrChanged)
	}
	if err == nil {
		err = st.parse(most)
	}
	if err != nil {
		in.Close()
		return nil, shardify.Annotate(err, "open", name, "")
	}
	return st, nil
}

func (st *stack) parse(most int64) error {
	b := make([]byte, min(mrc.Bytes, st.in.Size()))
	if err := readat.Full(st.in, b, 0); err != nil {
		return err
	}
	if bytes.HasPrefix(b, []byte("\x1f\x8b")) {
		return shardify.Unsupported("it is packed by gzip; unpack it first, with gunzip")
	}
	h, err := mrc.Parse(b)
	if err != nil {
		return err
	}
	st.head, st.field = h, shardify.Field{Name: imageField, DType: h.DType, Shape: []int{h.NY, h.NX}}
	if h.Complex {
		st.field.Shape, st.field.Attrs = append(st.field.Shape, 2), map[string]string{"complex": "true"}
	}
	if most > int64(h.NZ) {
		return shardify.Corrupt(-1, "a row names section %d, and there are %d", most, h.NZ)
	}
	if end := rows.SatAdd(h.Offset, rows.SatMul(st.bytes(), most)); end > st.in.Size() {
		return shardify.Corrupt(st.in.Size(), "section %d ends at byte %d, and the file has %d", most, end, st.in.Size())
	}
	return nil
}

func alike(a, b *shardify.Field) bool { return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) }

// bytes of a section.
func (st *stack) bytes() int64 { return int64(st.field.Elem()) * int64(st.field.DType.Size()) }

// Schema implements shardify.Source.
func (s *sections) Schema() (out []shardify.Field) {
	for _, f := range s.table.Schema() {
		if f.Name != nameField || s.named {
			out = append(out, f)
		}
	}
	return append(out, s.Image)
}

// State implements format.Stater.
func (s *sections) State() ([]byte, error) {
	below, err := s.table.State()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s.found)
	return slices.Concat(binary.AppendUvarint([]byte{isImage}, uint64(len(text))), text, below), err
}

// each is the bytes of an image.
func (s *sections) each() int64 { return int64(s.Image.Elem()) * int64(s.Image.DType.Size()) }

// Spans implements shardify.Source: those of the rows, cut so that their images fit the target.
func (s *sections) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for sp, err := range s.table.Spans(ctx, target) {
			n := max(sp.Samples(), 1)
			row := rows.SatAdd(sp.Bytes/n+1, s.each())
			at := max(target/row, 1)
			for lo := sp.Lo; ; lo += at {
				part := sp
				part.Lo, part.Hi = lo, min(lo+at, sp.Hi)
				part.Bytes = rows.SatMul(row, part.Samples())
				if !yield(part, err) || err != nil {
					return
				}
				if part.Hi == sp.Hi {
					break
				}
			}
		}
	}
}

// Reader implements shardify.Source.
func (s *sections) Reader(run uint32) (shardify.Reader, error) {
	r, err := s.table.Reader(run)
	return &reader{Reader: r, s: s, open: map[string]*stack{}}, err
}

// reader reads rows, and keeps the stacks open that they name.
type reader struct {
	shardify.Reader
	s     *sections
	open  map[string]*stack
	order []string // of open, the oldest first
}

// maxOpen bounds the stacks that a reader keeps open.
const maxOpen = 32

// Close implements shardify.Reader.
func (r *reader) Close() error {
	for _, st := range r.open {
		st.in.Close()
	}
	clear(r.open)
	r.order = nil
	return r.Reader.Close()
}

func (r *reader) stack(ctx context.Context, file string) (*stack, error) {
	if st := r.open[file]; st != nil {
		return st, nil
	}
	if len(r.order) == maxOpen {
		r.open[r.order[0]].in.Close()
		delete(r.open, r.order[0])
		r.order = r.order[1:]
	}
	was, ok := r.s.Stacks[file]
	if !ok {
		return nil, fmt.Errorf("%w: the rows name another stack, %s", shardify.ErrChanged, file)
	}
	st, err := r.s.open(ctx, file, &was, 1)
	if err == nil && !alike(&r.s.Image, &st.field) {
		st.in.Close()
		err = fmt.Errorf("%w: sections are %s %v, were %s %v", shardify.ErrChanged, st.field.DType, st.field.Shape, r.s.Image.DType, r.s.Image.Shape)
	}
	if err != nil {
		return nil, shardify.Annotate(err, "open", r.s.path(file), "")
	}
	r.open[file], r.order = st, append(r.order, file)
	return st, nil
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	b, err := r.Reader.Read(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	each := int(r.s.each())
	var data []byte
	if err := eachName(b, sp.Lo, func(i int, number int64, file string) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		st, err := r.stack(ctx, file)
		if err != nil {
			return err
		}
		if number > int64(st.head.NZ) {
			return shardify.Annotate(shardify.Corrupt(-1, "the row names section %d, and there are %d", number, st.head.NZ), "read", r.s.path(file), "")
		}
		if data == nil { // the stack is as the plan has it
			data = mem.Alloc(int(sp.Samples()) * each)
		}
		dst := data[i*each : (i+1)*each]
		if err := readat.Full(st.in, dst, st.head.Offset+(number-1)*int64(each)); err != nil {
			return shardify.Annotate(err, "read", r.s.path(file), "section "+strconv.FormatInt(number, 10))
		}
		if st.head.Big {
			voxels.Swap(dst, st.head.DType.Size())
		}
		return nil
	}); err != nil {
		return nil, err
	}
	b.Columns = slices.DeleteFunc(b.Columns, func(c shardify.Column) bool { return c.Name == nameField && !r.s.named })
	b.Columns = append(b.Columns, shardify.Column{Field: r.s.Image, Data: data})
	return b, nil
}

// Notes implements format.Noter.
func (s *sections) Notes() []string {
	return append(s.table.Notes(), "field image is the section of a stack that "+nameField+" names, below "+strings.TrimSuffix(s.folder, "/"))
}
