package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// npyHeader frames a header text as version v does.
func npyHeader(v byte, text string) []byte {
	b := []byte(Magic)
	b = append(b, v, 0)
	if v == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(b, text...)
}

func headerOf(b []byte) (Header, error) {
	n, err := HeaderBytes(b[:min(len(b), PrefixBytes)])
	if err != nil {
		return Header{}, err
	}
	if n > len(b) {
		return Header{}, shardify.Corrupt(-1, "truncated")
	}
	return ParseHeader(b[:n])
}

func TestHeaderSpellings(t *testing.T) {
	for _, c := range []struct {
		version byte
		text    string
		want    string // header.String
	}{
		{1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }      \n", "<f4 [6]"},
		{1, "{'shape':(2,3),'descr':\"<f4\",'fortran_order':True}", "<f4 [2,3] in Fortran order"},
		{1, "{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}", "<f4 [6]"},
		{1, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "|b1 []"},
		{1, "{'descr': '?', 'fortran_order': False, 'shape': ()}", "|b1 []"},
		{1, "\t{ 'descr'\n:\r u'<i8' , b'fortran_order' : False , 'shape' : ( 3L , 0 ) , }\n\n", "<i8 [3,0]"},
		{1, "{'descr': 'f4', 'fortran_order': False, 'shape': (1,)}", "<f4 [1]"},
		{1, "{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}", "<f4 [1]"},
		{1, "{'descr': '=u2', 'fortran_order': False, 'shape': (1,)}", "<u2 [1]"},
		{2, `{'des\x63r': '>U5', 'fortran_order': False, 'shape': (1,)}`, ">U5 [1]"},
		{1, "{'descr': 'a3', 'fortran_order': False, 'shape': (1,)}", "|S3 [1]"},
		{1, "{'descr': '<M8[25ns]', 'fortran_order': False, 'shape': (1,)}", "<M8[25ns] [1]"},
		{1, "{'descr': '<V2', 'fortran_order': False, 'shape': (1,)}", "<V2 [1]"},
		{1, "{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", "|V2 [1]"},
		{1, "{'descr': '>m8', 'fortran_order': False, 'shape': (1,)}", ">m8 [1]"},
		{1, "{'descr': [('a', '<f4'), ('', '|V4'), (('t', 'b'), '>i2', (2,3)), ('n', [('c', 'u1')], 4)], 'fortran_order': False, 'shape': (1,)}",
			"[('a', '<f4'), ('', '|V4'), ('b', '>i2', (2,3,)), ('n', [('c... [1]"},
		{1, "{'descr': [('\xe9', '<f4')], 'fortran_order': False, 'shape': (1,)}", "[('é', '<f4')] [1]"},
		{3, "{'descr': [('日本', '<f4')], 'fortran_order': False, 'shape': (1,)}", "[('日本', '<f4')] [1]"},
	} {
		h, err := headerOf(npyHeader(c.version, c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if h.String() != c.want {
			t.Errorf("%s\nis   %s\nwant %s", c.text, h.String(), c.want)
		}
		again, err := ParseType(h.Item.Text)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(h.Item) {
			t.Errorf("type %s read back is %v, error %v", h.Item.Text, again, err)
		}
	}
}

func TestHeadersRefused(t *testing.T) {
	dict := func(descr, order, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s}", descr, order, shape)
	}
	for _, c := range []struct {
		text string
		kind error
		want string
	}{
		{"", shardify.ErrCorrupt, "ends in the middle"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x", shardify.ErrCorrupt, "at byte 66"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", shardify.ErrCorrupt, "not closed"},
		{"{'descr': '<f4', 'fortran_order': False}", shardify.ErrCorrupt, "shape is missing"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", shardify.ErrCorrupt, `unknown key "x"`},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': ()}", shardify.ErrCorrupt, "twice"},
		{"{'descr': '<f4' 'fortran_order': False, 'shape': ()}", shardify.ErrCorrupt, "comma"},
		{"['descr']", shardify.ErrCorrupt, "a list, not a dict"},
		{dict("'<f4'", "0", "()"), shardify.ErrCorrupt, "fortran_order is an integer"},
		{dict("'<f4'", "False", "24"), shardify.ErrCorrupt, "shape is an integer"},
		{dict("'<f4'", "False", "(24)"), shardify.ErrCorrupt, "shape is an integer"},
		{dict("'<f4'", "False", "[6]"), shardify.ErrCorrupt, "shape is a list"},
		{dict("'<f4'", "False", "(24.0,)"), shardify.ErrCorrupt, "not an integer"},
		{dict("'<f4'", "False", "(-6,)"), shardify.ErrCorrupt, "negative"},
		{dict("'<f4'", "False", "(007,)"), shardify.ErrCorrupt, "not an integer"},
		{dict("'<f4'", "False", "(,)"), shardify.ErrCorrupt, "no literal"},
		{dict("'<f4'", "False", "(99999999999999999999,)"), shardify.ErrCorrupt, "overflow"},
		{dict("'<f4'", "False", "(4611686018427387904,4)"), shardify.ErrCorrupt, "shape overflow"},
		{dict("'<f4'", "False", "(4611686018427387904,0,4)"), shardify.ErrCorrupt, "shape overflow"},
		{dict("'|S0'", "False", "(1152921504606846,)"), shardify.ErrUnsupported, "no bytes"},
		{dict("[('a','|S0',(65536,)),('b','u1')]", "False", "(1,1000000)"), shardify.ErrUnsupported, "no bytes"},
		{dict("[('a','|S0',(65537,)),('b','u1')]", "False", "(1,)"), shardify.ErrCorrupt, "no bytes"},
		{dict("[('a',[('b','|S0',(60000,))],(60000,))]", "False", "(1,)"), shardify.ErrCorrupt, "no bytes"},
		{dict("'<f4'", "False", "("+strings.Repeat("1,", 65)+")"), shardify.ErrCorrupt, "65 dimensions"},
		{dict("__import__('os')", "False", "()"), shardify.ErrCorrupt, `"__import__" is no literal`},
		{dict(strings.Repeat("(", 20000), "False", "()"), shardify.ErrCorrupt, "deeper"},
		{dict("'|O'", "False", "(1,)"), shardify.ErrUnsupported, "object array"},
		{dict("[('a', 'O')]", "False", "(1,)"), shardify.ErrUnsupported, "object array"},
		{dict("'<f16'", "False", "(1,)"), shardify.ErrUnsupported, "long double"},
		{dict("'<c32'", "False", "(1,)"), shardify.ErrUnsupported, "long double"},
		{dict("'<q9'", "False", "(1,)"), shardify.ErrCorrupt, "which NumPy does not have"},
		{dict("'<f0'", "False", "(1,)"), shardify.ErrCorrupt, "which NumPy does not have"},
		{dict("'<f4x'", "False", "(1,)"), shardify.ErrCorrupt, "which NumPy does not have"},
		{dict("'<M8[furlong]'", "False", "(1,)"), shardify.ErrCorrupt, "which NumPy does not have"},
		{dict("'<S99999999999'", "False", "(1,)"), shardify.ErrUnsupported, "unsupported type"},
		{dict("'<f4", "False", "(1,)"), shardify.ErrCorrupt, ""},
		{dict(`'\q'`, "False", "(1,)"), shardify.ErrCorrupt, "escape"},
		{dict(`'\xZZ'`, "False", "(1,)"), shardify.ErrCorrupt, "escape"},
		{dict(`'\ud800'`, "False", "(1,)"), shardify.ErrCorrupt, "not a character"},
		{dict("[('a', '<f4'), ('a', '<f4')]", "False", "(1,)"), shardify.ErrCorrupt, "two fields"},
		{dict("[('a/b', '<f4'), ('a', [('b', '<f4')])]", "False", "(1,)"), shardify.ErrCorrupt, "two fields"},
		{dict("[('', '<f4')]", "False", "(1,)"), shardify.ErrCorrupt, "without a name"},
		{dict("[('', '|V4')]", "False", "(1,)"), shardify.ErrUnsupported, "without fields"},
		{dict("[]", "False", "(1,)"), shardify.ErrUnsupported, "without fields"},
		{dict("[('a', '<f4', (2147483647, 2147483647))]", "False", "(1,)"), shardify.ErrCorrupt, "item size overflow"},
		{dict("[('a', [('b','u1')], (1000000,))]", "False", "(1,)"), shardify.ErrUnsupported, "1000000 structs"},
		{dict("[('a', '<f4'), 5]", "False", "(1,)"), shardify.ErrCorrupt, "must be a tuple"},
	} {
		_, err := headerOf(npyHeader(1, c.text))
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s\nerror %v\nwant  ...%s...: %v", clip(c.text, 200), err, c.want, c.kind)
		}
	}
}

