package files

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// TestLayouts: what folders of files mean, by the rules of docs/formats/inputs.md.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name         string
		files        []string
		options      format.Options
		schema, rows []string
		note         string
		left         []string
	}{
		{name: "numbers with dots are names", files: []string{"frame_1.0.png=a", "frame_1.5.png=b", "frame_2.0.png=c", "frame_2.5.png=d"},
			schema: []string{"png:u8:png"}, rows: []string{"frame_1%2E0 png=a", "frame_1%2E5 png=b", "frame_2%2E0 png=c", "frame_2%2E5 png=d"}, note: "frame_1.0"},
		{name: "unless the user says so", files: []string{"1.0.png=a", "1.5.png=b"}, options: opts("stem", "first"),
			schema: []string{"0.png:u8:png", "5.png:u8:png"}, rows: []string{"1 0.png=a 5.png=b"}},
		{name: "equal extensions are extensions", files: []string{"1.2d.npy=a", "1.3d.npy=b", "2.2d.npy=c", "2.3d.npy=d", "README.md"},
			schema: []string{"2d.npy:u8:npy", "3d.npy:u8:npy"}, rows: []string{"1 2d.npy=a 3d.npy=b", "2 2d.npy=c 3d.npy=d"}, note: "--stem number", left: []string{"README.md 1"}},
		{name: "of several samples", files: []string{"1.2d.npy=a", "1.3d.npy=b"},
			schema: []string{"npy:u8:npy"}, rows: []string{"1%2E2d npy=a", "1%2E3d npy=b"}, note: "1.2d"},
		{name: "numbers are no extensions", files: []string{"a.1.png=a", "b.1.png=b"},
			schema: []string{"png:u8:png"}, rows: []string{"a%2E1 png=a", "b%2E1 png=b"}, note: "a.1"},
		{name: "extensions that begin with a digit", files: []string{"a.3gp=a", "b.3gp=b", "c.mp4=c"}, options: opts("missing", "fill"),
			schema: []string{"3gp:u8:3gp?", "mp4:u8:mp4?"}, rows: []string{"a 3gp=a mp4=-", "b 3gp=b mp4=-", "c 3gp=- mp4=c"}},
		{name: "without extension", files: []string{"run_1.0=a", "run_1.5=b"},
			schema: []string{"bin:u8:bin"}, rows: []string{"run_1%2E0 bin=a", "run_1%2E5 bin=b"}, note: "run_1.0"},

		{name: "about the folder", files: []string{"README.md=x", "LICENSE=x", "a/0.jpg=a", "a/dataset_infos.json={}", "b/1.jpg=b", "b/readme.txt=x"},
			schema: []string{"cls:i64(a,b)", "jpg:u8:jpg"}, rows: []string{"a/0 cls=0 jpg=a", "b/1 cls=1 jpg=b"},
			left: []string{"LICENSE 1", "README.md 1", "a/dataset_infos.json 1", "b/readme.txt 1"}},
		{name: "beside captions", files: []string{"README.txt=x", "a.jpg=a", "a.txt=t", "b.jpg=b", "b.txt=u"},
			schema: []string{"jpg:u8:jpg", "txt:u8:txt"}, rows: []string{"a jpg=a txt=t", "b jpg=b txt=u"}, left: []string{"README.txt 1"}},
		{name: "texts called so are samples", files: []string{"README.txt=x", "a.txt=t"},
			schema: []string{"txt:u8:txt"}, rows: []string{"README txt=x", "a txt=t"}},
		{name: "all of them", files: []string{"a/README.md=x", "b/README.md=y"},
			schema: []string{"md:u8:md"}, rows: []string{"a/README md=x", "b/README md=y"}, left: []string{"cls 0"}},
		{name: "a part of a sample", files: []string{"readme.jpg=a", "readme.md=x", "b.jpg=b", "b.md=y"},
			schema: []string{"jpg:u8:jpg", "md:u8:md"}, rows: []string{"b jpg=b md=y", "readme jpg=a md=x"}},
		{name: "a few others", files: []string{"a.jpg=a", "b.jpg=b", "metadata.csv=x"},
			schema: []string{"jpg:u8:jpg"}, rows: []string{"a jpg=a", "b jpg=b"}, left: []string{"metadata.csv 1"}},
		{name: "a class less for them", files: []string{"a/1.jpg=a", "b/2.jpg=b", "notes.txt=x"},
			schema: []string{"cls:i64(a,b)", "jpg:u8:jpg"}, rows: []string{"a/1 cls=0 jpg=a", "b/2 cls=1 jpg=b"}, left: []string{"notes.txt 1"}},

		{name: "splits", files: []string{"train/cat/0.jpg=a", "train/dog/1.jpg=b", "val/bird/2.jpg=c", "val/cat/3.jpg=d", "val/dog/4.jpg=e"},
			schema: []string{"cls:i64(bird,cat,dog)", "jpg:u8:jpg"},
			rows:   []string{"train/cat/0 cls=1 jpg=a", "train/dog/1 cls=2 jpg=b", "val/bird/2 cls=0 jpg=c", "val/cat/3 cls=1 jpg=d", "val/dog/4 cls=2 jpg=e"}},
		{name: "splits where classes are asked for", files: []string{"Train/cat/0.jpg=a", "TEST/dog/1.jpg=b"}, options: opts("labels", "folder"),
			schema: []string{"cls:i64(cat,dog)", "jpg:u8:jpg"}, rows: []string{"TEST/dog/1 cls=1 jpg=b", "Train/cat/0 cls=0 jpg=a"}},
		{name: "splits without classes", files: []string{"train/0.jpg=a", "val/1.jpg=b"}, schema: []string{"jpg:u8:jpg"}, rows: []string{"train/0 jpg=a", "val/1 jpg=b"}},
		{name: "that are classes", files: []string{"train/0.jpg=a", "val/1.jpg=b"}, options: opts("labels", "folder"),
			schema: []string{"cls:i64(train,val)", "jpg:u8:jpg"}, rows: []string{"train/0 cls=0 jpg=a", "val/1 cls=1 jpg=b"}},
		{name: "a class called train", files: []string{"train/x/0.jpg=a", "bus/x/1.jpg=b", "car/2.jpg=c"},
			schema: []string{"cls:i64(bus,car,train)", "jpg:u8:jpg"}, rows: []string{"bus/x/1 cls=0 jpg=b", "car/2 cls=1 jpg=c", "train/x/0 cls=2 jpg=a"}},
		{name: "one split", files: []string{"train/cat/0.jpg=a", "train/dog/1.jpg=b"},
			schema: []string{"cls:i64(cat,dog)", "jpg:u8:jpg"}, rows: []string{"train/cat/0 cls=0 jpg=a", "train/dog/1 cls=1 jpg=b"}},
		{name: "samples in no class", files: []string{"a/0.jpg=a", "b/1.jpg=b", "2.jpg=c"},
			schema: []string{"jpg:u8:jpg"}, rows: []string{"2 jpg=c", "a/0 jpg=a", "b/1 jpg=b"}, left: []string{"cls 0"}},
		{name: "a folder around all", files: []string{"x/a/0.jpg=a", "x/b/1.jpg=b"},
			schema: []string{"jpg:u8:jpg"}, rows: []string{"x/a/0 jpg=a", "x/b/1 jpg=b"}, left: []string{"cls 0"}},
		{name: "a space in a class", files: []string{"golden retriever/0.jpg=a", "pug/1.jpg=b"},
			schema: []string{"cls:i64(golden retriever,pug)", "jpg:u8:jpg"}, rows: []string{"golden%20retriever/0 cls=0 jpg=a", "pug/1 cls=1 jpg=b"}},

		{name: "numbered folders", files: []string{"0000/00001.jpg=a", "0000/00002.jpg=b", "0001/00011.jpg=c"},
			schema: []string{"jpg:u8:jpg"}, rows: []string{"0000/00001 jpg=a", "0000/00002 jpg=b", "0001/00011 jpg=c"}, left: []string{"cls 0"}},
		{name: "numbers that are classes", files: []string{"0000/00001.jpg=a", "0001/00002.jpg=b"},
			schema: []string{"cls:i64(0000,0001)", "jpg:u8:jpg"}, rows: []string{"0000/00001 cls=0 jpg=a", "0001/00002 cls=1 jpg=b"}},

		{name: "the same names in classes", files: []string{"a/1.jpg=a", "a/2.jpg=b", "b/1.jpg=c"},
			schema: []string{"cls:i64(a,b)", "jpg:u8:jpg"}, rows: []string{"a/1 cls=0 jpg=a", "a/2 cls=0 jpg=b", "b/1 cls=1 jpg=c"}},
		{name: "classes, says the user", files: []string{"images/1.jpg=a", "masks/1.jpg=b"}, options: opts("labels", "folder"),
			schema: []string{"cls:i64(images,masks)", "jpg:u8:jpg"}, rows: []string{"images/1 cls=0 jpg=a", "masks/1 cls=1 jpg=b"}},
		{name: "samples, says the user", files: []string{"images/1.jpg=a", "masks/1.jpg=b"}, options: opts("labels", "none"),
			schema: []string{"jpg:u8:jpg"}, rows: []string{"images/1 jpg=a", "masks/1 jpg=b"}},
		{name: "the same names in splits", files: []string{"train/cat/1.jpg=a", "val/cat/1.jpg=b"}, schema: []string{"jpg:u8:jpg"}, rows: []string{"train/cat/1 jpg=a", "val/cat/1 jpg=b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := listing(t, folder(t, c.files...))
			src := openTable(t, table, c.options)
			equal(t, describe(src), c.schema)
			equal(t, dump(t, src), c.rows)
			if notes := strings.Join(src.(format.Noter).Notes(), "; "); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			_, strays := src.(format.Strayer).Strays()
			var left []string
			for _, l := range append(strays, src.(format.Reporter).Leftovers()...) {
				left = append(left, fmt.Sprintf("%s %d", l.Name, l.Count))
			}
			equal(t, left, c.left)
			equal(t, inParts(t, table, c.options), c.rows)
			state, err := src.(format.Stater).State()
			if err != nil {
				t.Fatal(err)
			}
			if strays == nil {
				again, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: c.options, State: state})
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				equal(t, dump(t, again), c.rows)
			}
		})
	}
}

