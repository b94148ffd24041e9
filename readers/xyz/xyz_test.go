package xyz

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(columns []string, options format.Options, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, Options: options, Jobs: 2})
}

// random is frames with keys and arrays of every kind.
func random(seed uint64, frames int) string {
	rng := rand.New(rand.NewPCG(seed, 5))
	var b strings.Builder
	for i := range frames {
		n := rng.IntN(6)
		fmt.Fprintf(&b, " %d \n", n)
		fmt.Fprintf(&b, `Properties=species:S:1:pos:R:3:tag:I:1:on:L:2:name:S:1 id=%d energy=%v`, i, rng.NormFloat64())
		if rng.IntN(3) > 0 {
			fmt.Fprintf(&b, ` Lattice="%d 0 0 0 5.5 0 0 0 6" stress="1 2 3 4 5 6 7 8 9.5"`, 1+rng.IntN(9))
		}
		if rng.IntN(2) > 0 {
			fmt.Fprintf(&b, ` v=[%s1] label="a \"b\" %c" q="1 2 3" m=[[1,2],[3,4.5]] flag`, strings.Repeat("2, ", rng.IntN(3)), "xü"[0])
		}
		b.WriteString([]string{"\n", "\r\n"}[rng.IntN(2)])
		for range n {
			fmt.Fprintf(&b, "%s %.8f\t%g %v %d T F n%d\n", []string{"H", "cl", "Og", "8"}[rng.IntN(4)], rng.NormFloat64(), rng.ExpFloat64()*1e-9, rng.IntN(9), rng.IntN(100)-50, rng.IntN(1000))
		}
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	for name, files := range map[string][]string{
		"plain":          {readertest.Put(t, "a.xyz", random(1, 200)), readertest.Put(t, "b.extxyz", random(2, 150)), readertest.Put(t, "c.xyz", "")},
		"packed":         {readertest.Put(t, "a.xyz.gz", readertest.Gzip(random(3, 200))), readertest.Put(t, "b.xyz.zst", readertest.Zstd(random(4, 100)))},
		"several pieces": {readertest.Put(t, "a.xyz", random(5, 5000))},
	} {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, State: state, Jobs: 3})
			})
		})
	}
}

// frames are the values of all fields, frame by frame; missing ones are nil.
func frames(t testing.TB, src shardify.Source, target int64) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := range b.Samples {
				if c.Valid != nil && c.Valid[k] == 0 {
					out[c.Name] = append(out[c.Name], nil)
				} else {
					out[c.Name] = append(out[c.Name], item(c, 0, int64(k)))
				}
			}
		}
	})
	return out
}

func item(c *shardify.Column, level int, k int64) any {
	if level < len(c.Offsets) {
		lo, hi := c.Offsets[level][k], c.Offsets[level][k+1]
		if c.Media == "txt" && level == len(c.Offsets)-1 {
			return string(c.Data[lo:hi])
		}
		list := []any{}
		for j := lo; j < hi; j++ {
			list = append(list, item(c, level+1, j))
		}
		return list
	}
	var list []any
	for j := k * int64(c.ElemBytes()); j < (k+1)*int64(c.ElemBytes()); j += int64(c.DType.Size()) {
		list = append(list, number(c.Data[j:], c.DType))
	}
	if c.Shape == nil {
		return list[0]
	}
	return list
}

// number is a value as text: floats by their bits.
func number(b []byte, t shardify.DType) string {
	switch t {
	case shardify.F64:
		return bitsOf(shardify.View[float64](bytes.Clone(b[:8]))[0])
	case shardify.I64:
		return fmt.Sprint(shardify.View[int64](bytes.Clone(b[:8]))[0])
	}
	return fmt.Sprint(b[0])
}

func bitsOf(v float64) string {
	if math.IsNaN(v) {
		return "nan"
	}
	return fmt.Sprintf("%x", math.Float64bits(v))
}

