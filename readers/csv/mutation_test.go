package csv

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// seed is a file to damage, and how it is read.
type seed struct{ name, data, setting string }

func seeds() []seed {
	return []seed{
		{"a.csv", random(1, 60), ""},
		{"b.csv", random(2, 40), `types=id:i64,x:f32,flag:bool,big:u64,hole:i16?,*:text`},
		{"c.tsv", "a\tb\n1\tx \"y\"\n2\t\n", ""},
		{"d.csv", "a;b\n1,5;2\n3;4\n", "sep=;,decimal=,"},
		{"e.csv", "# c\n 1  2.5\n\n2 3\t\n", "sep=space,comment=#,header=none"},
		{"f.csv", "a,b\n\"1,234\",NA\n5,7\n", "thousands=,,na=NA"},
		{"g.csv", "a,b,c\n1,2,3\n4,5.5,6\n7,,1e3\n", "wide=v"},
		{"h.csv", "caf\xe9,b\n1,2\n", "encoding=latin1"},
		{"i.csv", "\xff\xfea\x00\n\x001\x00\n\x00", "encoding=utf16"},
		{"j.csv.gz", readertest.Gzip(random(3, 60)), ""},
		{"k.csv.zst", readertest.Zstd(random(4, 60)), ""},
		{"l.csv", "a\n1\n\n3\n", "blank=missing"},
		{"m.csv", "\xef\xbb\xbfa,b\r\n1,true\r\n18446744073709551615,false\r\n", ""},
	}
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little memory, and
// errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	all := seeds()
	m := readertest.Mutants{Format: "csv", Quick: 3000, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		s := all[rng.IntN(len(all))]
		return readertest.Mutant{Seed: s.name, Data: mutate(rng, all, []byte(s.data)), Read: func(name string) (readertest.Walked, error) { return walk(name, s.setting) }}
	}}
	m.Run(t)
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

// walk reads a file that may be damaged.
func walk(name, setting string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: format.Options{optCSV: setting}, Jobs: 1})
	}, 2<<10, nil)
}

// mutate damages b in one to three places.
func mutate(rng *rand.Rand, all []seed, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		switch rng.IntN(9) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2, 3: // what means something
			b[at] = "\n\r\",;\t .-+eE0123456789naif#"[rng.IntN(27)]
		case 4: // a digit
			if k := bytes.IndexAny(b[at:], "0123456789"); k >= 0 {
				b[at+k] = byte('0' + rng.IntN(10))
			}
		case 5: // double a piece
			n := min(1+rng.IntN(64), len(b)-at)
			b = append(b[:at+n], bytes.Clone(b[at:])...)
		case 6: // a piece of another file
			o := all[rng.IntN(len(all))].data
			k := rng.IntN(len(o))
			copy(b[at:], o[k:min(k+1+rng.IntN(32), len(o))])
		case 7: // cut a piece out
			if rng.IntN(3) == 0 {
				b = append(b[:at], b[min(at+1+rng.IntN(8), len(b)):]...)
			}
		case 8: // cut the end off, seldom
			if rng.IntN(4) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

// FuzzFile reads files from the first byte to the last cell, and again in pieces.
func FuzzFile(f *testing.F) {
	all := seeds()
	for i, s := range all {
		f.Add([]byte(s.data), byte(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, which byte) {
		s := all[int(which)%len(all)]
		name := filepath.Join(t.TempDir(), s.name)
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walk(name, s.setting); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	tables := []*format.Table{readertest.TableOf(readertest.Put(f, "a.csv", random(1, 20))), readertest.TableOf(readertest.Put(f, "b.csv.gz", readertest.Gzip(random(2, 20)))), readertest.TableOf(readertest.Put(f, "c.csv", "a,b\n1,2\n3,4\n"))}
	settings := []string{"", "", "wide=v"}
	readertest.FuzzState(f, len(tables), func(which int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: tables[which], State: state, Options: format.Options{optCSV: settings[which]}})
	})
}
