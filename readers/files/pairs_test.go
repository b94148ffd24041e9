package files

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/tests/race"
)

// TestPairs: what --pair makes of folders.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		name         string
		files        []string
		options      format.Options
		schema, rows []string
		left         []string
	}{
		{name: "folders", files: []string{"images/1.jpg=a", "images/2.png=b", "masks/1.png=c", "masks/2.png=d"}, options: opts("pair", "image=images,mask=masks"),
			schema: []string{"image:u8:image", "image.ext:u8(jpg,png)", "mask:u8:png"}, rows: []string{"1 image=a image.ext=0 mask=c", "2 image=b image.ext=1 mask=d"}},
		{name: "a suffix", files: []string{"images/1.jpg=a", "masks/1_mask.gif=c", "masks/1.gif=x"}, options: opts("pair", "image=images,mask=masks:_mask"),
			schema: []string{"image:u8:jpg", "mask:u8:gif"}, rows: []string{"1 image=a mask=c"}, left: []string{"masks/1.gif 1"}},
		{name: "a suffix with its extension", files: []string{"d/1.jpg=a", "d/1.txt=t", "d/1.seg.png=c"}, options: opts("pair", "image=d:.jpg,mask=d:.seg"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"1 image=a mask=c"}, left: []string{"d/1.txt 1"}},
		{name: "one folder", files: []string{"1.jpg=a", "1_segmentation.png=c"}, options: opts("pair", "image=.,mask=.:_segmentation"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"1 image=a mask=c"}},
		{name: "a folder in the other", files: []string{"1.jpg=a", "masks/1.png=c"}, options: opts("pair", "image=.,mask=masks"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"1 image=a mask=c"}},
		{name: "channels", files: []string{"imagesTr/a_0000.nii.gz=p", "imagesTr/a_0001.nii.gz=q", "labelsTr/a.nii.gz=l"}, options: opts("pair", "ct=imagesTr:_0000,mr=imagesTr:_0001,label=labelsTr"),
			schema: []string{"ct:u8:nii.gz", "label:u8:nii.gz", "mr:u8:nii.gz"}, rows: []string{"a ct=p label=l mr=q"}},
		{name: "folders in folders", files: []string{"images/x/y/1.jpg=a", "images/x/1.jpg=b", "masks/x/y/1.png=c", "masks/x/1.png=d"}, options: opts("pair", "image=images,mask=masks"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"x/1 image=b mask=d", "x/y/1 image=a mask=c"}},
		{name: "a path of folders", files: []string{"p/ct/raw/1.npy=a", "p/seg/1.npy=c", "p/ct/1.npy=x"}, options: opts("pair", "ct=ct/raw,seg=seg"),
			schema: []string{"ct:u8:npy", "seg:u8:npy"}, rows: []string{"p/1 ct=a seg=c"}, left: []string{"p/ct/1.npy 1"}},
		{name: "classes", files: []string{"images/cat/1.jpg=a", "images/dog/1.jpg=b", "masks/cat/1.png=c", "masks/dog/1.png=d"}, options: opts("pair", "image=images,mask=masks"),
			schema: []string{"cls:i64(cat,dog)", "image:u8:jpg", "mask:u8:png"}, rows: []string{"cat/1 cls=0 image=a mask=c", "dog/1 cls=1 image=b mask=d"}},
		{name: "dots and upper case", files: []string{"images/v1.5.JPG=a", "images/v1.6.JPEG=b", "masks/v1.5.Png=c", "masks/v1.6.PNG=d"}, options: opts("pair", "T1=images,mask=masks"),
			schema: []string{"T1:u8:jpg", "mask:u8:png"}, rows: []string{"v1%2E5 T1=a mask=c", "v1%2E6 T1=b mask=d"}},
		{name: "first dots", files: []string{"images/1.left.jpg=a", "masks/1.v2.png=c"}, options: opts("pair", "image=images,mask=masks", "stem", "first"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"1 image=a mask=c"}},
		{name: "without extension", files: []string{"images/1=a", "masks/1.=c"}, options: opts("pair", "image=images,mask=masks"),
			schema: []string{"image:u8:bin", "mask:u8:bin"}, rows: []string{"1 image=a mask=c"}},
		{name: "about a folder", files: []string{"images/1.jpg=a", "images/README.md=x", "masks/1.png=c", "LICENSE"}, options: opts("pair", "image=images,mask=masks"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"1 image=a mask=c"}, left: []string{"LICENSE 2"}},
		{name: "drop", files: []string{"images/1.jpg=a", "images/2.jpg=b", "masks/1.png=c", "masks/3.png=d"}, options: opts("pair", "image=images,mask=masks", "missing", "drop"),
			schema: []string{"image:u8:jpg", "mask:u8:png"}, rows: []string{"1 image=a mask=c"}, left: []string{"image 1", "mask 1"}},
		{name: "fill", files: []string{"images/1.jpg=a", "images/2.jpg=b", "masks/1.png=c"}, options: opts("pair", "image=images,mask=masks", "missing", "fill"),
			schema: []string{"image:u8:jpg", "mask:u8:png?"}, rows: []string{"1 image=a mask=c", "2 image=b mask=-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := listing(t, folder(t, c.files...))
			src := openTable(t, table, c.options)
			equal(t, describe(src), c.schema)
			equal(t, dump(t, src), c.rows)
			_, strays := src.(format.Strayer).Strays()
			var left []string
			for _, l := range append(strays, src.(format.Reporter).Leftovers()...) {
				left = append(left, fmt.Sprintf("%s %d", l.Name, l.Count))
			}
			equal(t, left, c.left)
			state, err := src.(format.Stater).State()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: c.options, State: state})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			equal(t, dump(t, again), c.rows)
		})
	}
	dir := folder(t, "my images/1.jpg=a", "masks/1.png=c")
	equal(t, dump(t, openTable(t, listing(t, dir+"/my images", dir+"/masks"), opts("pair", "image=my images,mask=masks"))), []string{"1 image=a mask=c"})
	dir = folder(t, "images/1.jpg=a", "masks/1.png=c", "labels.csv=file,age\n1.jpg,7\n")
	equal(t, dump(t, openTable(t, listing(t, dir), opts("pair", "image=images,mask=masks", "labels", dir+"/labels.csv", "key", "file"))), []string{"1 image=a mask=c age=7"})
}