// expected is what the JSON beside a file of the corpus says of a field.
type expected struct {
	DType   string
	Shape   []int
	Missing []int
	Values  []any
	SHA256  string
	Error   string
}

// flat are the numbers and texts in lists.
func flat(v any, dtype string) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = append(out, flat(x, dtype)...)
		}
	case json.Number:
		if dtype == "f64" {
			f, _ := strconv.ParseFloat(v.String(), 64)
			return []string{bitsOf(f)}
		}
		return []string{v.String()}
	case bool:
		return []string{map[bool]string{true: "1", false: "0"}[v]}
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil && dtype == "f64" {
			return []string{bitsOf(f)}
		}
		return []string{v}
	}
	return out
}

// TestCorpus reads the files of the corpus of atoms as its JSON says.
func TestCorpus(t *testing.T) {
	dir := corpus.Dir(t, "atoms")
	names, _ := filepath.Glob(filepath.Join(dir, "*xyz*.json"))
	if len(names) < 30 {
		t.Fatalf("%d files", len(names))
	}
	for _, name := range names {
		var want struct {
			Samples  int
			PerFrame map[string]expected `json:"per_frame"`
			PerAtom  map[string]expected `json:"per_atom"`
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(name, err)
		}
		file := strings.TrimSuffix(name, ".json")
		t.Run(filepath.Base(file), func(t *testing.T) {
			if strings.HasSuffix(file, ".xz") {
				t.Skip("xz is refused by name")
			}
			columns := []string{"*"}
			for field, x := range want.PerAtom {
				_, twice := want.PerFrame[field]
				if x.Error != "" || twice {
					if _, err := openFiles(columns, nil, file); err == nil || !strings.Contains(err.Error(), field) {
						t.Errorf("%s is not refused: %v", field, err)
					}
					columns = append(columns, "!"+field)
					delete(want.PerAtom, field)
					delete(want.PerFrame, field)
				}
			}
			if strings.HasPrefix(filepath.Base(file), "types_differ") {
				if _, err := openFiles(columns, nil, file); err == nil || !strings.Contains(err.Error(), "line 2 of") || !strings.Contains(err.Error(), "line 5 of") {
					t.Error(err)
				}
				return
			}
			for _, target := range []int64{1, 1 << 20} {
				src, err := openFiles(columns, nil, file)
				if err != nil {
					t.Fatal(err)
				}
				got := frames(t, src, target)
				for part, fields := range map[string]map[string]expected{"frame": want.PerFrame, "atom": want.PerAtom} {
					for field, x := range fields {
						var is, should []string
						for _, v := range got[field] {
							is = append(is, flat(v, "")...)
						}
						if x.DType == "json" { // arrays of numbers, or the text
							for _, v := range x.Values {
								if _, list := v.([]any); list {
									should = append(should, flat(v, "")...)
								} else {
									b, _ := json.Marshal(v)
									should = append(should, strings.ReplaceAll(string(b), ":", ": "))
								}
							}
						} else {
							for _, v := range x.Values {
								should = append(should, flat(v, x.DType)...)
							}
						}
						if len(x.Values) > 0 && len(got[field]) != want.Samples {
							t.Errorf("%s: %d frames, want %d", field, len(got[field]), want.Samples)
						}
						if x.SHA256 != "" { // the JSON has not all values of long ones
							if sum := digest(t, src, target, field); sum != x.SHA256 {
								t.Errorf("%s %s: the digest is %s, want %s", part, field, sum, x.SHA256)
							}
							should = should[:min(len(should), len(is))]
							is = is[:len(should)]
							if x.DType == "f64" {
								is = should // NaN is not in the JSON
							}
						} else if x.DType == "txt" && len(should) == 40 {
							is = is[:40]
						}
						if strings.Join(is, "|") != strings.Join(should, "|") {
							t.Errorf("%s %s: %.300v, want %.300v", part, field, is, should)
						}
						for _, m := range x.Missing {
							if got[field][m] != nil {
								t.Errorf("%s: frame %d is not missing", field, m)
							}
						}
					}
				}
				src.Close()
				if len(got) != len(want.PerFrame)+len(want.PerAtom) {
					t.Errorf("%d fields, want %d", len(got), len(want.PerFrame)+len(want.PerAtom))
				}
			}
		})
	}
}

