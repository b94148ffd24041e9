package propose

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/nifti"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/glance"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// annotated is how many files are looked at; of a form whose files are large, a few are enough.
const (
	annotated = 32
	large     = 6
)

// begins are the forms that files of a type may have, until one is looked at.
var begins = map[string]string{"xml": "voc", "txt": "lines", "bin": "f32x4", "wav": "wav", "flac": "flac", "nii": "nifti", "nii.gz": "nifti", "gz": "nifti", "npy": "npy"}

// holds says what files of a form have.
var holds = map[string]string{"f32x4": "points: x, y, z and intensity", "wav": "sound", "flac": "sound", "nifti": "volumes", "npy": "arrays"}

// annotations proposes to read files of a form that is known: it looks at some of them.
func annotations(ctx context.Context, src shardify.Source, t *format.Table) *Proposal {
	schema := src.Schema()
	forms, none, n := make([]guess, len(schema)), true, annotated
	for i, f := range schema {
		forms[i] = guess{form: begins[f.Media]}
		none = none && forms[i].form == ""
		if holds[forms[i].form] != "" {
			n = large
		}
	}
	if none {
		return nil
	}
	for _, sp := range glance.Spread(ctx, src, n) {
		if !lookAt(ctx, src, sp, forms) {
			return nil
		}
	}
	var parse, are []string
	for i, g := range forms {
		if g.seen == 0 || g.form == "" || g.form == "lines" {
			continue
		}
		what, why := "boxes", ""
		file := ""
		if strings.HasPrefix(g.form, "yolo") {
			file = namesOf(ctx, t)
		}
		switch poses := hasPoses(ctx, t, file); {
		case g.form == "yolo-seg" && poses:
			g.form = "yolo-pose"
		case g.form == "yolo-pose" && !poses:
			continue // of how many points is not known
		}
		if g.form == "yolo-seg" {
			what = "polygons"
		}
		if strings.HasSuffix(g.form, inTexts) {
			why = "texts of " + schema[i].Name + " are numbers"
		}
		value := schema[i].Name + "=" + g.form
		if file != "" {
			value += " names=" + file
		}
		parse, are = append(parse, value), append(are, cmp.Or(why, "files of "+schema[i].Name+" have "+cmp.Or(holds[g.form], what+" and classes")))
	}
	if parse == nil {
		return nil
	}
	return &Proposal{Settings: format.Options{"parse": strings.Join(parse, again)}, Why: strings.Join(are, ", ")}
}

// guess is the form of the files of a field, as far as it is known; "" if another.
type guess struct {
	form string
	seen int    // files that say so
	kind string // of a sound: all must be alike
}

// lookAt looks at the files of some samples; false if they cannot be read.
func lookAt(ctx context.Context, src shardify.Source, sp shardify.Span, forms []guess) bool {
	r, err := src.Reader(sp.Run)
	if err != nil {
		return false
	}
	defer r.Close()
	b, done := glance.Read(ctx, r, sp)
	defer done()
	if b == nil {
		return false
	}
	for i := range forms {
		for k := 0; k < b.Samples && forms[i].form != ""; k++ {
			c := &b.Columns[i]
			lo, hi := c.Range(k, k+1)
			forms[i].look(c.Data[lo:hi])
		}
	}
	return true
}

// look takes in a file. An empty one says nothing: it may be an image without objects.
func (g *guess) look(file []byte) {
	first := g.form == "lines"
	switch {
	case len(bytes.TrimSpace(file)) == 0:
		return
	case first:
		if g.form = inBrackets(file); g.form == "" {
			g.form = lines(file)
		}
	case g.form == "f32x4" && !points(file):
		g.form = ""
	case g.form == "f32x4":
	case g.form == "wav" || g.form == "flac":
		is := soundOf(file)
		if is == "" || g.kind != "" && is != g.kind {
			g.form = ""
		}
		g.kind = is
	case g.form == "nifti":
		v, err := nifti.Open(file)
		g.array(err, func() shardify.DType { return v.DType() })
	case g.form == "npy":
		a, err := npy.Open(file)
		g.array(err, func() shardify.DType { return a.DType() })
	case g.form == anyNumbers || strings.HasSuffix(g.form, inTexts):
		if form := inBrackets(file); form == "" || form != g.form {
			g.form = map[bool]string{true: anyNumbers}[form != ""]
		}
	case g.form != "voc":
		g.form = eitherForm(g.form, lines(file))
	case !bytes.Contains(file, []byte("<annotation")):
		g.form = ""
	}
	if first || g.form != "" {
		g.seen++
	}
}

