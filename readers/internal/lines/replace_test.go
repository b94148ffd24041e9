package lines

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// TestReplacedIsWhatPythonReplaces: testdata/make_replace.py has the expected digest.
func TestReplacedIsWhatPythonReplaces(t *testing.T) {
	const bytes = "\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff"
	h := sha256.New()
	var buf []byte
	var text [4]byte
	for length := 1; length <= 4; length++ {
		count := 1
		for range length {
			count *= len(bytes)
		}
		for k := range count {
			for i, n := length-1, k; i >= 0; i, n = i-1, n/len(bytes) {
				text[i] = bytes[n%len(bytes)]
			}
			buf, _ = Valid(buf[:0], text[:length])
			if int64(len(buf)) != ValidSize(text[:length]) {
				t.Fatalf("% x: %d bytes, ValidSize says %d", text[:length], len(buf), ValidSize(text[:length]))
			}
			h.Write(append(buf, '\n'))
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != "7a8a64b117587135d2f904055cd86321c3c90ebb76b200f9a76b65d2ffa9f93d" {
		t.Error(got)
	}
}