// digest is the SHA-256 of all values of a field that are not missing.
func digest(t *testing.T, src shardify.Source, target int64, field string) string {
	h := sha256.New()
	readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
		c := &b.Columns[shardify.FieldIndex(src.Schema(), field)]
		for k := range b.Samples {
			if c.Valid == nil || c.Valid[k] == 1 {
				lo, hi := c.Range(k, k+1)
				h.Write(c.Data[lo:hi])
			}
		}
	})
	return hex.EncodeToString(h.Sum(nil))
}

// TestCorpusDamaged: the damaged files of the corpus are refused, most of them with the line.
func TestCorpusDamaged(t *testing.T) {
	dir := corpus.Dir(t, "atoms")
	names, _ := filepath.Glob(filepath.Join(dir, "bad", "*xyz"))
	if len(names) < 25 {
		t.Fatalf("%d files", len(names))
	}
	for _, name := range names {
		_, err := walk(name, nil)
		if filepath.Base(name) == "cut_number.extxyz" { // a number that is cut is a shorter number
			continue
		}
		if err == nil || !isKind(err) {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
		t.Logf("%s: %v", filepath.Base(name), err)
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

func walk(name string, options format.Options) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: options, Columns: []string{"*"}, Jobs: 1})
	}, 2<<10, nil)
}

