package printable

import (
	"strings"
	"testing"
)

func TestNotUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"a\xff": "no character has byte 0xff", "\xc0\x80": "no character has byte 0xc0", "a\x80": "has no first byte", "a\xe2\x82": "ends within a character, e2 82", "\xe2\x82x": "of 3 bytes ends after e2 82",
		"\xed\xa0\x80": "half of a pair of UTF-16", "\xe0\x80\x80": "more bytes than it takes", "\xf4\x90\x80\x80": "beyond the last", "\xf0\x80\x80\x80z": "f0 80 80 80 is a character in more", "\uFFFD\xc3": "ends within",
	} {
		at, why := NotUTF8([]byte(text))
		place := strings.IndexFunc(text, func(r rune) bool { return r != 'a' })
		if strings.HasPrefix(text, "\uFFFD") {
			place = len("\uFFFD")
		}
		if !strings.Contains(why, want) || at != place {
			t.Errorf("%q: at %d %s, want %s", text, at, why, want)
		}
	}
	if at, why := NotUTF8([]byte("\uFFFD ä\U0010FFFF")); at != -1 || why != "" {
		t.Errorf("at %d %s", at, why)
	}
}
