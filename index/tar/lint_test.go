package tar

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lint returns the rules that a tar breaks, and the first problem's place.
func lint(t testing.TB, b []byte) (rules []Rule, counts Counts, problems []Problem) {
	t.Helper()
	counts, err := Lint(context.Background(), bytes.NewReader(b), int64(len(b)), func(p Problem) bool {
		if p.Rule.Breaks() == "" {
			t.Errorf("rule %q says nothing about loaders", p.Rule)
		}
		if !slices.Contains(rules, p.Rule) {
			rules = append(rules, p.Rule)
		}
		problems = append(problems, p)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return rules, counts, problems
}

// std makes a tar with archive/tar.
func std(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Format == 0 {
			h.Format = tar.FormatUSTAR
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rehash gives a changed header its checksum.
func rehash(b []byte, at int) {
	h := b[at : at+Block]
	copy(h[sumAt:], "        ")
	sum := Sum(h)
	for i := sumEnd - 1; i >= sumAt; i-- {
		h[i] = '0' + byte(sum&7)
		sum >>= 3
	}
	h[sumEnd] = 0
}

func change(b []byte, at int, put string, hash bool) []byte {
	b = bytes.Clone(b)
	copy(b[at:], put)
	if hash {
		rehash(b, at&^(Block-1))
	}
	return b
}

// TestLint: one row per trap of the formats; what each tar breaks and nothing
// else, where, and how many samples webdataset would make of it.
func TestLint(t *testing.T) {
	long := strings.Repeat("d", 120) + "/a.jpg"
	m := func(names ...string) []byte {
		var all []member
		for _, n := range names {
			all = append(all, member{n, "data"})
		}
		return ours(all...)
	}
	good := m("a.cls", "a.jpg", "b.cls", "b.jpg")
	for _, c := range []struct {
		name    string
		tar     []byte
		samples int64
		offset  int64
		rules   []Rule
	}{
		{"our own", good, 2, -1, nil},
		{"padded to a record", append(bytes.Clone(good), make([]byte, 8*512)...), 2, -1, nil},
		{"empty", ours(), 0, -1, nil},
		{"pax long name", std(t, tar.Header{Name: strings.Repeat("n", 101) + ".jpg", Format: tar.FormatPAX}), 1, 0, []Rule{rulePAX}},
		{"pax float mtime", std(t, tar.Header{Name: "a.jpg", Format: tar.FormatPAX, ModTime: time.Unix(1, 5e8)}), 1, 0, []Rule{rulePAX}},
		{"pax not ASCII", std(t, tar.Header{Name: "é.jpg", Format: tar.FormatPAX}), 1, 0, []Rule{rulePAX}},
		{"pax sparse", std(t, tar.Header{Name: "x", Format: tar.FormatPAX, PAXRecords: map[string]string{"GOLANG.x": "1"}}), 0, 0, []Rule{rulePAX, ruleNoDot}},
		{"gnu long name", std(t, tar.Header{Name: long, Format: tar.FormatGNU}), 1, 0, []Rule{ruleGNUName}},
		{"prefix", std(t, tar.Header{Name: long}), 1, 0, []Rule{rulePrefix}},
		{"base-256 size", change(change(m("a.jpg"), sizeAt, "\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04", true), 0, "", false), 1, 0, []Rule{ruleBigSize}},
		{"old sparse", change(m("a.jpg"), 156, "S", true), 1, 0, []Rule{ruleSparse}},
		{"folder", std(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir}, tar.Header{Name: "d/a.jpg", Size: 3}), 1, 0, []Rule{ruleNoFile}},
		{"link", std(t, tar.Header{Name: "a.jpg", Typeflag: tar.TypeSymlink, Linkname: "b"}), 0, 0, []Rule{ruleNoFile}},
		{"space", m("a b.jpg"), 1, 0, []Rule{ruleBadByte}},
		{"UTF-8", m("日本/é.jpg"), 1, 0, nil},
		{"Latin-1", m("\xe9.jpg"), 1, 0, []Rule{ruleBadByte}},
		{"backslash", m(`a\b.jpg`), 1, 0, []Rule{ruleBadByte}},
		{"dot slash", m("./a.jpg"), 1, 0, []Rule{RuleDotSlash}},
		{"absolute", m("/a.jpg"), 1, 0, []Rule{ruleOutside}},
		{"up", m("d/../../a.jpg"), 1, 0, []Rule{ruleOutside}},
		{"no dot", m("README"), 0, 0, []Rule{ruleNoDot}},
		{"hidden at the top", m("a.jpg", "._a.jpg"), 1, 1024, []Rule{ruleHidden}},
		{"phantom sample", m("d/a.jpg", "d/._a.jpg"), 2, 1024, []Rule{ruleHidden, RuleOtherField}},
		{"reserved", m("__index__", "__meta__/x.json", "a.jpg"), 1, 0, []Rule{ruleReserved}},
		{"upper case", m("A.JPG"), 1, 0, []Rule{RuleUpperCase}},
		{"odd image", m("a.x.h5"), 1, 0, []Rule{ruleImageTrap}},
		{"twice", m("a.jpg", "a.jpg"), 1, 1024, []Rule{ruleDuplicate}},
		{"twice by case", m("a.jpg", "a.JPG"), 1, 1024, []Rule{RuleUpperCase, ruleDuplicate}},
		{"scattered", m("0.a", "1.a", "0.b", "1.b"), 4, 2048, []Rule{ruleScattered, RuleOtherField}},
		{"again far away", m("0.a", "1.a", "0.a", "2.a"), 4, 2048, []Rule{ruleScattered}},
		{"other fields", m("0.a", "0.b", "1.a"), 2, 2048, []Rule{RuleOtherField}},
		{"bad checksum", change(good, 1024+3, "x", false), 1, 1024 + sumAt, []Rule{ruleBadSum}},
		{"bad size", change(good, 1024+sizeAt, "9", true), 1, 1024 + sizeAt, []Rule{ruleBadHeader}},
		{"negative size", change(good, 1024+sizeAt, "\xff", true), 1, 1024 + sizeAt, []Rule{ruleBadHeader}},
		{"no end", good[:len(good)-End], 2, 4096, []Rule{ruleNoEnd}},
		{"half an end", good[:len(good)-Block], 2, 4096 + 512, []Rule{ruleNoEnd}},
		{"cut in data", good[:3*1024+514], 2, 3072, []Rule{ruleTruncated}},
		{"cut in filler", good[:3*1024+520], 2, 3072 + 516, []Rule{ruleTruncated}},
		{"cut in a header", good[:3*1024+100], 2, 3072, []Rule{ruleTruncated, RuleOtherField}},
		{"joined with cat", append(bytes.Clone(good), m("c.cls", "c.jpg")...), 2, 4096 + 1024, []Rule{ruleTrailing}},
		{"rubbish", bytes.Repeat([]byte("rubbish "), 200), 0, sumAt, []Rule{ruleBadSum}},
		{"nothing", nil, 0, 0, []Rule{ruleNoEnd}},
	} {
		rules, counts, problems := lint(t, c.tar)
		slices.Sort(rules)
		slices.Sort(c.rules)
		if !slices.Equal(rules, c.rules) || counts.Samples != c.samples {
			t.Errorf("%s: %d samples, rules %q; want %d and %q: %v", c.name, counts.Samples, rules, c.samples, c.rules, problems)
			continue
		}
		if len(problems) > 0 && problems[0].Offset != c.offset {
			t.Errorf("%s: found at %d, want %d: %v", c.name, problems[0].Offset, c.offset, problems)
		}
		if c.name == "other fields" && (!strings.Contains(problems[0].String(), `lacks "b"`) || strings.Contains(problems[0].String(), "also")) {
			t.Errorf("%s: %v", c.name, problems)
		}
	}
}

// TestLintStopsWhenAsked: by report and by the context.
func TestLintStopsWhenAsked(t *testing.T) {
	b := ours(member{"README", ""}, member{"NEWS", ""}, member{"INSTALL", ""})
	n := 0
	if _, err := Lint(context.Background(), bytes.NewReader(b), int64(len(b)), func(Problem) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("%d problems after the second was refused, error %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Lint(ctx, bytes.NewReader(b), int64(len(b)), func(Problem) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzLintTar: no panic, no hang; what our walker accepts with good names has no
// damage and the same number of members. Headers get a right checksum if fix is
// set, so that most inputs come past it.
func FuzzLintTar(f *testing.F) {
	long := strings.Repeat("d", 120) + "/a.jpg"
	f.Add(ours(someMembers[2:]...), true)
	f.Add(std(f, tar.Header{Name: long, Format: tar.FormatPAX, ModTime: time.Unix(1, 5e8)}, tar.Header{Name: "b.jpg", Size: 5}), true)
	f.Add(std(f, tar.Header{Name: long, Format: tar.FormatGNU}, tar.Header{Name: "d", Typeflag: tar.TypeDir}), true)
	f.Add(std(f, tar.Header{Name: long}, tar.Header{Name: "a.b", Typeflag: tar.TypeSymlink, Linkname: "b"}), true)
	f.Add(change(ours(member{"a.jpg", "data"}), 156, "S", true), true)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		for at := 0; fix && at+Block <= len(b); at += Block {
			if string(b[at+257:at+262]) == "ustar" {
				rehash(b, at)
			}
		}
		damaged := false
		counts, err := Lint(context.Background(), bytes.NewReader(b), int64(len(b)), func(p Problem) bool {
			damaged = damaged || p.Rule.Damage()
			if p.Offset < 0 || p.Offset > int64(len(b)) || p.String() == "" {
				t.Fatalf("problem at %d of %d bytes", p.Offset, len(b))
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := walkAll(b, 4<<10); err == nil && (damaged || counts.Members != int64(len(got))) {
			t.Fatalf("our walker finds %d members, the linter %d, damage %v", len(got), counts.Members, damaged)
		}
	})
}

// TestSignedSums: old tars summed signed bytes, and archive/tar takes those, too. Any other sum is damage.
func TestSignedSums(t *testing.T) {
	for _, name := range []string{"plain", "\xff\x80\x7f", strings.Repeat("\xc3\xa9", 9)} {
		signed := int64(0)
		b := make([]byte, Block)
		PutHeader(b, []byte("x"), 0)
		copy(b, name)
		copy(b[sumAt:], "        ")
		for _, c := range b {
			signed += int64(int8(c))
		}
		for off, ok := range map[int64]bool{0: true, 1: false, -256: false} {
			copy(b[sumAt:], fmt.Sprintf("%06o\x00 ", signed+off))
			_, p := parseForeign(b)
			_, err := tar.NewReader(bytes.NewReader(b)).Next()
			if (p.Rule == "") != ok || (err == nil) != ok {
				t.Errorf("%q, a sum of %d more: %+v; archive/tar: %v", name, off, p, err)
			}
		}
	}
}
