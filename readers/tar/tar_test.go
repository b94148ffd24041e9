package tar

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/readers/readertest"
)

func TestConformance(t *testing.T) {
	for _, missing := range []string{"fail", "fill"} {
		t.Run(missing, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			parts := func(prefix string, n int) []part {
				all := samples(rng, prefix, n)
				if missing == "fail" {
					return all
				}
				return slices.DeleteFunc(all, func(part) bool { return rng.IntN(30) == 0 })
			}
			mixed := parts("m", 13) // distant members of a sample
			rng.Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
			tab := write(t, map[string][]byte{
				"a.tar": pack(t, stdtar.FormatUSTAR, parts("u", 31)...), "b.tar.gz": readertest.Gzip(pack(t, stdtar.FormatPAX, parts("p/"+strings.Repeat("long/", 30), 17)...)),
				"empty.tar": pack(t, stdtar.FormatUSTAR), "c.tar.zst": readertest.Zstd(pack(t, stdtar.FormatGNU, parts("g/"+strings.Repeat("long/", 30), 11)...)),
				"d.tar": v7(pack(t, stdtar.FormatUSTAR, parts("v", 9)...)), "e.tar": pack(t, stdtar.FormatGNU, mixed...),
			}, "a.tar", "b.tar.gz", "empty.tar", "c.tar.zst", "d.tar", "e.tar")
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return openAll(tab, columns, state, "missing", missing)
			})
		})
	}
}

// load is all samples as text: key, then each field's bytes, by its name.
func load(t testing.TB, src shardify.Source) (out []string) {
	t.Helper()
	readertest.Each(t, src, readertest.Spans(t, src, 2000), func(b *shardify.Batch) {
		for i := range b.Samples {
			s := string(b.Key(i))
			for k := range b.Columns {
				c := &b.Columns[k]
				lo, hi := c.Range(i, i+1)
				s += fmt.Sprintf(" %s=%x", c.Name, c.Data[lo:hi])
			}
			out = append(out, s)
		}
	})
	return out
}

// TestAllFormsOfTarGiveTheSameSamples: whatever form the headers have, compressed or
// not, in whatever order the members are.
func TestAllFormsOfTarGiveTheSameSamples(t *testing.T) {
	parts := samples(rand.New(rand.NewPCG(3, 4)), "k", 12)
	ustar := pack(t, stdtar.FormatUSTAR, parts...)
	src, err := one(t, "x.tar", ustar)
	if err != nil {
		t.Fatal(err)
	}
	want := load(t, src)
	if len(want) != 12 {
		t.Fatalf("%d samples", len(want))
	}
	var dots []part
	for _, p := range parts {
		dots = append(dots, part{name: "./" + p.name, data: p.data})
	}
	byField := slices.Clone(parts) // all of a field, then all of the next
	slices.SortStableFunc(byField, func(a, b part) int { return strings.Compare(a.name[5:], b.name[5:]) })
	junk := append([]part{{name: "d/", typ: stdtar.TypeDir}, {name: "d/._x.jpg", data: []byte("x")}, {name: ".DS_Store"}, {name: "README"}, {name: "__meta__/x.json"}}, parts...)
	for name, b := range map[string][]byte{
		"pax": pack(t, stdtar.FormatPAX, parts...), "gnu": pack(t, stdtar.FormatGNU, parts...), "v7": v7(ustar),
		"dots": pack(t, stdtar.FormatUSTAR, dots...), "by field": pack(t, stdtar.FormatUSTAR, byField...), "junk": pack(t, stdtar.FormatUSTAR, junk...),
		"gzip": readertest.Gzip(ustar), "two gzip members": append(readertest.Gzip(ustar[:5000]), readertest.Gzip(ustar[5000:])...), "zstd": readertest.Zstd(ustar),
		"two zstd frames": append(readertest.Zstd(ustar[:700]), readertest.Zstd(ustar[700:])...), "padded to 10 KiB": append(bytes.Clone(ustar), make([]byte, 10240-len(ustar)%10240)...),
		"one end block": ustar[:len(ustar)-512],
	} {
		src, err := one(t, "x.tar", b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := load(t, src); !slices.Equal(got, want) {
			t.Errorf("%s: other samples", name)
		}
	}
}

func TestJunkIsCounted(t *testing.T) {
	src, err := one(t, "x.tar", pack(t, stdtar.FormatUSTAR, part{name: "d/", typ: stdtar.TypeDir}, part{name: "d/._x.jpg"}, part{name: "d/x.jpg"},
		part{name: "README"}, part{name: "__meta__/x.json"}, part{name: ".hidden"}))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(src.(format.Reporter).Leftovers())
	for _, want := range []string{"folders 1", "hidden files 2", "without an extension 1", "(__x__) 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %q", got, want)
		}
	}
}