func TestPrefixesRefused(t *testing.T) {
	for _, c := range []struct {
		bytes string
		kind  error
	}{
		{"", shardify.ErrCorrupt},
		{"\x93NUMP", shardify.ErrCorrupt},
		{"\x93NUMPX\x01\x00\x10\x00", shardify.ErrCorrupt},
		{"\x93NUMPY", shardify.ErrCorrupt},
		{"\x93NUMPY\x01\x00\x10", shardify.ErrCorrupt},
		{"\x93NUMPY\x02\x00\x10\x00", shardify.ErrCorrupt},
		{"\x93NUMPY\x00\x00\x10\x00", shardify.ErrUnsupported},
		{"\x93NUMPY\x04\x00\x10\x00\x00\x00", shardify.ErrUnsupported},
		{"\x93NUMPY\x01\x01\x10\x00\x00\x00", shardify.ErrUnsupported},
		{"\x93NUMPY\x02\x00\xff\xff\xff\xff", shardify.ErrCorrupt},
	} {
		if _, err := HeaderBytes([]byte(c.bytes)); !errors.Is(err, c.kind) {
			t.Errorf("%q: error %v, want %v", c.bytes, err, c.kind)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(npyHeader(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }\n"))
	f.Add(npyHeader(2, "{'descr': [('a', '<f4'), (('t','b'), '>i2', (2,3)), ('n', [('c', 'u1')], 4)], 'fortran_order': True, 'shape': (1,2L)}"))
	f.Add(npyHeader(3, `{'descr': '<M8[25ns]', "fortran_order": False, u'sh\x61pe': ()}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := headerOf(b)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		again, err := ParseType(h.Item.Text)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(h.Item) {
			t.Errorf("type %s read back is %v, error %v", h.Item.Text, again, err)
		}
		for i := range h.Item.Leaves {
			l := &h.Item.Leaves[i]
			for _, at := range l.Runs {
				if at < 0 || at+l.RunBytes > h.Item.Size {
					t.Errorf("field %s at %d+%d of an item of %d", l.Name, at, l.RunBytes, h.Item.Size)
				}
			}
			if l.Values()*l.Scalar.Size != len(l.Runs)*l.RunBytes {
				t.Errorf("field %s: %d values of %d bytes in %d runs of %d", l.Name, l.Values(), l.Scalar.Size, len(l.Runs), l.RunBytes)
			}
		}
		if h.Data < 0 {
			t.Errorf("%s: %d bytes", h.String(), h.Data)
		}
	})
}