// TestRefusalsNameTheWay: what frames do not have in common is refused, and the way that the
// refusal names reads the rest.
func TestRefusalsNameTheWay(t *testing.T) {
	const full, bare = "1\nProperties=species:S:1:pos:R:3:f:R:1\nH 0 0 0 7\n", "1\nProperties=species:S:1:pos:R:3\nH 0 0 0\n"
	a, b := readertest.Put(t, "a.xyz", full), readertest.Put(t, "b.xyz", bare)
	_, err := openFiles(nil, nil, a, b)
	if err == nil || !strings.Contains(err.Error(), "no array f in the frame at line 2 of "+b) || !strings.Contains(err.Error(), "--columns '!f'") {
		t.Fatal(err)
	}
	src, err := openFiles(nil, format.Options{"null-items": "fill"}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if got := frames(t, src, 1)["f"]; fmt.Sprint(got) != fmt.Sprint([]any{[]any{bitsOf(7)}, []any{"nan"}}) {
		t.Error(got)
	}
	src.Close()
	for name, c := range map[string]struct{ text, want string }{
		"wide":    {"0\nProperties=pos:R:3 e=9007199254740993\n0\nProperties=pos:R:3 e=0.5\n", "which f64 may not hold"},
		"shape":   {"0\nProperties=pos:R:3 e=[[1,2]]\n0\nProperties=pos:R:3 e=[[1],[2]]\n", "different shapes"},
		"kinds":   {"0\nProperties=pos:R:3 e=[[1,2]]\n0\nProperties=pos:R:3 e=3\n", "is a matrix in line 2"},
		"made":    {"1\nProperties=species:S:1:pos:R:3 Z=5\nH 0 0 0\n", "Z is a key of comment lines, and made of the species"},
		"types":   {"1\nProperties=pos:R:3:q:R:1\n0 0 0 1\n1\nProperties=pos:R:3:q:I:1\n0 0 0 1\n", "q is R:1 in line 2"},
		"periods": {"0\nProperties=pos:R:3 pbc=\"T F\"\n", "pbc is not three truth values"},
	} {
		if _, err := walk(readertest.Put(t, "c.xyz", c.text), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSymbolsAreAsked: species are the atomic numbers, unless the user asks for the symbols.
func TestSymbolsAreAsked(t *testing.T) {
	name := readertest.Put(t, "a.xyz", "2\n\nCL 0 0 0\nX 0 0 1\n")
	for columns, want := range map[string]string{"": "[pbc Z pos]", "*": "[pbc Z species pos]", "!Z": "[pbc species pos]", "species": "[species]"} {
		src, err := openFiles(strings.Fields(columns), nil, name)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range src.Schema() {
			names = append(names, f.Name)
		}
		if fmt.Sprint(names) != want {
			t.Errorf("--columns %q: %v, want %s", columns, names, want)
		}
		if got := frames(t, src, 1); columns == "*" && fmt.Sprint(got["Z"], got["species"]) != "[[17 0]] [[CL X]]" {
			t.Error(got)
		}
		src.Close()
	}
	dummy := readertest.Put(t, "b.xyz", "1\n\nC1 0 0 0\n")
	if _, err := walk(dummy, nil); err == nil || !strings.Contains(err.Error(), `"C1" is not a chemical symbol`) {
		t.Error(err)
	}
}

// TestWholeNumbersAreElements: the columns of whole numbers that name the elements make Z, as ASE does it of numbers:I:1,
// and the plan says so; beside symbols they are themselves.
func TestWholeNumbersAreElements(t *testing.T) {
	for properties, want := range map[string]string{
		"Z:I:1": "[pbc Z pos] []", "species:I:1": "[pbc Z pos] [species]", "numbers:I:1": "[pbc Z pos] [numbers]", "atomic_numbers:I:1": "[pbc Z pos] [atomic_numbers]",
		"atom_types:I:1": "[pbc atom_types pos] []", "numbers:R:1": "[pbc numbers pos] []",
		"species:S:1:numbers:I:1": "[pbc Z numbers pos] [species]", "Z:I:1:atomic_numbers:I:1": "[pbc Z atomic_numbers pos] []",
	} {
		line := strings.Repeat("17 ", strings.Count(properties, ":")/2)
		src, err := openFiles(nil, nil, readertest.Put(t, "a.xyz", "1\nProperties="+properties+":pos:R:3\n"+line+"0 0 1\n"))
		if err != nil {
			t.Errorf("%s: %v", properties, err)
			continue
		}
		var names, left []string
		for _, f := range src.Schema() {
			names = append(names, f.Name)
		}
		for _, l := range src.(format.Reporter).Leftovers() {
			left = append(left, l.Name)
		}
		if got := fmt.Sprint(names, " ", left); got != want {
			t.Errorf("%s: %s, want %s", properties, got, want)
		}
		if z := frames(t, src, 1)["Z"]; strings.Contains(want, "Z") && fmt.Sprint(z) != "[[17]]" {
			t.Errorf("%s: Z is %v", properties, z)
		}
		src.Close()
	}
	mixed := readertest.Put(t, "b.xyz", "1\nProperties=species:S:1:pos:R:3\nCl 0 0 0\n1\nProperties=atomic_numbers:I:1:pos:R:3\n6 0 0 0\n")
	src, err := openFiles(nil, nil, mixed)
	if err != nil {
		t.Fatal(err)
	}
	if got := frames(t, src, 1); fmt.Sprint(got["Z"]) != "[[17] [6]]" {
		t.Error(got)
	}
	src.Close()
	for properties, want := range map[string]string{"species:I:1": `"119" is not an atomic number; --columns '!Z' keeps`, "numbers:I:1": "is not an atomic number"} {
		p := readertest.Put(t, "c.xyz", "1\nProperties="+properties+":pos:R:3\n119 0 0 0\n")
		if _, err := walk(p, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", properties, err)
		}
		src, err := openFiles([]string{"!Z"}, nil, p)
		if err != nil {
			t.Fatal(err)
		}
		if got := frames(t, src, 1); fmt.Sprint(got[strings.TrimSuffix(properties, ":I:1")]) != "[[119]]" {
			t.Errorf("%s: the cure gives %v", properties, got)
		}
		src.Close()
	}
}

// TestNoneIsMissingAmongNumbers: Python's None is a missing number, and a text among texts.
func TestNoneIsMissingAmongNumbers(t *testing.T) {
	name := readertest.Put(t, "a.xyz", "0\nProperties=pos:R:3 e=None q=\"1 2\" ok=T kind=None all=None\n0\nProperties=pos:R:3 e=-1.5 q=None ok=None kind=bulk all=None\n")
	src, err := openFiles(nil, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got := frames(t, src, 1)
	if s := fmt.Sprint(got["e"], got["q"], got["ok"], got["kind"], got["all"]); s != "[<nil> bff8000000000000] [[1 2] <nil>] [1 <nil>] [None bulk] [None None]" {
		t.Error(s)
	}
}

func TestSniff(t *testing.T) {
	for name, want := range map[string]bool{"a.xyz": true, "a.EXTXYZ": true, "a.xyz.gz": true, "a.xyz.xz": false, "a.txt": false} {
		if got := Format.Sniff([]byte(" 12\nx"), name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Format.Sniff([]byte("0.5 1 2\n"), "points.xyz") {
		t.Error("points are no atoms")
	}
}

// mutate damages b in one to three places.
func mutate(rng *rand.Rand, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		switch rng.IntN(6) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1, 2: // what means something
			b[at] = "\n\r\"'={}[], :.-+eED0123456789TFnaif\\"[rng.IntN(35)]
		case 3: // double a piece
			n := min(1+rng.IntN(64), len(b)-at)
			b = append(b[:at+n], bytes.Clone(b[at:])...)
		case 4:
			b = append(b[:at], b[min(at+1+rng.IntN(8), len(b)):]...)
		case 5:
			if rng.IntN(4) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

// TestMutatedFilesGiveErrorsOnly reads damaged files. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	seeds := []string{random(1, 20), random(2, 9), "2\n\nH 0 0 0\nO 1 1 1\n1\n3\nC 0 0 0\n", "1\nProperties=n:I:1\n5\n3\nProperties=n:I:1\n1\n2\n3\n\n \n"}
	m := readertest.Mutants{Format: "xyz", Quick: 3000, Seeds: len(seeds), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		data := []byte(seeds[rng.IntN(len(seeds))])
		return readertest.Mutant{Seed: "a.xyz", Data: mutate(rng, data), Read: func(name string) (readertest.Walked, error) { return walk(name, nil) }}
	}}
	m.Run(t)
}

// FuzzFile reads files from the first byte to the last atom, and again in pieces.
func FuzzFile(f *testing.F) {
	f.Add([]byte(random(1, 4)))
	f.Add([]byte("1\nProperties=a:R:1 b=\"_JSON [[1,2],[3]]\" c={1 2} d='x\\'y'\n1D3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := walk(readertest.Put(t, "f.xyz", string(data)), nil); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	tables := []*format.Table{readertest.TableOf(readertest.Put(f, "a.xyz", random(1, 9)), readertest.Put(f, "b.xyz.gz", readertest.Gzip(random(2, 9)))), readertest.TableOf(readertest.Put(f, "c.xyz", "1\n\nH 0 0 0\n"))}
	readertest.FuzzState(f, len(tables), func(which int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: tables[which], State: state})
	})
}

// TestAFrameLargerThanOtherRecords reads a frame of more than 64 MiB, the most that a line may have, between two others.
func TestAFrameLargerThanOtherRecords(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("a file of 66 MiB: with SHARDIFY_LONG")
	}
	const atoms = 1_800_000
	var b bytes.Buffer
	b.WriteString("1\nProperties=species:S:1:pos:R:3 energy=1\nH 0 0 1\n")
	fmt.Fprintf(&b, "%d\nProperties=species:S:1:pos:R:3 energy=2\n", atoms)
	for i := range atoms {
		fmt.Fprintf(&b, "Cu %d.25 %d.5 1.000000000000000000\n", i, -i)
	}
	b.WriteString("1\nProperties=species:S:1:pos:R:3 energy=3\nO 0 0 3\n")
	if b.Len() < 65<<20 {
		t.Fatalf("%d bytes", b.Len())
	}
	table := readertest.TableOf(readertest.Put(t, "big.xyz", b.String()))
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all, err := readertest.Load(src, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	ends, x := all.ByName["pos"].Offsets[0], shardify.View[float64](all.ByName["pos"].Data)
	if !slices.Equal(ends, []int64{0, 1, atoms + 1, atoms + 2}) || !slices.Equal(shardify.View[int64](all.ByName["energy"].Data), []int64{1, 2, 3}) {
		t.Errorf("atoms end at %v", ends)
	}
	for i := range atoms {
		if x[3*i+3] != float64(i)+.25 || x[3*i+4] != -float64(i)-.5 && i > 0 {
			t.Fatalf("atom %d at %v", i, x[3*i+3:3*i+6])
		}
	}
}

// TestFramesOfOtherSizes reads spans whose frames and lines are not as large as those before them.
func TestFramesOfOtherSizes(t *testing.T) {
	for name, sizes := range map[string][]int{"larger": {1, 700}, "smaller": {700, 1}, "mixed": {1, 2000, 0, 40, 1, 3000, 2}} {
		var b bytes.Buffer
		count, ends := 0, []int64{0}
		for _, n := range sizes {
			for k := range 20000 / (n + 1) {
				fmt.Fprintf(&b, "%d\nProperties=species:S:1:pos:R:3\n", n)
				for i := range n {
					blanks := strings.Repeat(" ", 1+5000*(k%20&^1)*max(1-i, 0)/20)
					fmt.Fprintf(&b, "Cu%s%16.8f %d.5 1.0000000\n", blanks, float64(count), -count)
					count++
				}
				ends = append(ends, int64(count))
			}
		}
		src, err := openFiles(nil, nil, readertest.Put(t, "a.xyz", b.String()))
		if err != nil {
			t.Fatal(err)
		}
		all, err := readertest.Load(src, 1<<20)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x := shardify.View[float64](all.ByName["pos"].Data)
		if !slices.Equal(all.ByName["pos"].Offsets[0], ends) || len(x) != 3*count {
			t.Fatalf("%s: %d numbers of %d atoms, or other ends", name, len(x), count)
		}
		for i := range count {
			if x[3*i] != float64(i) || i > 0 && x[3*i+1] != -float64(i)-.5 || x[3*i+2] != 1 {
				t.Fatalf("%s: atom %d at %v", name, i, x[3*i:3*i+3])
			}
		}
		src.Close()
	}
}

// TestColumnsThatAreNotThereTakeNoMemory reads a frame whose Properties say more than its lines have.
func TestColumnsThatAreNotThereTakeNoMemory(t *testing.T) {
	text := "20000\nProperties=species:S:1:pos:R:6000\n" + strings.Repeat("H 1.00000000\n", 20000)
	src, err := openFiles(nil, nil, readertest.Put(t, "a.xyz", text))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pool := shardify.NewPool(1 << 20)
	for sp, err := range src.Spans(context.Background(), 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := src.Reader(sp.Run)
		if err != nil {
			t.Fatal(err)
		}
		mem, err := pool.Grant(context.Background(), sp.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Read(context.Background(), sp, mem)
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "fewer columns") {
			t.Errorf("error %v", err)
		}
		mem.Release()
		r.Close()
	}
	if n := pool.Peak(); n > 4<<20 {
		t.Errorf("%d bytes for a text of %d", n, len(text))
	}
}