// TestPairsThatAreNone: each error names what is wrong.
func TestPairsThatAreNone(t *testing.T) {
	for _, c := range []struct {
		name, pair string
		files      []string
		want       []string
	}{
		{"missing", "image=images,mask=masks", []string{"images/1.jpg", "images/2.jpg", "masks/1.png"}, []string{"mask in 1 sample (2)", "--missing drop"}},
		{"twice", "image=images,mask=masks", []string{"images/1.jpg", "images/1.png", "masks/1.png"}, []string{"images/1.jpg and ", "images/1.png", "same field"}},
		{"twice by folders", "image=images,mask=masks", []string{"images/a/1.jpg", "a/images/1.jpg", "masks/a/1.png"}, []string{"a/images/1.jpg and ", "images/a/1.jpg"}},
		{"case", "image=images,mask=masks", []string{"images/A.jpg", "masks/a.png"}, []string{"images/A.jpg and ", "masks/a.png", "upper and lower case"}},
		{"case of folders", "image=images,mask=masks", []string{"images/X/1.jpg", "masks/x/1.png"}, []string{"upper and lower case"}},
		{"Unicode", "image=images,mask=masks", []string{"images/\u00e9.jpg", "masks/e\u0301.png"}, []string{"Unicode form"}},
		{"types", "image=images,label=labels", []string{"images/1.jpg", "images/2.jpg", "labels/1.txt", "labels/2.json"}, []string{"json, txt", "label=labels:.json"}},
		{"no folder", "image=images,mask=mask", []string{"images/1.jpg", "masks/1.png"}, []string{"mask=mask", "no file is in a folder mask", "masks/1.png"}},
		{"no suffix", "image=images,mask=masks:_m", []string{"images/1.jpg", "masks/1.png"}, []string{"with _m at the end"}},
		{"form", "images", nil, []string{"FIELD=FOLDER"}},
		{"form", "image=", nil, []string{"FIELD=FOLDER"}},
		{"name", "a.b=images", nil, []string{"a.b"}},
		{"up", "a=../images", nil, []string{"below the INPUT"}},
		{"field twice", "a=images,A=masks", nil, []string{"one field"}},
		{"folder twice", "a=images,b=images", nil, []string{"same files"}},
	} {
		if c.files == nil {
			c.files = []string{"images/1.jpg"}
		}
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, folder(t, c.files...)), Options: opts("pair", c.pair)})
		if err == nil {
			src.Close()
			t.Errorf("%s: opened with %q", c.name, describe(src))
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: no %q in: %v", c.name, w, err)
			}
		}
	}
}

