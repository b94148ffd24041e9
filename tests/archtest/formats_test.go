package archtest

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

// named are the places outside of writers/ that may name an output format, an extension of
// its shards or a file of its own, and why. All others ask the table.
var named = []struct {
	files, names string // a pattern of files; literals and constants, "*" is all
	why          string
}{
	{"index/*.go", "*", "has the bytes of all formats"},
	{"index/tar/*.go", ".bin", "the end of a member that no loader takes for an image"},
	{"readers/mmap/*.go", "FormatMmap", "reads what writers/mmap writes"},
	{"readers/wds/*.go", "FormatWDS", "reads what writers/wds writes"},
	{"index/megatron/*.go", ".bin", "has the bytes of its pairs"},
	{"index/mds/*.go", "FormatMDS index.json", "has the bytes of its sets"},
	{"readers/mds/*.go", "FormatMDS mds .mds", "reads what writers/mds and Streaming write"},
	{"index/tfrecord/*.go", "features.json dataset_info.json .labels.txt", "has the files of TensorFlow Datasets"},
	{"readers/tfrecord/*.go", "tfrecord", "reads what writers/tfrecord and TensorFlow write"},
	{"readers/arrow/*.go", "arrow .arrow", "reads what writers/arrow and others write"},
	{"storage/walk/foreign.go", ".array_record", "a kind of file that is written, and not read"},
	{"readers/parquet/*.go", "parquet .parquet", "reads what writers/parquet and others write"},
	{"pipeline/internal/propose/tables.go", "parquet .parquet", "a table of Parquet beside inputs, whichever program made it"},
	{"readers/internal/arrays/store/foreign.go", ".parquet", "a file that a program has put into a store of arrays"},
	{"readers/internal/labels/beside.go", ".parquet", "as in pipeline/internal/propose"},
	{"readers/megatron/*.go", "FormatMegatron", "reads what writers/megatron writes"},
	{"dataset/pair.go", ".tar", "an .idx that is not an index of tokens"},
	{"dataset/*.go", "FormatMegatron FormatMDS FormatWDS", "opens pairs, MDS sets and tars that have no manifest"},
	{"dataset/tars.go", ".tar", "as above"},
	{"dataset/absent.go", "index.json", "says what a folder of MosaicML Streaming is"},
	{"pipeline/internal/blend/blend.go", "FormatMegatron", "file lists have pairs of .bin and .idx, whichever program made them"},
	{"questions/static/static.go", "FormatMmap", "static fields are an mmap shard, whatever the format of the set"},
	{"readers/tar/*.go", ".tar", "reads tars from any tool"},
	{"readers/internal/tars/*.go", ".tar", "as above, as folders of a pair"},
	{"readers/internal/pairs/pairs.go", ".tar", "a folder of a pair may be a tar"},
	{"readers/choose.go", ".tar", "the stem of a.tar.gz is a"},
	{"gpuload/*.go", "FormatMmap FormatWDS FormatMegatron FormatMDS", "the loader reads four formats of shards, without the table"},
	{"gpuload/internal/load/*.go", "FormatWDS FormatMegatron FormatMDS", "as above"},
}

// TestFormatsAreNamedInTheirFolders: a new output format is its folder and one line of the table.
// The author of a new one would not find a place that knows formats by name.
func TestFormatsAreNamedInTheirFolders(t *testing.T) {
	used := make([]bool, len(named))
	for _, p := range list(t) {
		if name := short(p.ImportPath); strings.HasPrefix(name, "writers") || strings.HasPrefix(name, "bench") {
			continue
		}
		for _, f := range p.GoFiles {
			rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module)+"/"+f, "/")
			fset, file := parse(t, filepath.Join(p.Dir, f))
			ast.Inspect(file, func(n ast.Node) bool {
				name := formatNamed(n)
				if name == "" {
					return true
				}
				i := slices.IndexFunc(named, func(e struct{ files, names, why string }) bool {
					return match(e.files, rel) && (e.names == "*" || slices.Contains(strings.Fields(e.names), name))
				})
				if i < 0 {
					t.Errorf("%s names %s: ask the table of formats, or say in this test why not", fset.Position(n.Pos()), name)
				} else {
					used[i] = true
				}
				return true
			})
		}
	}
	for i, e := range named {
		if !used[i] {
			t.Errorf("%s no longer names %s", e.files, e.names)
		}
	}
}