// TestWhatIsNotUnderstoodIsRefused names the member, the place and the kind.
func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	whole := pack(t, stdtar.FormatUSTAR, part{name: "a.jpg", data: make([]byte, 700)}, part{name: "b.jpg", data: make([]byte, 100)})
	sparse := bytes.Clone(whole)
	sparse[156] = 'S'
	resum(sparse[:512])
	badSum := bytes.Clone(whole)
	badSum[1536+3] ^= 1
	second := append(bytes.Clone(whole), whole...)
	second2 := bytes.Clone(readertest.Gzip(whole))
	second2[len(second2)-6] ^= 1 // the checksum
	for name, c := range map[string]struct {
		data   []byte
		kind   error
		text   string
		offset int64
	}{
		"hard link":       {pack(t, stdtar.FormatUSTAR, part{name: "a.jpg"}, part{name: "b.jpg", typ: stdtar.TypeLink, link: "a.jpg"}), shardify.ErrUnsupported, "hard link to \"a.jpg\"", 512},
		"symbolic link":   {pack(t, stdtar.FormatUSTAR, part{name: "b.jpg", typ: stdtar.TypeSymlink, link: "/a.jpg"}), shardify.ErrUnsupported, "symbolic link", 0},
		"pipe":            {pack(t, stdtar.FormatUSTAR, part{name: "b.jpg", typ: stdtar.TypeFifo}), shardify.ErrUnsupported, "a pipe", 0},
		"outside":         {pack(t, stdtar.FormatUSTAR, part{name: "../b.jpg"}), shardify.ErrUnsupported, "out of the folder", 0},
		"absolute":        {pack(t, stdtar.FormatUSTAR, part{name: "/b.jpg"}), shardify.ErrUnsupported, "out of the folder", 0},
		"sparse":          {sparse, shardify.ErrUnsupported, "sparse", 0},
		"twice":           {pack(t, stdtar.FormatUSTAR, part{name: "a.jpg"}, part{name: "b.jpg"}, part{name: "a.JPG"}), shardify.ErrSchema, "is at byte 0", 1024},
		"cut in data":     {whole[:900], shardify.ErrCorrupt, "inside a member", 900},
		"cut in header":   {whole[:1600], shardify.ErrCorrupt, "inside a member", 1600},
		"cut at a border": {whole[:1536], shardify.ErrCorrupt, "no end blocks", 1536},
		"checksum":        {badSum, shardify.ErrCorrupt, "bad checksum", 1536 + 148},
		"second archive":  {second, shardify.ErrCorrupt, "behind the end", int64(len(whole))},
		"cut gzip":        {readertest.Gzip(whole)[:40], shardify.ErrCorrupt, "gzip", -2},
		"gzip checksum":   {second2, shardify.ErrCorrupt, "gzip", -2},
		"cut zstd":        {readertest.Zstd(whole)[:30], shardify.ErrCorrupt, "zstd", -2},
		"missing":         {pack(t, stdtar.FormatUSTAR, part{name: "a.jpg"}, part{name: "a.txt"}, part{name: "b.jpg"}), shardify.ErrSchema, "txt in 1; --missing", -1},
		"scattered gzip":  {readertest.Gzip(pack(t, stdtar.FormatUSTAR, part{name: "a.jpg"}, part{name: "b.jpg"}, part{name: "a.txt"})), shardify.ErrUnsupported, "decompress it first", 1024},
		"nothing":         {pack(t, stdtar.FormatUSTAR), shardify.ErrSchema, "no members", -1},
	} {
		_, err := one(t, "x.tar", c.data)
		var e *shardify.Error
		if !errors.Is(err, c.kind) || !errors.As(err, &e) || !strings.Contains(err.Error(), c.text) || c.offset != -2 && e.Offset != c.offset {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeysAreTheUsersChoice: names that tars share are refused, with two cures.
func TestKeysAreTheUsersChoice(t *testing.T) {
	b := pack(t, stdtar.FormatUSTAR, part{name: "00.jpg"}, part{name: "01.jpg"})
	tab := write(t, map[string][]byte{"x/a.tar": b, "x/b.tar": b}, "x/a.tar", "x/b.tar")
	_, err := openAll(tab, nil, nil)
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), `"00" is in x/a.tar and in x/b.tar: --keys shard`) {
		t.Errorf("equal names: %v", err)
	}
	for keys, want := range map[string]string{"shard": "x/a/00 x/a/01 x/b/00 x/b/01", "ordinal": "000000 000001 000002 000003"} {
		src, err := openAll(tab, nil, nil, "keys", keys)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) { got = append(got, string(b.Key(0))) })
		if strings.Join(got, " ") != want {
			t.Errorf("--keys %s: %v", keys, got)
		}
	}
}