// aFile is a file of a random layout: what it is, and where.
type aFile struct {
	pair     int // -1: none
	key, ext string
	alike    string // key, of all spellings
	path     string
}

// layout makes files of pairs at random.
func layout(rng *rand.Rand) (pairs []string, list []aFile) {
	spellings := [][]string{{"1"}, {"2.5"}, {"x_mask"}, {"b c"}, {"v", "V"}, {"\u00e9", "e\u0301", "\u00c9"}, {"10"}, {"_"}}
	types := [][]string{{"jpg"}, {"jpg", "png"}, {"nii.gz"}, {"txt"}, {"npy"}}
	suffixes := []string{"", "", "_mask", "_0000", ".seg"}
	below := []string{"", "", "train/", "val/a/"}[:1+rng.IntN(4)]
	taken := map[string]bool{}
	add := func(f aFile) {
		if !taken[f.path] {
			taken[f.path] = true
			list = append(list, f)
		}
	}
	odd := rng.IntN(3) // of so many in a hundred
	for p := range 2 + rng.IntN(2) {
		folder, suffix, exts := []string{"images", "masks", "labels/raw"}[p], suffixes[rng.IntN(len(suffixes))], types[rng.IntN(len(types))]
		pairs = append(pairs, fmt.Sprintf("f%d=%s", p, folder))
		if suffix != "" {
			pairs[p] += ":" + suffix
		}
		inside := rng.IntN(2) == 0
		for _, sub := range below {
			for _, s := range spellings {
				if rng.IntN(100) < odd*4 {
					continue
				}
				name, ext := s[0], exts[rng.IntN(len(exts))]
				if rng.IntN(100) < odd*4 {
					name = s[rng.IntN(len(s))]
				}
				f := aFile{pair: p, key: sub + name, ext: ext, alike: sub + s[0]}
				at := func(inside bool, ext string) string {
					if inside {
						return path.Join(sub, folder, name+suffix+"."+ext)
					}
					return path.Join(folder, sub, name+suffix+"."+ext)
				}
				f.path = at(inside, ext)
				add(f)
				if rng.IntN(100) < odd {
					f.path = at(!inside, ext)
					add(f)
				}
				if rng.IntN(200) < odd && len(exts) > 1 {
					f.ext = exts[rng.IntN(len(exts))]
					f.path = at(inside, f.ext)
					add(f)
				}
				if rng.IntN(100) < 2*odd && suffix != "" {
					add(aFile{pair: -1, path: path.Join(folder, sub, name+"-other."+ext)})
				}
			}
		}
	}
	if odd > 0 {
		add(aFile{pair: -1, path: "notes/1.txt"})
		add(aFile{pair: -1, path: "data.yaml"})
	}
	return pairs, list
}

// inTarsToo puts the files of some folders of a layout into tars, and returns where they all are.
// Mostly a tar has its folder; if all files of a pair are in one, the tar may be the folder.
func inTarsToo(rng *rand.Rand, pairs []string, list []aFile) (files map[string][]byte) {
	files = map[string][]byte{}
	packs, named := map[string]*bytes.Buffer{}, map[string]bool{}
	writers := map[string]*tar.Writer{}
	tarred := map[string]int{}
	for _, top := range []string{"images", "masks", "labels", "train", "val"} {
		tarred[top] = rng.IntN(4) // 3: no; else so many tars and one more
	}
	for p, top := range []string{"images", "masks"} {
		whole := tarred[top] == 0 && rng.IntN(2) == 0
		for i := range list {
			whole = whole && (list[i].pair != p || strings.HasPrefix(list[i].path, top+"/"))
		}
		if whole {
			named[top] = true
			pairs[p] = strings.Replace(pairs[p], "="+top, "="+top+".tar", 1)
		}
	}
	for i := range list {
		top, rest, _ := strings.Cut(list[i].path, "/")
		if n, ok := tarred[top]; !ok || n == 3 {
			files[list[i].path] = []byte(list[i].path)
			continue
		}
		name, member := top+".tar", rest
		if !named[top] {
			name, member = fmt.Sprintf("%s-%d.tar", top, rng.IntN(tarred[top]+1)), list[i].path
		}
		if packs[name] == nil {
			packs[name] = &bytes.Buffer{}
			writers[name] = tar.NewWriter(packs[name])
		}
		if rng.IntN(2) == 0 {
			member = "./" + member
		}
		writers[name].WriteHeader(&tar.Header{Name: member, Size: int64(len(list[i].path)), Mode: 0o644})
		writers[name].Write([]byte(list[i].path))
	}
	for name, b := range packs {
		writers[name].Close()
		files[name] = b.Bytes()
	}
	return files
}

