// Package arrayfiletest compares readers of files of arrays with what other programs read, for tests.
package arrayfiletest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
)

// Expected is what another program says of a file.
type Expected struct {
	Fields, Raw map[string]Field
	Error, Read string
	// Oracle is what the program does with a damaged file.
	Oracle     json.RawMessage `json:"oracle_says"`
	Attributes map[string]json.RawMessage
}

// Field is a field of it; DType is c64 or c128 for complex numbers.
type Field struct {
	DType string
	Shape []int
	SHA   string `json:"sha256"`
}

// Read reads what is said of a file.
func Read(t testing.TB, name string) (e Expected) {
	t.Helper()
	b, err := os.ReadFile(name + ".json")
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	var says Expected
	if e.Read != "" && json.Unmarshal(e.Oracle, &says) == nil {
		e.Fields = says.Fields
	}
	return e
}

// Corpus reads each file of a folder of the corpus and compares its fields, those of stored values with
// --scaled no. verdict may say of a file that it is read ("read"), or refused with these words, whatever the other
// program does.
func Corpus(t *testing.T, folder string, input format.Input, verdict map[string]string) {
	root := filepath.Join(corpus.Dir(t, "science_images"), folder)
	compared, refused := 0, 0
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".json") {
			return err
		}
		name = strings.TrimSuffix(name, ".json")
		if st, err := os.Stat(name); err != nil || st.IsDir() {
			return nil
		}
		e, base := Read(t, name), filepath.Base(name)
		if e.Fields == nil && e.Error == "" && verdict[base] == "" {
			return nil // not made by the program
		}
		switch words := verdict[base]; words {
		case "":
		case "read":
			var says Expected
			if err := json.Unmarshal(e.Oracle, &says); err != nil {
				t.Fatal(err)
			}
			e = Expected{Fields: says.Fields}
		default:
			e = Expected{Error: words}
		}
		for _, scaled := range []string{"yes", "no"} {
			fields := e.Fields
			if e.Raw != nil && scaled == "no" {
				fields = e.Raw
			}
			o := format.Options{}
			if scales(input) {
				o["scaled"] = scaled
			} else if scaled == "no" {
				continue
			}
			src, err := Open(input, o, nil, name)
			var c *readertest.Columns
			if err == nil {
				c, err = readertest.Load(src, 1<<20)
				src.Close()
			}
			switch {
			case e.Error != "" && err == nil:
				t.Errorf("%s: is read; want %s", base, e.Error)
			case e.Error != "":
				if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
					t.Errorf("%s: %v, which is neither damage nor a refusal", base, err)
				}
				if words := verdict[base]; words != "" && !strings.Contains(err.Error(), words) {
					t.Errorf("%s: %v; want %q", base, err, words)
				}
				t.Logf("%s: %v (wanted: %s)", base, err, e.Error)
				refused++
			case err != nil:
				t.Errorf("%s: %v", base, err)
			default:
				for field, want := range fields {
					if same(t, base+" "+field, c, field, want) {
						compared++
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared == 0 || refused == 0 {
		t.Errorf("%d fields compared, %d files refused", compared, refused)
	}
	t.Logf("%d fields equal, %d times refused", compared, refused)
}

// scales reports whether headers scale the values.
func scales(input format.Input) bool {
	return slices.ContainsFunc(input.Options, func(o format.Option) bool { return o.Name == "scaled" && o.Default == "yes" })
}

// Open opens files.
func Open(input format.Input, o format.Options, columns []string, names ...string) (shardify.Source, error) {
	return input.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(names...), Options: o, Columns: columns, Jobs: 2})
}

// same compares a field, of one sample or of several that are its first axis.
func same(t *testing.T, at string, c *readertest.Columns, field string, want Field) bool {
	t.Helper()
	col := c.ByName[field]
	if col == nil {
		t.Errorf("%s: no such field", at)
		return false
	}
	dtype, shape := want.DType, want.Shape
	if parts, ok := map[string]string{"c64": "f32", "c128": "f64"}[dtype]; ok {
		dtype, shape = parts, append(slices.Clone(shape), 2)
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	sum := sha256.Sum256(col.Data)
	if got := hex.EncodeToString(sum[:]); got != want.SHA || col.DType.String() != dtype || len(col.Data) != n*col.DType.Size() {
		t.Errorf("%s: %s %v of %d bytes with the sum %.8s; want %s %v with %.8s", at, col.DType, col.Shape, len(col.Data), got, dtype, shape, want.SHA)
		return false
	}
	if col.Levels == 0 && len(col.Shape) == len(shape) && !slices.Equal(col.Shape, shape) {
		t.Errorf("%s: shape %v; want %v", at, col.Shape, shape)
		return false
	}
	return true
}
