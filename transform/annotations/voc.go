package annotations

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/shardify/shardify"
)

// vocFields are those of Pascal VOC: boxes are as in the file, from the first pixel of the object to the last, where the
// pixels of an image begin at 1.
var vocFields = []made{
	{name: "boxes", dtype: shardify.F32, shape: []int{4}, attr: "boxes", value: "xyxy"},
	{name: "class", text: true},
	{name: "difficult", dtype: shardify.U8},
	{name: "truncated", dtype: shardify.U8},
	{name: "pose", text: true},
	{name: "width", dtype: shardify.I32, one: true},
	{name: "height", dtype: shardify.I32, one: true},
}

var vocBox = []string{"xmin", "ymin", "xmax", "ymax"}

// maxDepth bounds elements in elements.
const maxDepth = 32

// object is what is known of the object that is read.
type object struct {
	texts map[string][]byte
	size  map[string][]byte
	depth int
	path  [maxDepth]string
	text  []byte
}

// wanted says where the text of an element is kept; nil if it is not needed.
func (o *object) wanted() map[string][]byte {
	p := &o.path
	switch {
	case o.depth == 3 && p[1] == "size" && (p[2] == "width" || p[2] == "height"):
		return o.size
	case o.depth == 3 && p[1] == "object" && (p[2] == "name" || p[2] == "pose" || p[2] == "truncated" || p[2] == "difficult"),
		o.depth == 4 && p[1] == "object" && p[2] == "bndbox" && strings.Contains("xmin ymin xmax ymax", p[3]) && len(p[3]) == 4:
		return o.texts
	}
	return nil
}

// voc reads a file of Pascal VOC.
func voc(s *Spec, file []byte, r *rows) error {
	o := &r.object
	o.depth, o.texts, o.size = 0, map[string][]byte{}, map[string][]byte{}
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(file, []byte("\ufeff"))))
	charset := ""
	d.CharsetReader = func(name string, _ io.Reader) (io.Reader, error) {
		charset = name
		return nil, shardify.ErrUnsupported
	}
	first, boxes, roots := len(r.columns[0].data), r.objects, 0
	for {
		t, err := d.Token()
		at, _ := d.InputPos()
		line := int64(at)
		switch {
		case err == io.EOF && roots == 1:
			if err := r.vocSize(first, boxes); err != nil {
				return atLine(line, err)
			}
			return nil
		case charset != "":
			return atLine(line, shardify.Unsupported("XML in the encoding %.40q; UTF-8 is read", charset))
		case err == io.EOF:
			return damaged(line, "no element <annotation>")
		case err != nil:
			if x, ok := errors.AsType[*xml.SyntaxError](err); ok {
				return damaged(int64(x.Line), "XML: %s", x.Msg)
			}
			return damaged(line, "%v", err)
		}
		if err := r.vocToken(s, t, &roots); err != nil {
			return atLine(line, err)
		}
	}
}

// vocToken takes in a piece of XML.
func (r *rows) vocToken(s *Spec, t xml.Token, roots *int) error {
	o := &r.object
	switch t := t.(type) {
	case xml.Directive:
		if bytes.Contains(t, []byte("ENTITY")) {
			return shardify.Corrupt(-1, "XML with entities of its own, which are not read")
		}
	case xml.StartElement:
		if o.depth == maxDepth {
			return shardify.Corrupt(-1, "more than %d elements in each other", maxDepth)
		}
		o.path[o.depth] = t.Name.Local
		o.depth++
		o.text = o.text[:0]
		if o.depth == 1 {
			if *roots++; *roots > 1 || t.Name.Local != "annotation" {
				return shardify.Corrupt(-1, "the element <%.40s>; a file of VOC is one <annotation>", t.Name.Local)
			}
		}
	case xml.CharData:
		switch {
		case o.depth == 0 && len(bytes.TrimSpace(t)) > 0:
			return shardify.Corrupt(-1, "text outside of <annotation>")
		case o.depth > 0 && o.wanted() != nil:
			if o.text = append(o.text, t...); len(o.text) > maxName {
				return shardify.Corrupt(-1, "<%s> has more than %d bytes", o.path[o.depth-1], maxName)
			}
		}
	case xml.EndElement:
		if to := o.wanted(); to != nil {
			name := o.path[o.depth-1]
			if _, twice := to[name]; twice {
				return shardify.Corrupt(-1, "a second <%s> of one %s", name, o.path[1])
			}
			to[name] = bytes.TrimSpace(bytes.Clone(o.text))
		}
		if o.depth--; o.depth == 1 && o.path[1] == "object" {
			err := r.vocObject(s)
			clear(o.texts)
			return err
		}
	}
	return nil
}

// vocObject takes in an object that has ended.
func (r *rows) vocObject(s *Spec) error {
	o := &r.object
	var box [4]float64
	for i, side := range vocBox {
		text, ok := o.texts[side]
		if !ok {
			return shardify.Corrupt(-1, "an object %.60q without <%s> in <bndbox>", o.texts["name"], side)
		}
		var err error
		if box[i], err = number(side, text); err != nil {
			return err
		}
	}
	if err := ordered(vocBox, box[:]); err != nil {
		return err
	}
	r.floats(0, box[:]...)
	if err := r.class(1, s, o.texts["name"]); err != nil {
		return err
	}
	for i, flag := range []string{"difficult", "truncated"} {
		switch text := string(o.texts[flag]); text {
		case "", "0", "Unspecified", "false", "False":
			r.byte(2+i, 0)
		case "1", "true", "True":
			r.byte(2+i, 1)
		default:
			return shardify.Corrupt(-1, "<%s> is %.40q, neither 0 nor 1", flag, text)
		}
	}
	r.text(4, bytes.ToValidUTF8(o.texts["pose"], []byte("\ufffd")))
	r.objects++
	return nil
}

// vocSize takes in the size of the image, once all objects are known.
func (r *rows) vocSize(first int, before int64) error {
	var size [2]int64
	for i, name := range []string{"width", "height"} {
		if text, ok := r.object.size[name]; ok {
			x, err := number(name, text)
			if err != nil {
				return err
			}
			if size[i] = int64(x); x != float64(size[i]) || x < 0 || x >= 1<<31 {
				return shardify.Corrupt(-1, "the %s of the image is %.40q", name, text)
			}
		}
		r.i32(5+i, size[i])
	}
	if size[0] > 0 && size[1] > 0 {
		boxes := shardify.View[float32](r.columns[0].data[first:])
		for k := range r.objects - before {
			b := boxes[4*k : 4*k+4]
			if b[0] < 0 || b[1] < 0 || b[2] > float32(size[0]) || b[3] > float32(size[1]) {
				r.outside++
			}
		}
	}
	return nil
}
