package msgpack

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/busy"
)

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		"82a178cb3fd0000000000000a16e01":   `{"x":2.5e-01,"n":1}`,
		"80":                               `{}`,
		"81a161c0":                         `{"a":null}`,
		"9403e0c2c3":                       `[3,-32,false,true]`,
		"93cd0100d1ff7fcf8000000000000000": `[256,-129,9223372036854775808]`,
		"92ca3f800000cb7ff0000000000000":   `[1.0,Infinity]`,
		"d903c3bc22":                       `"ü\""`,
		// {nd: true, type: "<i2", kind: b"", shape: [2, 2], data: ...}, as msgpack-numpy writes it
		"85c4026e64c3c40474797065a33c6932c4046b696e64c400c4057368617065920202c40464617461c4080100feff03000400": `[[1,-2],[3,4]]`,
	} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := JSON(nil, b); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, in := range []string{"", "82a178", "81a1", "d9ff61", "dfffffffff", "8101c0", "81a178c40101", "81a178c70105aa", "a1ff", "8000", strings.Repeat("91", 100) + "00", "ddffffffff"} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := JSON(nil, b); err == nil {
			t.Errorf("%.40s: %s", in, got)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte("\x82\xa1x\x01\xa1y\x93\x01\x02\x03"))
	f.Fuzz(func(t *testing.T, b []byte) {
		start := busy.Processor()
		out, err := JSON(nil, b)
		if err == nil && len(out) > 40*len(b)+100 {
			t.Fatalf("%d bytes of %d", len(out), len(b))
		}
		if busy.Processor()-start > time.Second {
			t.Fatal("slow")
		}
	})
}