// inParts reads a table in parts as small as can be.
func inParts(t *testing.T, table *format.Table, o format.Options) (rows []string) {
	t.Helper()
	ctx, a := context.Background(), format.OpenArgs{Options: o}
	cut, list := parts.Cutter(a, false), []*format.Table(nil)
	for i := range table.Len() {
		begins, err := cut.Next(table.NameBytes(i))
		if err != nil {
			t.Skip(err) // it is planned in one table
		}
		if begins || list == nil {
			if list != nil {
				cut.Begin()
			}
			list = append(list, &format.Table{Roots: table.Roots})
		}
		list[len(list)-1].Append(0, string(table.NameBytes(i)), table.Size(i), 1)
	}
	survey, err := parts.Survey(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range list {
		src, _, err := survey.Add(ctx, part)
		if err != nil {
			t.Fatal(err)
		}
		if src != nil {
			src.Close()
		}
	}
	state, _, err := survey.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range list {
		src, err := Format.Open(ctx, format.OpenArgs{Table: part, Options: o, State: state, First: int64(len(rows))})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, dump(t, src)...)
		src.Close()
	}
	return rows
}

// TestFoldersSideBySideAreRefused: folders that hold parts of the same samples are an error
// with commands, never classes and never samples twice.
func TestFoldersSideBySideAreRefused(t *testing.T) {
	race.Sequential(t)
	for name, files := range map[string][]string{
		"images and masks":            {"images/0.jpg", "images/1.jpg", "masks/0.png", "masks/1.png"},
		"of one type":                 {"images/0.png", "images/1.png", "masks/0.png", "masks/1.png"},
		"of one type, one is missing": {"images/0.png", "images/1.png", "images/2.png", "masks/0.png", "masks/1.png"},
		"one is missing":              {"x/0.jpg", "x/1.jpg", "x/2.jpg", "y/0.png", "y/1.png"},
		"names that say nothing":      {"x/0.png", "x/1.png", "y/0.png", "y/1.png"},
		"texts":                       {"docs/0.md", "docs/1.md", "summaries/0.txt", "summaries/1.txt"},
		"three of them":               {"a/0.jpg", "b/0.png", "c/0.json", "a/1.jpg", "b/1.png", "c/1.json"},
		"in splits":                   {"train/images/0.jpg", "train/labels/0.txt", "val/images/1.jpg", "val/labels/1.txt"},
		"around splits":               {"images/train/0.jpg", "labels/train/0.txt", "images/val/1.jpg", "labels/val/1.txt"},
		"of each patient":             {"p1/ct/0.png", "p1/seg/0.npy", "p2/ct/0.png", "p2/seg/0.npy", "p3/ct/7.png", "p3/seg/7.npy"},
		"beside a README":             {"images/0.jpg", "masks/0.png", "README.md"},
	} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, folder(t, files...))})
		if err == nil {
			src.Close()
			t.Errorf("%s: opened with %q", name, describe(src))
			continue
		}
		if !strings.Contains(err.Error(), "hold files of the same names") {
			t.Errorf("%s: %v", name, err)
		}
		if doubt, ok := errors.AsType[*format.Ambiguous](err); ok { // each way works
			for _, w := range doubt.Ways {
				openTable(t, listing(t, folder(t, files...)), w.Options)
			}
		} else {
			t.Errorf("%s: no way to read them: %v", name, err)
		}
	}
	_, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, folder(t, "a:b/0.jpg", "c/0.txt"))})
	if hints := strings.Join(shardify.Hints(err), "\n"); !strings.Contains(hints, "convert each by itself: shardify convert ") {
		t.Errorf("a folder that no pair can name: %v\n%s", err, hints)
	}
	a := folder(t, "images/0.jpg", "masks/0.png")
	if _, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, a+"/images", a+"/masks")}); err == nil {
		t.Error("two INPUT folders were taken for samples twice")
	}
	a = folder(t, "run1/0.jpg", "run2/0.jpg")
	openTable(t, listing(t, a+"/run1", a+"/run2"), nil)
}

