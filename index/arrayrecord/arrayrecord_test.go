package arrayrecord

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
)

// records of lengths around the borders of blocks.
func records() (all [][]byte) {
	for i, n := range []int{0, 1, 31, 32, 33, 5000, 65400, 65471, 65472, 65473, 200000, 7} {
		r := make([]byte, n)
		for k := range r {
			r[k] = byte(i*31 + k*7)
		}
		all = append(all, r)
	}
	return all
}

func file(all [][]byte) []byte {
	var w Writer
	var b []byte
	for _, r := range all {
		b = w.Append(b, r)
	}
	return w.End(b)
}

// TestBytesAreThoseOfTheLibrary: a file of the same records has the bytes that the library of
// ArrayRecord writes.
func TestBytesAreThoseOfTheLibrary(t *testing.T) {
	dir := corpus.Dir(t, "records")
	compared := 0
	for _, name := range []string{"one", "large", "mine"} {
		want, err := os.ReadFile(filepath.Join(dir, name+".array_record"))
		if err != nil {
			t.Fatal(err)
		}
		var says struct{ Sha256 string }
		text, err := os.ReadFile(filepath.Join(dir, name+".array_record.json"))
		if err == nil {
			err = json.Unmarshal(text, &says)
		}
		if err != nil {
			t.Fatal(err)
		}
		var all [][]byte
		err = Check(bytes.NewReader(want), int64(len(want)), func(r []byte) error {
			all = append(all, bytes.Clone(r))
			return nil
		})
		if !bytes.Contains(want, []byte(options)) { // another text of options
			if err == nil {
				t.Errorf("%s: other options are not seen", name)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := file(all); !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes", name)
		} else {
			compared++
		}
		h := sha256.New()
		for _, r := range all {
			binary.Write(h, binary.LittleEndian, uint32(len(r)))
			h.Write(r)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != says.Sha256 {
			t.Errorf("%s: %d records with the sum %s, want %s", name, len(all), got, says.Sha256)
		}
	}
	if compared == 0 {
		t.Error("no file was compared")
	}
}

// TestEveryDamageIsFound: no byte of a file may change, and no part may lack.
func TestEveryDamageIsFound(t *testing.T) {
	for _, all := range [][][]byte{nil, records()[:6], records()} {
		b := file(all)
		n := 0
		if err := Check(bytes.NewReader(b), int64(len(b)), func(r []byte) error {
			if !bytes.Equal(r, all[n]) {
				t.Errorf("record %d differs", n)
			}
			n++
			return nil
		}); err != nil || n != len(all) {
			t.Fatalf("%d of %d records: %v", n, len(all), err)
		}
		skip := func([]byte) error { return nil }
		for i := 0; i < len(b); i += 1 + len(b)/400 {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << (i % 8)
			if err := Check(bytes.NewReader(bad), int64(len(bad)), skip); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("byte %d: %v", i, err)
			}
			if err := Check(bytes.NewReader(b[:i]), int64(i), skip); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(file(records()[:3]))
	f.Add(file(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var all [][]byte
		err := Check(bytes.NewReader(b), int64(len(b)), func(r []byte) error {
			all = append(all, bytes.Clone(r))
			return nil
		})
		if err == nil && !bytes.Equal(file(all), b) {
			t.Error("accepted, but of other bytes")
		}
	})
}