// formatNamed is the format that a piece of a program names: by a text that is its name, the
// end of its shards or a file that it owns, by a constant of package index, or by an import.
func formatNamed(n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "index" && strings.HasPrefix(n.Sel.Name, "Format") {
			return n.Sel.Name
		}
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		if n.Kind != token.STRING || err != nil {
			return ""
		}
		for i := range writers.Formats {
			f := &writers.Formats[i]
			if text == f.Name || text == f.Ext || strings.HasPrefix(text, module+"/writers/") || f.Owns != nil && f.Owns(text) {
				return text
			}
		}
	}
	return ""
}

// inputWords are places outside of a format's folder that compare a word which is also the
// name of an input format.
var inputWords = []struct{ file, word, why string }{
	{"transform/fields/set.go", "text", "a type of --set"},
	{"transform/annotations/parse.go", "wav", "a form of --parse"},
	{"transform/annotations/parse.go", "nifti", "a form of --parse"},
	{"transform/annotations/spec.go", "wav", "a form of --parse"},
	{"pipeline/internal/propose/annotations.go", "wav", "a form of --parse"},
	{"pipeline/internal/propose/annotations.go", "nifti", "a form of --parse"},
	{"readers/parquet/media.go", "wav", "a kind of file in a column"},
	{"readers/internal/rows/coltype/given.go", "text", "a type of COLUMN:TYPE"},
}

// TestInputFormatsAreNamedInTheirFolders: no code outside of readers/NAME compares with the name of
// an input format, or looks it up. A property that others need is a field of format.Input, or a
// method of the source.
func TestInputFormatsAreNamedInTheirFolders(t *testing.T) {
	used := make([]bool, len(inputWords))
	for _, p := range list(t) {
		name := short(p.ImportPath)
		if strings.HasPrefix(name, "bench") || strings.HasPrefix(name, "writers") {
			continue
		}
		for _, f := range p.GoFiles {
			rel := name + "/" + f
			fset, file := parse(t, filepath.Join(p.Dir, f))
			ast.Inspect(file, func(n ast.Node) bool {
				for _, e := range compared(n) {
					word := inputNamed(e)
					if word == "" || strings.HasPrefix(rel, "readers/"+word+"/") {
						continue
					}
					i := slices.IndexFunc(inputWords, func(w struct{ file, word, why string }) bool { return w.file == rel && w.word == word })
					if i < 0 {
						t.Errorf("%s switches on the input format %s: give format.Input a field, or the source a method", fset.Position(e.Pos()), word)
					} else {
						used[i] = true
					}
				}
				return true
			})
		}
	}
	for i, w := range inputWords {
		if !used[i] {
			t.Errorf("%s no longer compares with %s", w.file, w.word)
		}
	}
}

// compared are the expressions that a node compares with others, or looks up.
func compared(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return []ast.Expr{n.X, n.Y}
		}
	case *ast.CaseClause:
		return n.List
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if f.Name == "Lookup" {
				return n.Args
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && x.Name == "readers" && f.Sel.Name == "Lookup" {
				return n.Args
			}
		}
	}
	return nil
}

// inputNamed is the input format whose name an expression is: a text, or the name of its table's line.
func inputNamed(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil && slices.Contains(readers.Names(), text) {
			return text
		}
	case *ast.SelectorExpr: // files.Format.Name
		if f, ok := e.X.(*ast.SelectorExpr); ok && e.Sel.Name == "Name" && f.Sel.Name == "Format" {
			if x, ok := f.X.(*ast.Ident); ok && slices.Contains(readers.Names(), x.Name) {
				return x.Name
			}
		}
	}
	return ""
}