// TestPairsOfTheHint reads folders by the settings that the error proposes first.
func TestPairsOfTheHint(t *testing.T) {
	for name, c := range map[string]struct{ files, rows []string }{
		"dots":                    {[]string{"images/0.jpg=i", "images/1.5.jpg=j", "masks/0.png=m", "masks/1.5.png=n"}, []string{"0 image=i mask=m", "1%2E5 image=j mask=n"}},
		"a suffix":                {[]string{"images/0.jpg=i", "images/1.jpg=j", "masks/0_mask.png=m", "masks/1_mask.png=n"}, []string{"0 image=i mask=m", "1 image=j mask=n"}},
		"YOLO":                    {[]string{"images/train/0.jpg=i", "images/val/1.jpg=j", "labels/train/0.txt=m", "labels/val/1.txt=n", "data.yaml"}, []string{"train/0 image=i label=m", "val/1 image=j label=n"}},
		"YOLO, splits":            {[]string{"train/images/0.jpg=i", "val/images/1.jpg=j", "train/labels/0.txt=m", "val/labels/1.txt=n"}, []string{"train/0 image=i label=m", "val/1 image=j label=n"}},
		"KITTI":                   {[]string{"image_2/0.png=i", "label_2/0.txt=m", "velodyne/0.bin=v"}, []string{"0 image_2=i label_2=m velodyne=v"}},
		"KITTI, with calibration": {[]string{"calib/0.txt=c", "image_2/0.png=i", "label_2/0.txt=m", "velodyne/0.bin=v"}, []string{"0 calib=c image_2=i label_2=m velodyne=v"}},
		"KITTI, with test":        {[]string{"training/image_2/0.png=i", "training/label_2/0.txt=m", "training/velodyne/0.bin=v", "testing/image_2/1.png=j", "testing/velodyne/1.bin=w"}, []string{"training/0 image_2=i label_2=m velodyne=v"}},
		"nnU-Net": {[]string{"dataset.json", "imagesTr/a_1_0000.nii.gz=i", "imagesTr/a_1_0001.nii.gz=j", "imagesTs/a_2_0000.nii.gz=x", "imagesTs/a_2_0001.nii.gz=y", "labelsTr/a_1.nii.gz=m"},
			[]string{"a_1 image_0000=i image_0001=j label=m"}},
		"nnU-Net, one channel": {[]string{"imagesTr/a_1_0000.nii.gz=i", "labelsTr/a_1.nii.gz=m"}, []string{"a_1 image=i label=m"}},
		"VOC":                  {[]string{"Annotations/2007_1.xml=a", "ImageSets/Main/train.txt=x", "JPEGImages/2007_1.jpg=i"}, []string{"2007_1 annotation=a image=i"}},
		"VOC, few segmented": {[]string{"Annotations/1.xml=a", "Annotations/2.xml=b", "Annotations/3.xml=c", "Annotations/4.xml=d", "JPEGImages/1.jpg=i", "JPEGImages/2.jpg=j", "JPEGImages/3.jpg=k", "JPEGImages/4.jpg=l", "SegmentationClass/3.png=s"},
			[]string{"1 annotation=a image=i", "2 annotation=b image=j", "3 annotation=c image=k", "4 annotation=d image=l"}},
		"one is missing": {[]string{"images/0.jpg=i", "images/1.jpg=j", "masks/1.png=m"}, []string{"1 image=j mask=m"}},
	} {
		table := listing(t, folder(t, c.files...))
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
		doubt, ok := errors.AsType[*format.Ambiguous](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		o := doubt.Ways[0].Options
		if o[optPair] == "" {
			t.Errorf("%s: %v", name, o)
			continue
		}
		equal(t, dump(t, openTable(t, table, o)), c.rows)
	}
}

// TestPicturesThatArePartsByTheirNames: 1.png and 1_mask.png in one folder are an error with a command for each reading.
func TestPicturesThatArePartsByTheirNames(t *testing.T) {
	race.Sequential(t)
	many, manyRows := []string{"notes.csv"}, []string(nil)
	for i := range 60 {
		many = append(many, fmt.Sprintf("%02d.jpg=i%d", i, i), fmt.Sprintf("%02d_mask.png=m", i))
		manyRows = append(manyRows, fmt.Sprintf("%02d image=i%d mask=m", i, i))
	}
	for name, c := range map[string]struct {
		files, rows []string // rows by the first command; nil: nothing is refused
		ways        int
	}{
		"masks":            {[]string{"0.jpg=i", "0_mask.png=m", "1.jpg=j", "1_mask.png=n"}, []string{"0 image=i mask=m", "1 image=j mask=n"}, 2},
		"of one type":      {[]string{"0.png=i", "0-seg.png=m"}, []string{"0 image=i seg=m"}, 2},
		"few masks":        {[]string{"0.png=i", "1.png=j", "2.png=k", "2_mask.png=m"}, []string{"2 image=k mask=m"}, 2},
		"beside a README":  {[]string{"0.png=i", "0_mask.png=m", "README.md=x"}, []string{"0 image=i mask=m"}, 2},
		"beside a table":   {many, manyRows, 2},
		"no plain ones":    {[]string{"0_left.png=i", "0_right.png=m"}, []string{"0 left=i right=m"}, 2},
		"in classes":       {[]string{"a/0.png=i", "a/0_mask.png=m", "b/1.png=j", "b/1_mask.png=n"}, []string{"a/0 cls=0 image=i mask=m", "b/1 cls=1 image=j mask=n"}, 3},
		"in splits":        {[]string{"train/0.png=i", "train/0_mask.png=m", "val/1.png=j", "val/1_mask.png=n"}, []string{"train/0 image=i mask=m", "val/1 image=j mask=n"}, 2},
		"masks alone":      {files: []string{"0_mask.png", "1_mask.png"}},
		"of others":        {files: []string{"0.png", "1.png", "7_mask.png", "8_mask.png"}},
		"other words":      {files: []string{"0.png", "0_old.png"}},
		"numbers":          {files: []string{"0.png", "0_1.png"}},
		"no pictures":      {files: []string{"0.txt", "0_text.txt"}},
		"with other files": {files: []string{"0.png", "0.json", "0_mask.png", "0_mask.json"}},
	} {
		table := listing(t, folder(t, c.files...))
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
		if err == nil {
			src.Close()
		}
		survey, e := parts.Survey(format.OpenArgs{})
		if e == nil {
			_, _, e = survey.Add(context.Background(), table)
		}
		if e == nil {
			_, _, e = survey.Finish()
		}
		if (err == nil) != (c.rows == nil) || fmt.Sprint(e) != fmt.Sprint(err) {
			t.Errorf("%s: %v, and as a part %v", name, err, e)
			continue
		}
		if c.rows == nil {
			continue
		}
		doubt, ok := errors.AsType[*format.Ambiguous](err)
		if !ok || len(doubt.Ways) != c.ways {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, w := range doubt.Ways {
			src := openTable(t, table, w.Options)
			if i == 0 {
				equal(t, dump(t, src), c.rows)
			} else if got := len(dump(t, src)); got < len(c.files)-1 {
				t.Errorf("%s: %d samples by %v", name, got, w.Options)
			}
		}
	}
}

// TestClassesAreProposedFirst where names of folders do not speak for parts of samples.
func TestClassesAreProposedFirst(t *testing.T) {
	for _, c := range []struct {
		files []string
		first string
	}{
		{[]string{"Cat/0.jpg", "Cat/1.jpg", "Dog/0.jpg", "Dog/1.jpg"}, "classes of the folders"},
		{[]string{"test/cat/0.jpg", "test/owl/0.jpg", "train/cat/0.jpg", "train/owl/0.jpg"}, "classes of the folders"},
		{[]string{"images/0.jpg", "images/1.jpg", "masks/0.jpg", "masks/1.jpg"}, "samples of a file in each folder"},
		{[]string{"clean/0.png", "x/0.png"}, "samples of a file in each folder"},
	} {
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, folder(t, c.files...))})
		doubt, ok := errors.AsType[*format.Ambiguous](err)
		if !ok || doubt.Ways[0].Makes != c.first {
			t.Errorf("%q: %v", c.files, err)
		}
	}
}

