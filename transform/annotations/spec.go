package annotations

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Spec is a value of --parse.
type Spec struct {
	Field string
	// File has the names of the classes, which are Names once it is read; "" without.
	File  string
	Names []string

	form  string // "voc", "yolo", "kitti" or the type of plain numbers
	dtype shardify.DType
	shape []int
	keep  bool             // the field stays, too
	score bool             // lines of KITTI end with a score
	texts bool             // classes are texts
	codes map[string]int64 // of Names
}

var rawForm = regexp.MustCompile(`^([a-z]+[0-9]+)(?:x([1-9][0-9]{0,5}))?$`)

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
			d := json.NewDecoder(strings.NewReader(value))
			if key != "names" || s.numbers() || d.Decode(&s.Names) != nil || s.File != "" {
				return s, badSpec(text)
			}
			if err := checkNames(s.Names); err != nil {
				return s, op.FlagError("parse", text, err)
			}
			rest = value[d.InputOffset():]
			continue
		}
		value, rest, _ = strings.Cut(value, " ")
		switch key + "=" + value {
		case "keep=yes":
			s.keep, ok = true, !s.numbers()
		case "score=read":
			s.score, ok = true, s.form == "kitti"
		case "class=text":
			s.texts, ok = true, s.named()
		default:
			s.File, ok = value, key == "names" && value != "" && !s.numbers() && s.Names == nil && s.File == ""
		}
		if !ok {
			return s, badSpec(text)
		}
	}
	if s.texts && (s.Names != nil || s.File != "") {
		return s, op.FlagError("parse", text, fmt.Errorf("class=text with names: classes are texts or have numbers"))
	}
	return s, op.FlagError("parse", text, shardify.ValidName(s.Field))
}

func badSpec(text string) error {
	return op.FlagError("parse", text, fmt.Errorf("want FIELD=voc|yolo|kitti[ names=FILE][ keep=yes], FIELD=voc|kitti class=text, FIELD=kitti score=read or FIELD=TYPE[xN], as in --parse label=voc, --parse 'label=yolo names=data.yaml' or --parse points=f32x4"))
}

// known finds out what the form is.
func (s *Spec) known() bool {
	if s.form == "voc" || s.form == "yolo" || s.form == "kitti" {
		return true
	}
	m := rawForm.FindStringSubmatch(s.form)
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
	for _, o := range []struct {
		given bool
		word  string
	}{{s.texts, " class=text"}, {s.score, " score=read"}, {s.keep, " keep=yes"}} {
		if o.given {
			text += o.word
		}
	}
	return text
}
