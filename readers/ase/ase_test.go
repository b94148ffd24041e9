package ase

import (
	"bytes"
	"strings"
	"testing"
)

const row = `{"numbers": {"__ndarray__": [[2], "int64", [8, 1]]}, "positions": [[0, 0.5, -1e-05], [NaN, 1, 2]], "cell": [[1,0,0],[0,1,0],[0,0,1]], "pbc": [true, false, true],
 "energy": -3.0, "stress": {"__ndarray__": [[6], "float64", [1,2,3,4,5,6]]}, "user": "me", "key_value_pairs": {"name": "1 2 \"x\"", "n": 3, "ok": true}, "data": {"m": [[1,2],[3,4]], "t": [1, "a"]}}`

func TestFrame(t *testing.T) {
	const want = "2\nProperties=Z:I:1:pos:R:3 Lattice=[[1,0,0],[0,1,0],[0,0,1]] pbc=[true,false,true] id=7 \"energy\"=-3.0 \"stress\"=[1,2,3,4,5,6]" +
		` "name"="1 2 \"x\"" "n"=3 "ok"=true "data.m"=[[1,2],[3,4]] "data.t"="[1, \"a\"]"` + "\n8 0 0.5 -1e-05\n1 NaN 1 2\n"
	got, err := Frame(nil, 7, []byte(row))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

func TestRefused(t *testing.T) {
	for from, to := range map[string]string{
		"[[2], \"int64\"": "[[3], \"int64\"", "[NaN, 1, 2]": "[NaN, 1]", "[true, false, true]": "[true]", "[0,0,1]]": "[0,0]]", `"n": 3`: `"name": 3`, `{"numbers"`: `{"number"`, `"ok": true`: `"ok": tru`,
	} {
		if _, err := Frame(nil, 1, []byte(strings.Replace(row, from, to, 1))); err == nil {
			t.Errorf("%s instead of %s: no error", to, from)
		}
	}
}

func TestData(t *testing.T) {
	blob := append([]byte("\x18\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\xfe\xff\xff\xff\x00\x00\x00\x00\x00\x00\xe0\x3f"), `{"a": {"__ndarray__": [[2], "int32", 8]}, "b": {"__ndarray__": [[], "float64", 16]}, "c": "{\"__ndarray__\""}`...)
	got, err := Data(nil, blob)
	if want := `{"a": {"__ndarray__": [[2], "int32", [1,-2]]}, "b": {"__ndarray__": [[], "float64", [0.5]]}, "c": "{\"__ndarray__\""}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	for i := range blob {
		m := bytes.Clone(blob)
		m[i] ^= 0x55
		_, _ = Data(nil, m) // no panic
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(row))
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := Frame(nil, 1, b)
		if err == nil && (len(text) == 0 || text[len(text)-1] != '\n') {
			t.Fatalf("%q", text)
		}
		if _, err := Data(nil, b); err == nil && len(b) < 8 {
			t.Fatal("data without a head")
		}
	})
}