// reference is the samples of a layout by --missing; nil if they are to be refused.
func reference(fields int, list []aFile, missing string) (rows []string) {
	samples := map[string][]*aFile{}
	alike := map[string]string{}
	found := make([]bool, fields)
	for i := range list {
		f := &list[i]
		if f.pair < 0 {
			continue
		}
		if samples[f.key] == nil {
			samples[f.key] = make([]*aFile, fields)
		}
		if samples[f.key][f.pair] != nil {
			return nil
		}
		samples[f.key][f.pair], alike[f.key], found[f.pair] = f, f.alike, true
	}
	if slices.Contains(found, false) {
		return nil
	}
	lacks := func(s []*aFile) bool { return slices.Contains(s, nil) }
	for a, s := range samples {
		for b, o := range samples {
			if a == b || alike[a] != alike[b] || !lacks(s) || !lacks(o) {
				continue
			}
			both := false
			for j := range s {
				both = both || s[j] != nil && o[j] != nil
			}
			if !both {
				return nil
			}
		}
	}
	for key, s := range samples {
		switch {
		case lacks(s) && missing == "fail":
			return nil
		case lacks(s) && missing == "drop":
			continue
		}
		row := strings.NewReplacer(" ", "%20", ".", "%2E").Replace(key)
		for p, f := range s {
			if f == nil {
				row += fmt.Sprintf(" f%d=-", p)
			} else {
				row += fmt.Sprintf(" f%d=%s", p, f.path)
			}
		}
		rows = append(rows, row)
	}
	slices.Sort(rows)
	return rows
}

// TestRandomPairs: 2,000 layouts are what a reference makes of them, or refused by both.
func TestRandomPairs(t *testing.T) {
	race.Sequential(t)
	refused, strays, holes := 0, 0, 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		pairs, list := layout(rng)
		missing := []string{"fail", "drop", "fill"}[rng.IntN(3)]
		store, table := memory.New(), &format.Table{Roots: []string{"mem://set"}}
		all := map[string][]byte{}
		others := 0
		for _, f := range list {
			all[f.path] = []byte(f.path)
			if f.pair < 0 {
				others++
			}
		}
		want := reference(len(pairs), list, missing)
		if seed%2 == 1 {
			all = inTarsToo(rng, pairs, list)
		}
		for _, name := range slices.SortedFunc(maps.Keys(all), func(a, b string) int { return walk.ComparePaths([]byte(a), []byte(b)) }) {
			store.Set("set/"+name, all[name])
			table.Append(0, name, int64(len(all[name])), 1)
		}
		table.FS = memory.Files{Store: store, Prefix: "mem://"}
		table, _, err := tars.Expand(context.Background(), table, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, o := context.Background(), opts("pair", strings.Join(pairs, ","), "missing", missing, "labels", "none")
		src, err := Format.Open(ctx, format.OpenArgs{Table: table, Options: o})
		if err != nil || want == nil {
			refused++
			if (err == nil) != (want != nil) || err != nil && !errors.Is(err, shardify.ErrSchema) {
				t.Fatalf("seed %d: %s, --missing %s, %v: %v, want %q", seed, pairs, missing, list, err, want)
			}
			continue
		}
		var got []string
		for _, row := range dump(t, src) {
			words := slices.DeleteFunc(strings.SplitAfter(row, " "), func(w string) bool { return strings.Contains(w, ".ext=") })
			got = append(got, strings.TrimSpace(strings.Join(words, "")))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s, --missing %s: %q, want %q", seed, pairs, missing, got, want)
		}
		files, _ := src.(format.Strayer).Strays()
		if len(files) != others {
			t.Fatalf("seed %d: %d files are in no pair, want %d", seed, len(files), others)
		}
		strays += others
		holes += strings.Count(strings.Join(got, " "), "=-")
		src.Close()
	}
	if refused < 400 || refused > 1600 || strays == 0 || holes == 0 {
		t.Errorf("%d of 2000 layouts are refused, %d files are in no pair, %d are missing", refused, strays, holes)
	}
}