// array takes in an array: all must be of one type.
func (g *guess) array(err error, dtype func() shardify.DType) {
	if err != nil || g.kind != "" && g.kind != dtype().String() {
		g.form = ""
		return
	}
	g.kind = dtype().String()
}

// The forms of texts of numbers in brackets: so many of them, or any number.
const (
	inTexts    = " text=yes"
	anyNumbers = "f32" + inTexts
)

// inBrackets is the form of a text such as [1, 2.5]; "" of another one.
func inBrackets(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return ""
	}
	words := strings.FieldsFunc(string(text[1:len(text)-1]), func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case !numbers(words):
		return ""
	case len(words) == 0:
		return anyNumbers
	}
	return "f32x" + strconv.Itoa(len(words)) + inTexts
}

// eitherForm is the form of files of two forms: lines of poses may be such as polygons have, too.
func eitherForm(a, b string) string {
	switch {
	case a == b:
		return a
	case a == "yolo-seg" && b == "yolo-pose", a == "yolo-pose" && b == "yolo-seg":
		return "yolo-pose"
	}
	return ""
}

// points reports whether a file may be a scan of KITTI: x, y, z in metres and an intensity from 0 to 1.
func points(file []byte) bool {
	if len(file)%16 != 0 {
		return false
	}
	for i := 0; i < min(len(file), 1<<16); i += 4 {
		x := float64(math.Float32frombits(binary.LittleEndian.Uint32(file[i:])))
		if most := 1000.0; !(math.Abs(x) <= most) || i%16 == 12 && !(x >= 0 && x <= 1) {
			return false
		}
	}
	return true
}

// soundOf is what the values of a recording are, as its head says; "" if it does not.
func soundOf(file []byte) string {
	switch {
	case len(file) > 42 && string(file[:4]) == "fLaC":
		return string([]byte{file[20] & 15, file[21] & 0xf0}) // channels and bits
	case len(file) > 36 && slices.Contains([]string{"RIFF", "RF64", "RIFX"}, string(file[:4])) && string(file[8:16]) == "WAVEfmt ":
		return string(file[:4]) + string(file[20:24]) + string(file[34:36]) // code, channels and bits
	}
	return ""
}

// hasPoses reports whether a file with names says how many key points an object has.
func hasPoses(ctx context.Context, t *format.Table, file string) bool {
	if file == "" {
		return false
	}
	b, err := storage.ReadOwn(ctx, storages.Of(t), file, 1<<20)
	return err == nil && bytes.Contains(b, []byte("\nkpt_shape:"))
}

// lines is the form of a file of lines: one of YOLO, or kitti, else "".
func lines(file []byte) (form string) {
	for line := range bytes.Lines(file) {
		words := strings.Fields(string(line))
		is := ""
		switch {
		case len(words) == 0:
			continue
		case len(words) == 5 && whole(words[0]) && shares(words[1:]):
			is = "yolo"
		case len(words) > 6 && len(words)%2 == 1 && whole(words[0]) && shares(words[1:]):
			is = "yolo-seg"
		case len(words) > 6 && whole(words[0]) && shares(words[1:5]) && visible(words[5:]):
			is = "yolo-pose"
		case len(words) == 15 && !number(words[0]) && numbers(words[1:]):
			is = "kitti"
		}
		if form != "" {
			is = eitherForm(form, is)
		}
		if form = is; is == "" {
			return ""
		}
	}
	return form
}

func whole(word string) bool {
	n, err := strconv.Atoi(word)
	return err == nil && n >= 0
}

func number(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

func numbers(words []string) bool {
	for _, w := range words {
		if !number(w) {
			return false
		}
	}
	return true
}

// visible reports whether all are numbers of key points: shares, and visibility from 0 to 2.
func visible(words []string) bool {
	for _, w := range words {
		if x, err := strconv.ParseFloat(w, 64); err != nil || !(x >= 0 && x <= 2) {
			return false
		}
	}
	return true
}

// shares reports whether all are numbers from 0 to 1.
func shares(words []string) bool {
	for _, w := range words {
		if x, err := strconv.ParseFloat(w, 64); err != nil || !(x >= 0 && x <= 1) {
			return false
		}
	}
	return true
}

// namesOf is the file with the names of classes beside the inputs; "" without one.
func namesOf(ctx context.Context, t *format.Table) string {
	if len(t.Roots) == 0 {
		return ""
	}
	for _, name := range []string{"data.yaml", "data.yml", "dataset.yaml", "obj.names", "classes.txt", "classes.names"} {
		path := storage.Join(t.Roots[0], name)
		if e, err := storages.Of(t).Stat(ctx, path); err == nil && e.Type == storage.Regular {
			return path
		}
	}
	return ""
}
