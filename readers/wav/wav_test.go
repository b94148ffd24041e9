package wav

import (
	"errors"
	"os"
	"strings"
	"testing"

	_ "github.com/shardify/shardify/tests/race"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile/arrayfiletest"
	"github.com/shardify/shardify/readers/readertest"
)

// TestCorpus compares with scipy, which takes what is there of files that are cut, and reads numbers of more
// than 32 bits.
func TestCorpus(t *testing.T) {
	wide, cut := "bits; at most 32", "are there"
	arrayfiletest.Corpus(t, "wav", Format, map[string]string{
		"test-8000Hz-le-3ch-5S-36bit.wav": wide, "test-8000Hz-le-3ch-5S-45bit.wav": wide, "test-8000Hz-le-3ch-5S-53bit.wav": wide, "test-8000Hz-le-3ch-5S-64bit.wav": wide,
		"test-44100Hz-le-1ch-4bytes-early-eof.wav": cut,
		"bits_20.wav": "read",
		"mulaw.wav":   "mu-law", "adpcm.wav": "ADPCM", "mp3.wav": "MP3",
	})
}

var tested = arrayfiletest.Kind{Input: Format, Seeds: []string{"i16_2ch.wav", "i24_1ch.wav", "rifx.wav", "f64_1ch.wav", "u8_1ch.wav", "stream_sizes.wav"}}

func TestConformance(t *testing.T) {
	tested.Conform(t, "", "i24_1ch.wav", "i24_1ch.wav")
	tested.Conform(t, "", "i16_2ch.wav", "i16_2ch.wav")
	tested.Conform(t, "", "rifx.wav", "stream_sizes.wav")
}

func TestMutants(t *testing.T) { tested.Mutants(t, 300) }

func FuzzFile(f *testing.F) { tested.Fuzz(f) }

// TestScaled: whole numbers become floats from -1 up to 1.
func TestScaled(t *testing.T) {
	load := func(o format.Options) *readertest.Columns {
		src, err := arrayfiletest.Open(Format, o, nil, "testdata/i16_2ch.wav")
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		c, err := readertest.Load(src, 100)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	stored, scaled := load(nil), load(format.Options{"scaled": "yes"})
	floats := shardify.View[float32](scaled.ByName["audio"].Data)
	for i, v := range shardify.View[int16](stored.ByName["audio"].Data) {
		if want := float32(v) / (1 << 15); floats[i] != want {
			t.Fatalf("value %d is %v; want %v", i, floats[i], want)
		}
	}
	if rate := shardify.View[int32](stored.ByName["rate"].Data); len(floats) != 100 || rate[0] != 8000 {
		t.Errorf("%d values at a rate of %v", len(floats), rate)
	}
}

// TestShort: what is taken of recordings that are cut is counted.
func TestShort(t *testing.T) {
	b, err := os.ReadFile("testdata/i16_2ch.wav")
	if err != nil {
		t.Fatal(err)
	}
	cut := readertest.Put(t, "cut.wav", string(b[:len(b)-10]))
	for short, names := range map[string][]string{"fail": {cut}, "take": {cut, "testdata/i16_2ch.wav", cut}} {
		src, err := arrayfiletest.Open(Format, format.Options{"short": short}, nil, names...)
		if short == "fail" {
			if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "are there") {
				t.Errorf("--short fail: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if notes := strings.Join(src.(format.Noter).Notes(), "\n"); !strings.Contains(notes, "fewer values than the header names") || !strings.Contains(notes, "2 inputs") {
			t.Errorf("--short take: notes %s", notes)
		}
	}
}
