package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/tests/race"
)

// folder makes files with contents that differ: "name" or
// "name=content".
func folder(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		name, content, given := strings.Cut(n, "=")
		if !given {
			content = "content of " + name
		}
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func listing(t testing.TB, inputs ...string) *format.Table {
	t.Helper()
	table, _, err := walk.Walk(context.Background(), walk.Request{Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func opts(kv ...string) format.Options {
	o := format.Options{}
	for i := 0; i < len(kv); i += 2 {
		o[kv[i]] = kv[i+1]
	}
	return o
}

func openTable(t testing.TB, table *format.Table, o format.Options, columns ...string) shardify.Source {
	t.Helper()
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o, Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// dump reads all samples into lines "key field=value field=value".
func dump(t testing.TB, src shardify.Source) []string {
	t.Helper()
	var lines []string
	readertest.Each(t, src, readertest.Spans(t, src, 100), func(b *shardify.Batch) {
		for i := range b.Samples {
			line := string(b.Key(i))
			for j := range b.Columns {
				c := &b.Columns[j]
				lo, hi := c.Range(i, i+1)
				switch {
				case c.Valid != nil && c.Valid[i] == 0:
					line += fmt.Sprintf(" %s=-", c.Name)
				case c.Levels == 0 && c.DType == shardify.I64:
					line += fmt.Sprintf(" %s=%d", c.Name, shardify.View[int64](c.Data)[i])
				case c.Levels == 0:
					line += fmt.Sprintf(" %s=%d", c.Name, c.Data[i])
				default:
					line += fmt.Sprintf(" %s=%s", c.Name, c.Data[lo:hi])
				}
			}
			lines = append(lines, line)
		}
	})
	return lines
}

func describe(src shardify.Source) []string {
	var s []string
	for _, f := range src.Schema() {
		x := f.Name + ":" + f.DType.String()
		if f.Media != "" {
			x += ":" + f.Media
		}
		if l := f.Labels(); l != nil {
			x += "(" + strings.Join(l, ",") + ")"
		}
		if f.Nullable {
			x += "?"
		}
		s = append(s, x)
	}
	return s
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestConformance(t *testing.T) {
	var names, texts, lists []string
	for i := range 300 {
		stem := fmt.Sprintf("%s/%d/s%d", []string{"cat", "dog", "eel"}[i%3], i%7, i)
		names = append(names, fmt.Sprintf("%s.%s=%s", stem, []string{"jpg", "PNG", "jpeg"}[i%3], strings.Repeat("x", i*7%500)),
			fmt.Sprintf("%s.json={\"i\":%d}", stem, i), stem+".seg.png")
		if i%5 > 0 {
			texts = append(texts, stem+".txt")
		}
	}
	images, other := folder(t, names...), folder(t, texts...)
	var sides []string
	for i := range 200 {
		sides = append(sides, fmt.Sprintf("images/%d/s%d.%s", i%3, i, []string{"jpg", "png"}[i%2]))
		if i%9 > 0 {
			sides = append(sides, fmt.Sprintf("%d/masks/s%d_mask.png=%s", i%3, i, strings.Repeat("x", i%50)))
		}
	}
	pairs := folder(t, sides...)
	for i := range 300 {
		lists = append(lists, strings.Split(names[(i*7)%300*3], "=")[0])
	}
	slices.Sort(lists[:100])
	listed, _, err := walk.Walk(context.Background(), walk.Request{FilesFrom: strings.NewReader(strings.Join(lists, "\n")), Base: images, NoStat: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		table   *format.Table
		options format.Options
	}{
		{"images", listing(t, images), nil},
		{"two roots", listing(t, images, other), opts("missing", "fill", "labels", "none")},
		{"ordinal", listing(t, other), opts("keys", "ordinal", "labels", "folder")},
		{"pairs", listing(t, pairs), opts("pair", "image=images,mask=masks:_mask", "missing", "fill")},
		{"list of unknown sizes", listed, opts("assume-size", "1KiB")},
	} {
		t.Run(c.name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: c.table, Columns: columns, State: state, Options: c.options})
			})
		})
	}
}

func TestFilesOfOneStemAreOneSample(t *testing.T) {
	for _, c := range []struct {
		name         string
		files        []string
		options      format.Options
		schema, rows []string
	}{
		{"one type", []string{"b.jpg=B", "a.JPEG=A", "c10.jpe=C", "c9.jpg=c"}, nil,
			[]string{"jpg:u8:jpg"}, []string{"a jpg=A", "b jpg=B", "c9 jpg=c", "c10 jpg=C"}},
		{"sidecars", []string{"1.jpg=J", "1.json={}", "1.seg.png=P", "2.png=j", "2.JSON=[]", "2.Seg.PNG=p"}, nil,
			[]string{"image:u8:image", "image.ext:u8(jpg,png)", "json:u8:json", "seg.png:u8:png"},
			[]string{"1 image=J image.ext=0 json={} seg.png=P", "2 image=j image.ext=1 json=[] seg.png=p"}},
		{"image and mask", []string{"1.jpg=J", "1.png=P", "2.jpeg=j", "2.png=p"}, nil,
			[]string{"jpg:u8:jpg", "png:u8:png"}, []string{"1 jpg=J png=P", "2 jpg=j png=p"}},
		{"masks of two types", []string{"1.jpg=J", "1.seg.png=P", "2.jpg=j", "2.seg.tiff=t"}, nil,
			[]string{"jpg:u8:jpg", "seg:u8:image", "seg.ext:u8(png,tif)"},
			[]string{"1 jpg=J seg=P seg.ext=0", "2 jpg=j seg=t seg.ext=1"}},
		{"last dot", []string{"22.05.png=a", "22.06.png=b"}, opts("stem", "last"),
			[]string{"png:u8:png"}, []string{"22%2E05 png=a", "22%2E06 png=b"}},
		{"folders with dots", []string{"v1.0/a.jpg=a", "v1.0/b.jpg=b"}, nil,
			[]string{"jpg:u8:jpg"}, []string{"v1.0/a jpg=a", "v1.0/b jpg=b"}},
		{"no extension", []string{"a=1", "b=2", "c.bin=3"}, nil,
			[]string{"bin:u8:bin"}, []string{"a bin=1", "b bin=2", "c bin=3"}},
		{"stems that do not stand together", []string{"a=1", "a-1=2", "a-1.txt=3", "a.txt=4"}, nil,
			[]string{"bin:u8:bin", "txt:u8:txt"}, []string{"a bin=1 txt=4", "a-1 bin=2 txt=3"}},
		{"a media of that name", []string{"a.image=1"}, nil, []string{"image:u8:bin"}, []string{"a image=1"}},
		{"empty files", []string{"a.txt=", "b.txt=", "c.txt="}, nil, []string{"txt:u8:txt"}, []string{"a txt=", "b txt=", "c txt="}},
		{"classes", []string{"b/2.jpg=x", "b/d/1.jpg=y", "a/1.jpg=z"}, nil,
			[]string{"cls:i64(a,b)", "jpg:u8:jpg"}, []string{"a/1 cls=0 jpg=z", "b/2 cls=1 jpg=x", "b/d/1 cls=1 jpg=y"}},
		{"classes sort by bytes, samples naturally", []string{"10/1.jpg=x", "9/2.jpg=y"}, nil,
			[]string{"cls:i64(10,9)", "jpg:u8:jpg"}, []string{"9/2 cls=1 jpg=y", "10/1 cls=0 jpg=x"}},
		{"classes of cls files stay", []string{"a/1.jpg=z", "a/1.cls=7", "b/1.jpg=y", "b/1.cls=8"}, nil,
			[]string{"cls:u8:cls", "jpg:u8:jpg"}, []string{"a/1 cls=7 jpg=z", "b/1 cls=8 jpg=y"}},
		{"no classes of texts", []string{"a/1.txt=z", "b/1.txt=y"}, nil, []string{"txt:u8:txt"}, []string{"a/1 txt=z", "b/1 txt=y"}},
		{"unless asked", []string{"a/1.txt=z", "b/1.txt=y"}, opts("labels", "folder"),
			[]string{"cls:i64(a,b)", "txt:u8:txt"}, []string{"a/1 cls=0 txt=z", "b/1 cls=1 txt=y"}},
		{"no classes of one folder", []string{"a/1.jpg=z"}, nil, []string{"jpg:u8:jpg"}, []string{"a/1 jpg=z"}},
		{"no classes of splits", []string{"train/1.jpg=z", "val/1.jpg=y"}, nil, []string{"jpg:u8:jpg"}, []string{"train/1 jpg=z", "val/1 jpg=y"}},
		{"no classes beside files", []string{"a/1.jpg=z", "b/1.jpg=y", "1.jpg=x"}, nil, []string{"jpg:u8:jpg"},
			[]string{"1 jpg=x", "a/1 jpg=z", "b/1 jpg=y"}},
		{"labels none", []string{"a/1.jpg=z", "b/1.jpg=y"}, opts("labels", "none"), []string{"jpg:u8:jpg"}, []string{"a/1 jpg=z", "b/1 jpg=y"}},
		{"fill", []string{"1.jpg=z", "1.txt=t", "2.jpg=y", "3.txt="}, opts("missing", "fill"),
			[]string{"jpg:u8:jpg?", "txt:u8:txt?"}, []string{"1 jpg=z txt=t", "2 jpg=y txt=-", "3 jpg=- txt="}},
		{"fill an image", []string{"1.jpg=z", "1.txt=t", "2.png=y", "2.txt=u", "3.txt=v"}, opts("missing", "fill"),
			[]string{"image:u8:image?", "image.ext:u8(jpg,png)", "txt:u8:txt"}, []string{"1 image=z image.ext=0 txt=t", "2 image=y image.ext=1 txt=u", "3 image=- image.ext=0 txt=v"}},
		{"ordinal", []string{"x y.jpg=a", "\xff.jpg=b"}, opts("keys", "ordinal"), []string{"jpg:u8:jpg"}, []string{"000000 jpg=a", "000001 jpg=b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := openTable(t, listing(t, folder(t, c.files...)), c.options)
			equal(t, describe(src), c.schema)
			equal(t, dump(t, src), c.rows)
			if err := shardify.ValidateSchema(src.Schema()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDropIsCountedAndLabelsFollow(t *testing.T) {
	dir := folder(t, "1.csv=r", "a/1.jpg=z", "a/1.csv=t", "b/1.jpg=y", "b/1.csv=u", "b/2.jpg=only")
	src := openTable(t, listing(t, dir), opts("missing", "drop"))
	equal(t, describe(src), []string{"cls:i64(a,b)", "csv:u8:csv", "jpg:u8:jpg"})
	equal(t, dump(t, src), []string{"a/1 cls=0 csv=t jpg=z", "b/1 cls=1 csv=u jpg=y"})
	var got []string
	for _, l := range src.(format.Reporter).Leftovers() {
		got = append(got, fmt.Sprintf("%s %d", l.Name, l.Count))
	}
	equal(t, got, []string{"csv 1", "jpg 1"})
}

func TestRefusals(t *testing.T) {
	race.Sequential(t)
	for _, c := range []struct {
		name    string
		files   []string
		options format.Options
		columns []string
		want    []string
	}{
		{"missing", []string{"1.jpg", "1.json", "2.jpg", "3.jpg", "d/4.jpg", "5.jpg"}, nil, nil, []string{"of 5 samples", "json in 4 samples (2, 3, 5, ...)", "--missing drop"}},
		{"both missing", []string{"1.jpg", "2.json"}, nil, nil, []string{"jpg in 1 sample (2)", "json in 1 sample (1)"}},
		{"dots and others", []string{"22.a.png", "22.b.png", "23.a.png"}, nil, nil, []string{"b.png in 1 sample (23)", "--stem last"}},
		{"twice", []string{"a.jpg", "a.jpeg", "a.JPG", "b.jpg"}, nil, nil, []string{"a.JPG and ", "a.jpeg", "2 pairs", "same field of the same sample"}},
		{"bin twice", []string{"a", "a.bin"}, nil, nil, []string{"same field"}},
		{"drop everything", []string{"1.jpg", "2.json"}, opts("missing", "drop"), nil, []string{"no sample has all of jpg, json"}},
		{"extension not UTF-8", []string{"a.\xff"}, nil, nil, []string{"not UTF-8"}},
		{"labels of bare files", []string{"1.jpg", "a/2.jpg"}, opts("labels", "folder"), nil, []string{"--labels folder", "1 sample (1) in no folder"}},
		{"labels beside cls", []string{"a/1.cls", "b/1.cls"}, opts("labels", "folder"), nil, []string{"*.cls already"}},
		{"unknown column", []string{"a.jpg"}, nil, []string{"nope"}, []string{`no field "nope"`, "jpg"}},
		{"cls that is not there", []string{"a.jpg"}, nil, []string{"cls"}, []string{`no field "cls"`}},
		{"unknown option", []string{"a.jpg"}, opts("nope", "1"), nil, []string{"unknown option"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, folder(t, c.files...)), Options: c.options, Columns: c.columns})
			if err == nil {
				src.Close()
				t.Fatalf("opened with %q", describe(src))
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in: %v", w, err)
				}
			}
		})
	}
	if _, err := Format.Open(context.Background(), format.OpenArgs{Table: &format.Table{}}); err == nil {
		t.Error("no files, no error")
	}
}

func TestUnwantedFilesCannotFailTheJob(t *testing.T) {
	dir := folder(t, "1.jpg=a", "1.json={}", "2.jpg=b", "3.jpg=c", "3.txt=t")
	src := openTable(t, listing(t, dir), nil, "j*g")
	equal(t, dump(t, src), []string{"1 jpg=a", "2 jpg=b", "3 jpg=c"})
}

func TestKeysAreUniqueOverSeveralInputs(t *testing.T) {
	a, b := folder(t, "img/1.jpg=a", "flat.jpg=f"), folder(t, "img/1.jpg=b")
	src := openTable(t, listing(t, a+"/img", b+"/img", a+"/flat.jpg"), nil)
	equal(t, dump(t, src), []string{"img-0/1 jpg=a", "img-1/1 jpg=b", filepath.Base(a) + "/flat jpg=f"})
	two := folder(t, "x/1.jpg=a", "x/1.txt=s", "y/1.jpg=b", "y/1.txt=t")
	t.Chdir(two)
	src = openTable(t, listing(t, "x", "y/"), nil)
	equal(t, dump(t, src), []string{"x/1 jpg=a txt=s", "y/1 jpg=b txt=t"})
	src = openTable(t, listing(t, "x/1.jpg", "y/1.jpg", "x/1.txt", "y/1.txt"), opts("labels", "folder"))
	equal(t, dump(t, src), []string{"x/1 cls=0 jpg=a txt=s", "y/1 cls=1 jpg=b txt=t"})
	src = openTable(t, listing(t, "x/*.jpg", "x/*.txt"), nil) // one folder, whatever the arguments
	equal(t, dump(t, src), []string{"1 jpg=a txt=s"})
}

func TestRootsThatAreFiles(t *testing.T) {
	dir := folder(t, "1.jpg=a", "1.txt=s", "d/2.jpg=b", "d/2.txt=t")
	table := &format.Table{Roots: []string{dir + "/1.jpg", dir, dir + "/1.txt", ""}}
	table.Append(0, "", 1, 0)
	table.Append(1, "d/2.jpg", 1, 0)
	table.Append(1, "d/2.txt", format.SizeUnknown, 0)
	table.Append(2, "", 1, 0)
	src := openTable(t, table, nil)
	equal(t, dump(t, src), []string{"1 jpg=a txt=s", "d/2 jpg=b txt=t"})
	table = &format.Table{Roots: []string{""}}
	table.Append(0, dir+"/1.jpg", 1, 0)
	table.Append(0, dir+"/d/2.jpg", 1, 0)
	src = openTable(t, table, nil)
	equal(t, dump(t, src), []string{dir[1:] + "/1 jpg=a", dir[1:] + "/d/2 jpg=b"})
}

func TestCheckKeys(t *testing.T) {
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("odd~%d.jpg", i), fmt.Sprintf("%d%s.jpg", i, strings.Repeat("x", 90)), fmt.Sprintf("good%d.jpg", i))
	}
	dir := folder(t, names...)
	noTilde := func(k []byte) error {
		if bytes.IndexByte(k, '~') >= 0 {
			return errors.New("a tilde")
		}
		return nil
	}
	src := openTable(t, listing(t, dir), nil).(format.Keyer)
	if !src.Keyed() {
		t.Error("not keyed")
	}
	for _, c := range []struct {
		member int
		check  func([]byte) error
		want   []string
	}{
		{0, nil, nil},
		{8, nil, nil},
		{9, nil, []string{"5 samples (0xxx", "--keys ordinal"}},
		{0, noTilde, []string{"5 samples (odd~0, odd~1, odd~2, ...)", "a tilde", "--keys ordinal"}},
		{9, noTilde, []string{"10 samples"}},
	} {
		err := src.CheckKeys(c.member, c.check)
		if (err == nil) != (c.want == nil) {
			t.Errorf("member of %d: %v", c.member, err)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("no %q in: %v", w, err)
			}
		}
	}
	if err := openTable(t, listing(t, dir), opts("keys", "ordinal")).(format.Keyer).CheckKeys(93, noTilde); err != nil {
		t.Error(err)
	}
}

