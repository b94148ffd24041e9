package lines

import (
	"math/rand/v2"
	"testing"
)

// slowEnd is end, one byte after the other.
func slowEnd(q *Quotes, b []byte, skip, from int) int {
	cell, quoted, text, line := true, false, false, true
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case quoted:
			if c == q.Quote {
				if i+1 < len(b) && b[i+1] == q.Quote {
					i++
				} else {
					quoted = false
				}
			}
			continue
		case c == '\n':
			if skip--; skip < 0 && i+1 >= from {
				return i + 1
			}
			cell, text, line = true, false, true
			continue
		case skip > 0 || text:
		case line && q.Comment != 0 && c == q.Comment:
			text = true
		case cell && q.Quote != 0 && c == q.Quote:
			quoted, cell = true, false
		default:
			cell = c == q.Sep || q.Sep == ' ' && c == '\t'
		}
		line = false
	}
	return -1
}

func TestRecordsEndWhereQuotesSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 200000 {
		q := Quotes{Quote: "\"'\x00"[rng.IntN(3)], Sep: ",\t "[rng.IntN(3)], Comment: "#\x00"[rng.IntN(2)]}
		b := make([]byte, rng.IntN(40))
		for i := range b {
			b[i] = "\"\"\"',,\n\nab \t#"[rng.IntN(13)]
		}
		skip, from := rng.IntN(2)*rng.IntN(3), rng.IntN(40)
		got, want := q.end(b, skip, from), slowEnd(&q, b, skip, from)
		if got != want {
			t.Fatalf("%+v %q, %d lines left out, from %d: %d, want %d", q, b, skip, from, got, want)
		}
		if got > 0 {
			found++
		}
	}
	if found < 50000 {
		t.Errorf("only %d ends", found)
	}
}
