package labels

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
)

// TestKeysAreEscapedReversibly: whatever a file is called, its key is one that readers of
// tars take as it is, and says what the name was.
func TestKeysAreEscapedReversibly(t *testing.T) {
	for name, want := range map[string]string{
		"golden retriever/1":     "golden%20retriever/1",
		"cat/1":                  "cat/1",
		"50%/1":                  "50%/1",
		"50%20/1":                "50%2520/1",
		"v1.0/frame_1.5":         "v1.0/frame_1%2E5",
		"__a/1":                  "%5F_a/1",
		"a/__1":                  "a/__1",
		"Käse/猫":                 "Käse/猫",
		"a\u2028b/\u00851":       "a%E2%80%A8b/%C2%851",
		"\xff/a\\b\tc":           "%FF/a%5Cb%09c",
		"a/.b":                   "a/%2Eb",
		"%% 1":                   "%%%201",
		"St. Bernard/a (copy) 1": "St.%20Bernard/a%20(copy)%201",
	} {
		got := string(appendEscaped(nil, []byte(name), true))
		if got != want || escapedLen([]byte(name), true) != len(want) {
			t.Errorf("%q has the key %q of %d bytes, want %q", name, got, escapedLen([]byte(name), true), want)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	alphabet := []string{"%", "2", "0", "A", "f", " ", ".", "_", "/", "\\", "\x00", "\x7f", "\xc3", "\xa4", "é", "\u2028", "\u0085", "x", "\ufffd"}
	for range 200_000 {
		var b strings.Builder
		for range 1 + rnd.IntN(7) {
			b.WriteString(alphabet[rnd.IntN(len(alphabet))])
		}
		name := b.String()
		if strings.Contains("/"+name+"/", "//") {
			continue
		}
		key := string(appendEscaped(nil, []byte(name), true))
		if err := tar.CheckKey([]byte(key)); err != nil {
			t.Fatalf("%q has the key %q: %v", name, key, err)
		}
		if n := escapedLen([]byte(name), true); n != len(key) {
			t.Fatalf("%q has the key %q, said to be of %d bytes", name, key, n)
		}
		if back := unescape(key); back != name {
			t.Fatalf("%q has the key %q, which is %q", name, key, back)
		}
		if other, ok := seen[key]; ok && other != name {
			t.Fatalf("%q and %q have the key %q", other, name, key)
		}
		seen[key] = name
	}
}

// unescape puts a byte back for each % with two hex digits.
func unescape(key string) string {
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		if key[i] == '%' && i+2 < len(key) && hex(key[i+1]) && hex(key[i+2]) {
			c, _ := url.PathUnescape(key[i : i+3])
			b.WriteString(c)
			i += 2
			continue
		}
		b.WriteByte(key[i])
	}
	return b.String()
}

// TestInputFoldersAreEscaped: the name of an INPUT folder is part of keys where there are
// several.
func TestInputFoldersAreEscaped(t *testing.T) {
	table := &format.Table{Roots: []string{"/x/my photos", "/x/__more"}}
	table.Append(0, "a b/1.jpg", 1, 0)
	table.Append(1, "__2.jpg", 1, 0)
	p := NewPaths(table, First)
	for i, want := range []string{"my%20photos/a%20b/1", "%5F_more/__2"} {
		if got := string(p.AppendKey(nil, i)); got != want || p.KeyLen(i) != len(want) {
			t.Errorf("key %q of %d bytes, want %q", got, p.KeyLen(i), want)
		}
	}
	if s := fmt.Sprint(p.Prefixes()); s != "[my%20photos/ %5F_more/]" {
		t.Error(s)
	}
}