func TestSniff(t *testing.T) {
	for name, want := range map[string]bool{"a.jpg": true, "a.b.JPEG": true, "x.tiff": true, "a.npz": false, "README": false, "": false, ".jpg": false} {
		if Format.Sniff(nil, name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if !Format.Sniff([]byte("\xff\xd8\xff\xe0"), "x") || Format.Sniff([]byte("PK\x03\x04"), "x.bin") {
		t.Error("first bytes")
	}
}

// TestTextIsUTF8: a set whose texts cannot be decoded must not be written silently. As
// bytes they are what the files hold.
func TestTextIsUTF8(t *testing.T) {
	dir := folder(t, "1.txt=fine", "1.json={}", "2.txt=caf\xe9", "2.json={}")
	walked := func(o format.Options) error {
		_, err := readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
			return Format.Open(ctx, format.OpenArgs{Table: listing(t, dir), Options: o})
		}, 1, nil)
		return err
	}
	err := walked(nil)
	var e *shardify.Error
	if !errors.As(err, &e) || !errors.Is(err, shardify.ErrUnsupported) || filepath.Base(e.File) != "2.txt" || e.Sample != 1 || !strings.Contains(err.Error(), "--text bytes") {
		t.Errorf("text that is not UTF-8: %v", err)
	}
	src := openTable(t, listing(t, dir), opts("text", "bytes"))
	equal(t, describe(src), []string{"json:u8:bin", "txt:u8:bin"})
	equal(t, dump(t, src), []string{"1 json={} txt=fine", "2 json={} txt=caf\xe9"})
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, dir), Options: opts("text", "bytes"), State: state})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	equal(t, describe(again), describe(src))
}
