package frame

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestALineIsReadAsWithoutTheOnesBefore reads lines that have much in common, with one Comment for all, and with a new
// one for each.
func TestALineIsReadAsWithoutTheOnesBefore(t *testing.T) {
	pairs := []string{
		"energy=-1.5", "energy=7", "energy=7.5", "energy", "energy =7", `energy="7" `, "Properties=species:S:1:pos:R:3", `Lattice="9 0 0 0 9 0 0 0 9"`, `Lattice="9 0 0 0 9 0 0 0 8.5"`,
		`Lattice="1 2 3"`, `stress="1 2 3 4 5 6 7 8 9"`, `virial="1 2 3 4 5 6 7 8 9.5"`, `pbc="T F T"`, "pbc=T", "pbc=[1, 0, 1]", "pbc=2", `label="a \"b\" \n"`, `label="a`, "v=[1,2]", "v=[1,2,3]", "v=[1,2]x",
		"m=[[1,2],[3,4]]", "flag", "flag=F", "x={1 2}", `j="_JSON [[1, 2], [3, 4]]"`, `j="_JSON {\"a\": 1}"`, "'q r'=2", "it's", "=3", "a=b=c", "none=None", "long=" + strings.Repeat("1,", seenBytes) + "1",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, quoted := range []bool{false, true} {
		c, hits, line := Comment{Quoted: quoted}, 0, []string{}
		for k := range 10_000 {
			if len(line) == 0 || rng.IntN(50) == 0 {
				line = nil
				for range rng.IntN(6) {
					line = append(line, pairs[rng.IntN(len(pairs))])
				}
			} else {
				line[rng.IntN(len(line))] = pairs[rng.IntN(len(pairs))]
			}
			text := strings.Join(line, []string{" ", "  ", "\t"}[rng.IntN(3)])
			buf := []byte(text) // which the next line may overwrite
			one := Comment{Quoted: quoted}
			err, alone := c.Parse(buf), one.Parse([]byte(text))
			if (err == nil) != (alone == nil) || err != nil && err.Error() != alone.Error() {
				t.Fatalf("line %d, %q: %v, want %v", k, text, err, alone)
			}
			if err == nil && (c.Free != one.Free || len(c.Values) != len(one.Values) || len(one.Values) > 0 && !reflect.DeepEqual(c.Values, one.Values)) {
				t.Fatalf("line %d, %q: %v, want %v", k, text, c.Values, one.Values)
			}
			for _, s := range c.seen {
				if s.parsed {
					hits++
				}
			}
			clear(buf)
		}
		if hits < 5_000 {
			t.Errorf("%d values are those of the line before", hits)
		}
	}
}
