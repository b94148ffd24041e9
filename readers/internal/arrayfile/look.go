package arrayfile

import (
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// The blobs of facts: what a sample is.
const (
	isFile    = "file"
	isSection = "section"
)

// read reads the header of an open file, which is its owner's after an error.
func (k *Kind) read(ctx context.Context, fs storage.FS, name string, in storage.File, o format.Options, g *Group) (*File, error) {
	f, err := newFile(ctx, fs, name, in)
	if err != nil {
		return nil, err
	}
	f.Group = g
	if f.Header, err = k.Look(f, o); err == nil {
		err = f.check()
	}
	if err != nil {
		for _, b := range f.beside {
			b.Close()
		}
		return nil, err
	}
	return f, nil
}

// samples of the file.
func (h *Header) samples() int64 {
	if h.Sections > 0 {
		return h.Sections
	}
	return 1
}

// check refuses invalid fields, and values beyond the end of the file.
func (f *File) check() error {
	for i := range f.Arrays {
		a := &f.Arrays[i]
		if err := a.named(); err != nil {
			return err
		}
		if a.Rows < 0 || a.Rows > rows.MaxSamples || f.Sections < 0 {
			return shardify.Corrupt(-1, "%d rows, %d sections", a.Rows, f.Sections)
		}
		if a.Value != nil || a.Read != nil {
			continue
		}
		if a.In == nil {
			a.In = f
		}
		n := rows.SatMul(rows.SatMul(int64(a.Elem()), int64(a.width())), f.samples())
		if a.Levels > 0 {
			n = rows.SatMul(n, a.Rows)
		}
		if err := a.In.room(a.At, n); err != nil && a.In != f {
			return shardify.Annotate(err, "open", a.In.path, "")
		} else if err != nil {
			return err
		}
		if f.Whole && !a.In.Packed && a.In.Size > a.At+n && f.Remark == "" {
			f.Remark = "bytes that follow the values are not read"
		}
	}
	return nil
}

// named gives the array a name that fields can have.
func (a *Array) named() error {
	a.given, a.Name = a.Name, format.PlainName(a.Name)
	return a.Validate()
}

// made is one of the further fields, by its name in the schema.
func (f *File) made(name string) *Array {
	if f.Make == nil {
		return nil
	}
	if a, ok := f.Make(name); ok && a.named() == nil && a.Name == name {
		return &a
	}
	if i := slices.IndexFunc(f.Further(), func(s string) bool { return format.PlainName(s) == name }); i >= 0 {
		if a, ok := f.Make(f.Further()[i]); ok && a.named() == nil {
			return &a
		}
	}
	return nil
}

// asked finds out whether a field is read that must be asked for: those that are not are listed.
func (f *File) asked(name string, want *columns.Wanted, x *survey.Facts, others *[]string) bool {
	hit, exact := want.Match(name)
	switch {
	case !hit || want.Open() && !exact:
		*others = append(*others, format.PlainName(name))
		return false
	case !exact && !strings.HasPrefix(name, f.Arrays[0].given+"."):
		x.Left = append(x.Left, format.Leftover{Name: format.PlainName(name), Reason: "--columns takes it by its full name, not by a wildcard"})
		return false
	}
	return true
}

// facts are what the survey knows of a file.
func (k *Kind) facts(f *File, want *columns.Wanted) *survey.Facts {
	x := &survey.Facts{Samples: f.samples(), Size: f.Size, Lines: f.Lines, Remark: f.Remark, Blob: []byte(isFile)}
	if f.Group != nil {
		x.Blob = f.Group.blob()
	}
	if f.Sections > 0 {
		x.Blob, x.Borders = []byte(isSection), set.Borders{Every: 1}
	}
	var others []string
	if f.Further != nil && want.All() {
		more := f.Further
		x.Further = func() []string { return furtherLines(more()) }
	} else if f.Further != nil {
		for _, name := range f.Further() {
			if !f.asked(name, want, x, &others) {
				continue
			}
			if a, ok := f.Make(name); ok && a.named() == nil {
				a.Asked = false
				f.Arrays = append(f.Arrays, a)
			}
		}
	}
	for i := range f.Arrays {
		a := &f.Arrays[i]
		if a.Asked {
			if !f.asked(a.given, want, x, &others) {
				continue
			}
		} else if hit, _ := want.Match(a.given, a.given+shardify.ShapeSuffix); !hit {
			continue
		}
		field := survey.Field{Field: a.Field}
		if a.Levels > 0 {
			field.Bytes = a.values() * int64(a.DType.Size())
		}
		x.Fields = append(x.Fields, field)
		if a.Value == nil && (f.Packed || a.In != nil && a.In.Packed) { // decoded from its beginning
			x.Borders = set.Borders{}
			if n := rows.SatMul(a.values()*int64(a.DType.Size()), f.samples()); n > x.PieceBytes {
				x.Piece, x.PieceBytes = a.Name, n
			}
		}
	}
	x.Lines = append(x.Lines, furtherLines(others)...)
	return x
}

// furtherLines describe a file whose further fields have these names.
func furtherLines(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{"--columns names further fields: " + strings.Join(names, ", ")}
}