// TestKindsFollowFromContents: what becomes a number, and what stays as it is.
func TestKindsFollowFromContents(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f64 := npy.AppendHeader(nil, shardify.F64, nil)
	f64 = append(f64, make([]byte, 8)...)
	fortran := bytes.Replace(arrayFile(rng, 2, 2), []byte("False"), []byte("True "), 1)
	two := func(ext string, a, b []byte) []part {
		return []part{{name: "0." + ext, data: a}, {name: "1." + ext, data: b}}
	}
	for name, c := range map[string]struct {
		parts []part
		want  string
	}{
		"class":               {two("cls", []byte("7"), []byte(" -3\n")), "cls i64 [] 0 "},
		"class of text":       {two("cls", []byte("7"), []byte("cat")), "cls u8 [] 1 cls"},
		"empty class":         {two("cls", []byte("7"), nil), "cls u8 [] 1 cls"},
		"equal shapes":        {two("npy", arrayFile(rng, 2, 2), arrayFile(rng, 2, 2)), "npy f32 [2 2] 0 "},
		"first varies":        {two("v.npy", arrayFile(rng, 2, 2), arrayFile(rng, 5, 2)), "v f32 [2] 1 "},
		"any shape":           {two("v.npy", arrayFile(rng, 2, 2), arrayFile(rng, 2, 3)), "v f32 [] 1 "},
		"other rank":          {two("v.npy", arrayFile(rng, 2, 2), arrayFile(rng, 2)), "v.npy u8 [] 1 npy"},
		"other type":          {two("v.npy", f64, arrayFile(rng)), "v.npy u8 [] 1 npy"},
		"Fortran order":       {two("v.npy", fortran, fortran), "v.npy u8 [] 1 npy"},
		"no NumPy file":       {two("v.npy", []byte("text"), arrayFile(rng)), "v.npy u8 [] 1 npy"},
		"cut array":           {two("v.npy", arrayFile(rng, 4)[:140], arrayFile(rng, 4)), "v.npy u8 [] 1 npy"},
		"pickle":              {two("pyd", []byte("x"), nil), "pyd u8 [] 1 pyd"},
		"text":                {two("txt", []byte("x"), nil), "txt u8 [] 1 txt"},
		"image of one type":   {two("JPG", nil, nil), "jpg u8 [] 1 jpg"},
		"image of two types":  {[]part{{name: "0.jpg"}, {name: "1.png"}}, "image u8 [] 1 image"},
		"name taken by array": {append(two("v.npy", arrayFile(rng, 2), arrayFile(rng, 2)), two("v", nil, nil)...), "v u8 [] 1 v"},
	} {
		src, err := one(t, "x.tar", pack(t, stdtar.FormatUSTAR, c.parts...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := src.Schema()[0]
		if got := fmt.Sprintf("%s %s %v %d %s", f.Name, f.DType, f.Shape, f.Levels, f.Media); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestArraysOfSeveralTypesStayWhole: as opaque bytes they are the files that went in, also
// for a task that has the survey from the plan.
func TestArraysOfSeveralTypesStayWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f64 := append(npy.AppendHeader(nil, shardify.F64, nil), make([]byte, 8)...)
	for name, files := range map[string][][]byte{
		"other type": {arrayFile(rng, 3), f64, arrayFile(rng, 4)}, "other rank": {arrayFile(rng, 2, 2), arrayFile(rng, 2)}, "no array": {arrayFile(rng, 5), []byte("text")},
		"in two tars": {arrayFile(rng, 5), nil, f64},
	} {
		var tars [2][]part
		at := 0
		for i, b := range files {
			if b == nil {
				at++
				continue
			}
			tars[at] = append(tars[at], part{name: fmt.Sprintf("%d.npy", i), data: b})
		}
		tab := write(t, map[string][]byte{"a.tar": pack(t, stdtar.FormatUSTAR, tars[0]...), "b.tar": pack(t, stdtar.FormatUSTAR, tars[1]...)}, []string{"a.tar", "b.tar"}[:at+1]...)
		src, err := openAll(tab, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		state, err := src.(format.Stater).State()
		if err != nil {
			t.Fatal(err)
		}
		again, err := openAll(tab, nil, state)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range []shardify.Source{src, again} {
			var got, want []byte
			readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) { got = append(got, b.Columns[0].Data...) })
			for _, b := range files {
				want = append(want, b...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
			}
		}
	}
}

// TestDropLeavesOutWhatLacksAMember and counts it; what is not wanted is not missed.
func TestDropLeavesOutWhatLacksAMember(t *testing.T) {
	b := pack(t, stdtar.FormatUSTAR, part{name: "a.jpg"}, part{name: "a.txt", data: []byte("A")}, part{name: "b.jpg"}, part{name: "c.txt", data: []byte("C")}, part{name: "c.jpg"})
	tab := write(t, map[string][]byte{"x.tar": b}, "x.tar")
	src, err := openAll(tab, nil, nil, "missing", "drop")
	if err != nil {
		t.Fatal(err)
	}
	if got := load(t, src); !slices.Equal(got, []string{"a jpg= txt=41", "c jpg= txt=43"}) {
		t.Errorf("%q", got)
	}
	if left := fmt.Sprint(src.(format.Reporter).Leftovers()); !strings.Contains(left, "--missing drop) 1") {
		t.Error(left)
	}
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := openAll(tab, nil, state, "missing", "drop"); err != nil || len(load(t, again)) != 2 {
		t.Errorf("from state: %v", err)
	}
	if src, err := openAll(tab, []string{"jpg"}, nil); err != nil || len(load(t, src)) != 3 {
		t.Errorf("jpg alone: %v", err)
	}
}

func TestCancelledSurvey(t *testing.T) {
	tab := write(t, map[string][]byte{"a.tar": pack(t, stdtar.FormatUSTAR, part{name: "a.jpg"})}, "a.tar")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Format.Open(ctx, format.OpenArgs{Table: tab}); !errors.Is(err, context.Canceled) {
		t.Errorf("survey of a cancelled context: %v", err)
	}
}

// TestTextIsUTF8: a set whose texts cannot be decoded must not be written silently. As
// bytes they are what the tar holds.
func TestTextIsUTF8(t *testing.T) {
	b := pack(t, stdtar.FormatUSTAR, part{name: "0.txt", data: []byte("fine")}, part{name: "1.txt", data: []byte("caf\xe9")})
	walk := func(seen func(*shardify.Batch), set ...string) error {
		_, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return one(t, "x.tar", b, set...) }, 1, seen)
		return err
	}
	err := walk(nil)
	var e *shardify.Error
	if !errors.As(err, &e) || !errors.Is(err, shardify.ErrUnsupported) || e.Field != "txt" || e.Sample != 1 || !strings.Contains(err.Error(), "--text bytes") {
		t.Errorf("text that is not UTF-8: %v", err)
	}
	var got []string
	err = walk(func(b *shardify.Batch) { got = append(got, b.Columns[0].Media, string(b.Columns[0].Data)) }, "text", "bytes")
	if want := "[bin fine bin caf\xe9]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("--text bytes: %q, %v, want %q", got, err, want)
	}
}
