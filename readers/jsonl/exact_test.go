package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

func openTyped(setting string, paths ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(paths...), Options: format.Options{optTypes: setting}, Jobs: 2})
}

// TestWholeNumbersAmongFloatsAreNotRounded: whole numbers that f64 may not hold, in one place
// with others, are refused, and every setting that the refusal names reads them.
func TestWholeNumbersAmongFloatsAreNotRounded(t *testing.T) {
	const big = "9007199254740993"
	for _, c := range []struct {
		name    string
		files   []string
		setting string
		wrong   string // "" where it is read
		want    string // what the first setting reads
	}{
		{"a fraction", []string{`{"id":` + big + "}\n" + `{"id":0.5}`}, "", "9007199254740993 in line 1", "[map[id:9007199254740993] map[id:0.5]]"},
		{"NaN", []string{`{"id":NaN}` + "\n" + `{"id":-` + big + "}"}, "", "-9007199254740993 in line 2", "[map[id:NaN] map[id:-9007199254740993]]"},
		{"minus zero", []string{`{"id":` + big + "}\n" + `{"id":-0}`}, "", "-0 in line 2", "[map[id:9007199254740993] map[id:-0]]"},
		{"a list", []string{`{"v":[0.5,` + big + "]}"}, "", "9007199254740993 in line 1", "[map[v:[0.5 9007199254740993]]]"},
		{"a list of objects", []string{`{"h":[{"a":0.5},{"a":` + big + "}]}"}, "", "column h.a has 9007199254740993", "[map[h.a:[0.5 9007199254740993]]]"},
		{"a member", []string{`{"o":{"a,b":` + big + `}}` + "\n" + `{"o":{"a,b":1e3}}`}, "", "1e3 in line 2", "[map[o.a,b:9007199254740993] map[o.a,b:1e3]]"},
		{"two files", []string{`{"id":` + big + "}\n", `{"id":1}` + "\n" + `{"id":2.5}` + "\n"}, "", "2.5 in line 2 of ", "[map[id:9007199254740993] map[id:1] map[id:2.5]]"},
		{"a type given", []string{`{"x":1,"id":` + big + "}\n" + `{"x":2,"id":0.5}`}, "types=x:f64", "0.5 in line 2", "[map[id:9007199254740993 x:1] map[id:0.5 x:2]]"},
		{"below 0 and beyond i64", []string{`{"id":18446744073709551615}` + "\n" + `{"id":-1}`}, "", "below 0 and beyond 2^63", "[map[id:18446744073709551615] map[id:-1]]"},
		{"beyond 64 bits", []string{`{"id":123456789012345678901}`}, "", "line 1: id is a number beyond 64 bits", "[map[id:123456789012345678901]]"},
		{"beyond f64", []string{`{"id":1e400}` + "\n" + `{"id":-2}`}, "", "line 1: id is a number beyond f64", "[map[id:1e400] map[id:-2]]"},
		{"texts among numbers", []string{`{"id":1.50}` + "\n" + `{"id":"a"}` + "\n" + `{"id":true}`}, "", "line 2: id is text, a number before", "[map[id:1.50] map[id:a] map[id:true]]"},
		{"exact", []string{`{"id":9007199254740992}` + "\n" + `{"id":0.5}`}, "", "", ""},
		{"whole alone", []string{`{"id":` + big + "}\n" + `{"id":null}`}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths []string
			for _, f := range c.files {
				paths = append(paths, readertest.Put(t, "t.jsonl", f))
			}
			open := func(setting string) (shardify.Source, error) { return openTyped(setting, paths...) }
			readertest.Offered(t, optTypes, c.setting, c.wrong, open, func(i int, src shardify.Source) {
				var got []map[string]any
				readertest.Each(t, src, readertest.Spans(t, src, 1), func(b *shardify.Batch) {
					for k := range b.Samples {
						got = append(got, row(b, k))
					}
				})
				if i == 0 && fmt.Sprint(got) != c.want {
					t.Errorf("%v, want %s", got, c.want)
				}
			})
		})
	}
}

// TestTypesThatHaveNoEffectAreRefused: a setting that changes nothing is an error.
func TestTypesThatHaveNoEffectAreRefused(t *testing.T) {
	name := readertest.Put(t, "a.jsonl", `{"id":1,"s":"x","b":true,"o":{"k":1}}`)
	for setting, want := range map[string]string{
		"types=no:text": `no column "no"; there is id, s, b, o.k`, "types=s:f64": "s is text, no f64", "types=b:f64": "b is a bool, no f64", "types=o:text": `no column "o"`,
		"id:f64": "want types=", "types=id:i32": "want text or f64", "types=id": "want COLUMN:TYPE",
	} {
		if _, err := openTyped(setting, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
}

// lineOfNames has an object of n names in each of so many lines; different: no two lines have one
// in common.
func linesOfNames(lines, n int, different, nested bool) string {
	var b strings.Builder
	for i := range lines {
		b.WriteByte('{')
		for k := range n {
			if k > 0 {
				b.WriteByte(',')
			}
			name := k
			if different {
				name += i * n
			}
			if fmt.Fprintf(&b, `"k%d":`, name); nested {
				fmt.Fprintf(&b, `{"a":%d}`, k)
			} else {
				fmt.Fprint(&b, k)
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// TestManyNamesTakeLinearTime: a survey is linear in the names, and there is a limit to them,
// with a way out that works.
func TestManyNamesTakeLinearTime(t *testing.T) {
	took := func(data string) (time.Duration, error) {
		name := readertest.Put(t, "a.jsonl", data)
		at := time.Now()
		src, err := openTyped("", name)
		if err == nil {
			src.Close()
		}
		return time.Since(at), err
	}
	for _, c := range []struct {
		name  string
		lines string
	}{
		{"one line", linesOfNames(1, 30000, true, false)},
		{"every line another", linesOfNames(30000, 1, true, false)},
		{"in objects", linesOfNames(100, 160, true, true)},
		{"the same", linesOfNames(20, 30000, false, false)},
	} {
		d, err := took(c.lines)
		if err != nil || d > 30*time.Second {
			t.Errorf("%s: %v, %v", c.name, d, err)
		}
		t.Log(c.name, len(c.lines), d)
	}
	many := linesOfNames(40000, 1, true, false)
	d, err := took(many)
	if err == nil || !strings.Contains(err.Error(), "more than 32768 names") || d > 30*time.Second {
		t.Fatalf("%v: %v", d, err)
	}
	hints := shardify.Hints(err)
	if len(hints) != 1 {
		t.Fatal(hints)
	}
	half := len(many) / 2
	half += strings.IndexByte(many[half:], '\n') + 1
	if _, err := openTyped("", readertest.Put(t, "a.jsonl", many[:half]), readertest.Put(t, "b.jsonl", many[half:])); err == nil || !strings.Contains(err.Error(), "more than 32768 names") {
		t.Errorf("in two files: %v", err)
	}
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("no jq here to run the hint with")
	}
	command, _, _ := strings.Cut(hints[0], " makes ")
	command = strings.NewReplacer("FILE.jsonl", readertest.Put(t, "a.jsonl", many), "> NEW.jsonl", "").Replace(command)
	out, err := exec.Command("sh", "-c", strings.Replace(command, "jq", jq, 1)).Output()
	if err != nil {
		t.Fatal(err)
	}
	src, err := openTyped("", readertest.Put(t, "b.jsonl", string(bytes.TrimSpace(out))))
	if err != nil {
		t.Fatal(err)
	}
	src.Close()
}
