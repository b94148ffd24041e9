package tokenize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
)

func TestWords(t *testing.T) {
	chars.Load()
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune(" \t\n\v\f\r\x00\x08\x0e\x1c!ab\x7fé\u00a0\u0085\u3000日😀")
	for range 20000 {
		var text []byte
		for range rng.IntN(40) {
			text = append(text, string(alphabet[rng.IntN(len(alphabet))])...)
		}
		if got, want := Words(text), int64(len(bytes.Fields(text))); got != want {
			t.Fatalf("%q: %d words, want %d", text, got, want)
		}
	}
}

func TestRates(t *testing.T) {
	got := RatesOf([]shardify.Count{{Name: "tokenize a: b: bytes of text", N: 400}, {Name: "tokenize a: b: tokens", N: 100}, {Name: "tokenize a: b: words", N: 80}, {Name: "tokenize c: tokens", N: 0}, {Name: "other", N: 3}})
	if want := []string{"tokenize a: b: 0.25 tokens a byte, 4 bytes a token, 1.25 tokens a word", "tokenize c: no tokens"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func BenchmarkWords(b *testing.B) {
	chars.Load()
	text := bytes.Repeat([]byte("Some words, and a few more; they are words. "), 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Words(text)
	}
}