// TestMixedSplitsAreRefused: some folders are splits, others are not.
func TestMixedSplitsAreRefused(t *testing.T) {
	_, err := Format.Open(context.Background(), format.OpenArgs{Table: listing(t, folder(t, "train/1.jpg", "val/2.jpg", "extra/3.jpg"))})
	var doubt *format.Ambiguous
	if !errors.As(err, &doubt) || !strings.Contains(err.Error(), "--labels folder") || !strings.Contains(err.Error(), "--split-from dirs") {
		t.Error(err)
	}
}

// TestCuresWork: what an error about missing files offers does work.
func TestCuresWork(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  []string
		never string
	}{
		{[]string{"1.jpg", "2.jpg", "3.txt", "4.txt"}, []string{"--columns jpg --missing drop", "--missing fill"}, "leaves them out"},
		{[]string{"1.jpg", "1.txt", "2.jpg"}, []string{"--missing drop leaves them out"}, "--columns"},
		{[]string{"St. Bernard.jpg", "St. Elmo.jpg", "x.jpg"}, []string{"--stem last"}, "leaves them out"},
	} {
		table := listing(t, folder(t, c.files...))
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
		if err == nil || strings.Contains(err.Error(), c.never) {
			t.Errorf("%q: %v", c.files, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: no %q in %v", c.files, w, err)
			}
			var o format.Options
			var columns []string
			words := strings.Fields(w)
			for i := 0; i+1 < len(words); i += 2 {
				if words[i] == "--columns" {
					columns = []string{words[i+1]}
				} else if strings.HasPrefix(words[i], "--") {
					o = opts(words[i][2:], words[i+1])
				}
			}
			openTable(t, table, o, columns...)
		}
	}
}
