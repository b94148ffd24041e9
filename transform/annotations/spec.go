package annotations

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Spec is a value of --parse.
type Spec struct {
	Field string
	// File has the names of the classes, which are Names once it is read; "" without.
	File  string
	Names []string
	// Keeps says that the field stays, too.
	Keeps bool
	// Looks says that the first file must say of which type all are.
	Looks bool

	form  string // "voc", "yolo", "yolo-seg", "yolo-pose", "kitti", "wav", "flac", "nifti", "npy", "tensor" or the type of plain numbers
	dtype shardify.DType
	shape []int            // of plain numbers, and of the key points of an object
	score bool             // lines of KITTI end with a score
	texts bool             // classes are texts
	text  bool             // plain numbers are written in texts
	codes map[string]int64 // of Names

	as    shardify.DType // f32: recordings become floats
	mix   bool           // recordings become the mean of their channels
	short bool           // what is there of recordings that are cut
	kind  recorded       // of all recordings, and of all volumes, whose dimensions are counted
}

var pointsForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-9][0-9]{0,3})x([23])$`) })

// keypoints reads how many key points an object has, and of how many numbers.
func (s *Spec) keypoints(value string) bool {
	m := pointsForm().FindStringSubmatch(value)
	if m == nil || s.form != "yolo-pose" {
		return false
	}
	n, _ := strconv.Atoi(m[1])
	s.shape = []int{n, int(m[2][0] - '0')}
	return true
}

var rawForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(bool|[a-z]+[0-9]+)(?:x([1-9][0-9]{0,5}))?$`) })

// ParseSpec parses FIELD=FORM[ KEY=VALUE]...
func ParseSpec(text string) (s Spec, err error) {
	head, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	var ok bool
	if s.Field, s.form, ok = strings.Cut(head, "="); !ok || !s.known() {
		return s, badSpec(text)
	}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		key, value, _ := strings.Cut(rest, "=")
		if strings.HasPrefix(value, "[") {
			if rest, err = s.list(key, value, text); err != nil {
				return s, err
			}
			continue
		}
		value, rest, _ = strings.Cut(value, " ")
		if !s.word(key, value) {
			return s, badSpec(text)
		}
	}
	if s.texts && (s.Names != nil || s.File != "") {
		return s, op.FlagError("parse", text, fmt.Errorf("class=text with names: classes are texts or have numbers"))
	}
	s.Looks = s.alike() && s.kind.dtype == shardify.Invalid && !s.mix
	if s.mix && s.as == shardify.Invalid {
		return s, op.FlagError("parse", text, fmt.Errorf("channels=1 is the mean of the channels, which is of f32: as=f32 channels=1"))
	}
	return s, op.FlagError("parse", text, shardify.ValidName(s.Field))
}

// list reads a list of names, and returns what follows it.
func (s *Spec) list(key, value, text string) (rest string, err error) {
	d := json.NewDecoder(strings.NewReader(value))
	if key != "names" || s.numbers() || s.alike() || d.Decode(&s.Names) != nil || s.File != "" {
		return "", badSpec(text)
	}
	if err := checkNames(s.Names); err != nil {
		return "", op.FlagError("parse", text, err)
	}
	return value[d.InputOffset():], nil
}

// word reads KEY=VALUE; false if the form has none such.
func (s *Spec) word(key, value string) (ok bool) {
	switch key + "=" + value {
	case "keep=yes":
		s.Keeps, ok = true, !s.numbers() && !s.alike()
	case "score=read":
		s.score, ok = true, s.form == "kitti"
	case "text=yes":
		s.text, ok = true, s.dtype == shardify.F32 || s.dtype == shardify.F64
	case "class=text":
		s.texts, ok = true, s.named()
	case "as=f32":
		s.as, ok = shardify.F32, s.alike()
	case "channels=1":
		s.mix, ok = true, s.sound()
	case "short=take":
		s.short, ok = true, s.sound()
	default:
		if key == "keypoints" {
			return s.keypoints(value)
		}
		if s.alike() {
			return key == "of" && s.kind.parse(value, s.sound())
		}
		s.File, ok = value, key == "names" && value != "" && !s.numbers() && s.Names == nil && s.File == ""
	}
	return ok
}

func badSpec(text string) error {
	return op.FlagError("parse", text, fmt.Errorf("want FIELD=voc|yolo|yolo-seg|yolo-pose|kitti[ names=FILE][ keep=yes], FIELD=voc|kitti class=text, FIELD=kitti score=read, FIELD=yolo-pose keypoints=17x3, FIELD=wav|flac[ as=f32[ channels=1]][ short=take], FIELD=nifti|npy|tensor[ as=f32] or FIELD=TYPE[xN][ text=yes], as in --parse label=voc, --parse 'label=yolo names=data.yaml', --parse audio=wav or --parse points=f32x4"))
}

// known finds out what the form is.
func (s *Spec) known() bool {
	if s.named() || s.yolo() || s.alike() {
		return true
	}
	m := rawForm().FindStringSubmatch(s.form)
	if m == nil {
		return false
	}
	var err error
	if s.dtype, err = shardify.ParseDType(m[1]); err != nil || s.dtype == shardify.Bool {
		return false
	}
	if n, err := strconv.Atoi(m[2]); err == nil {
		s.shape = []int{n}
	}
	return true
}

// numbers reports whether files are plain numbers.
func (s *Spec) numbers() bool { return s.dtype != shardify.Invalid }

// yolo reports whether files are of YOLO.
func (s *Spec) yolo() bool {
	return s.form == "yolo" || s.form == "yolo-seg" || s.form == "yolo-pose"
}

// alike reports whether the files are arrays that must have one type.
func (s *Spec) alike() bool { return s.sound() || arrays[s.form] != nil }

// sound reports whether files are recordings.
func (s *Spec) sound() bool { return s.form == "wav" || s.form == "flac" }

// named reports whether the files have the names of the classes.
func (s *Spec) named() bool { return s.form == "voc" || s.form == "kitti" }

// classes reports whether classes get the numbers of a table that the files decide.
func (s *Spec) classes() bool { return s.named() && !s.texts && s.Names == nil && s.File == "" }

// Text is the value that ParseSpec reads, with the names that File has.
func (s *Spec) Text() string {
	text := s.Field + "=" + s.form
	if s.Names != nil {
		list, _ := json.Marshal(s.Names)
		text += " names=" + string(list)
	} else if s.File != "" {
		text += " names=" + s.File
	}
	if s.form == "yolo-pose" && s.shape != nil {
		text += fmt.Sprintf(" keypoints=%dx%d", s.shape[0], s.shape[1])
	}
	for _, o := range []struct {
		given bool
		word  string
	}{{s.texts, " class=text"}, {s.text, " text=yes"}, {s.score, " score=read"}, {s.Keeps, " keep=yes"}, {s.as != shardify.Invalid, " as=f32"}, {s.mix, " channels=1"}, {s.short, " short=take"}, {s.kind.dtype != shardify.Invalid, " of=" + s.kind.String()}} {
		if o.given {
			text += o.word
		}
	}
	return text
}
