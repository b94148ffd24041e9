package propose

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// source has a schema, and abilities by what it embeds.
type source struct {
	shardify.Source
	schema []shardify.Field
}

func (s source) Schema() []shardify.Field { return s.schema }

type files struct{ source }

func (files) Owner(uint32, int64) uint32 { return 0 }

type arrays struct{ source }

func (arrays) ByFile() bool { return false }

// TestProposals: what names of files and fields say, and what they do not.
func TestProposals(t *testing.T) {
	jpg := shardify.Field{Name: "jpg", DType: shardify.U8, Levels: 1, Media: "jpg"}
	cls := shardify.Field{Name: "cls", DType: shardify.I64}
	event := shardify.Field{Name: "eventNumber", DType: shardify.I64}
	fields := func(f ...shardify.Field) source { return source{schema: f} }
	for _, c := range []struct {
		src   shardify.Source
		names string
		want  string
	}{
		{files{fields(jpg)}, "cat.0.jpg cat.1.jpg dog.0.jpg dog.1.jpg", `--define 'cls=regex(stem(key), "^[a-z]+")' --encode cls`},
		{files{fields(jpg)}, "x/Bombay_1.jpg x/Bombay_2.jpg y/great_pyrenees_1.jpg y/great_pyrenees_22.jpg", `--define 'cls=regex(stem(key), "^[A-Za-z_-]*[A-Za-z]")' --encode cls`},
		{files{fields(jpg)}, "Cat1.jpg Cat2.jpg Dog1.jpg Dog2.jpg", `--define 'cls=regex(stem(key), "^[A-Za-z]+")' --encode cls`},
		{files{fields(jpg)}, "cat.0.jpg cat.1.jpg dog.0.jpg", ""},                        // one dog
		{files{fields(jpg)}, "cat.0.jpg cat.1.jpg dog.0.jpg dog.1.jpg x.jpg", ""},        // a name without number
		{files{fields(jpg)}, "train_0.jpg train_1.jpg test_0.jpg test_1.jpg", ""},        // splits
		{files{fields(jpg)}, "IMG_0001.jpg IMG_0002.jpg", ""},                            // one word
		{files{fields(jpg, cls)}, "a/cat.0.jpg a/cat.1.jpg b/dog.0.jpg b/dog.1.jpg", ""}, // folders are classes
		{files{fields(cls)}, "cat.0.txt cat.1.txt dog.0.txt dog.1.txt", ""},
		{fields(jpg), "cat.0.tar cat.1.tar dog.0.tar dog.1.tar", ""}, // names of no samples
		{files{fields(jpg, cls)}, "cat/train/1.jpg cat/Test/2.jpg dog/train/1.jpg", `--split 'test=path(1) == "Test"; train=path(1) == "train"'`},
		{files{fields(jpg, cls)}, "cat/train/1.jpg dog/train/1.jpg", ""},
		{files{fields(jpg, cls)}, "cat/train/1.jpg cat/test/1.jpg dog/x/1.jpg", ""},
		{files{fields(jpg)}, "cat/train/1.jpg cat/test/1.jpg", ""},
		{files{fields(jpg)}, "s1/anat/s1_T1w.nii.gz s1/anat/s1_T2w.nii.gz s2/anat/s2_T1w.nii.gz s2/anat/s2_T2w.nii.gz", "--pair T1w=.:_T1w,T2w=.:_T2w"},
		{files{fields(jpg)}, "1_image.jpg 1_mask.png 2_image.jpg 2_mask.png 3_image.jpg", "--pair image=.:_image,mask=.:_mask"},
		{files{fields(jpg)}, "1_cat.jpg 2_cat.jpg 3_dog.jpg 4_dog.jpg", ""},      // classes
		{files{fields(jpg)}, "1_a.jpg 1_b.jpg", ""},                              // one sample
		{files{fields(jpg)}, "1_a.jpg 1_b.jpg 2_a.png 2_b.jpg", ""},              // types differ
		{files{fields(jpg, jpg)}, "1_a.jpg 1_b.jpg 2_a.jpg 2_b.jpg 1_a.txt", ""}, // samples of several files
		{arrays{fields(cls)}, "a/1.npy a/2.npy b/1.npy b/2.npy", "--sample file"},
		{arrays{fields(cls)}, "train/1.npy train/2.npy test/1.npy test/2.npy", ""},
		{arrays{fields(cls)}, "a/1.npy b/1.npy", ""},
		{arrays{fields(cls)}, "1.npy 2.npy a/1.npy b/2.npy", ""},
		{fields(event), "a.root", "--split 'val=eventNumber % 5 == 0; train=rest'"},
		{fields(shardify.Field{Name: "event", DType: shardify.F32}), "a.root", ""},
		{fields(shardify.Field{Name: "event", DType: shardify.I32, Levels: 1}), "a.root", ""},
	} {
		table := &format.Table{Roots: []string{"in"}}
		for _, n := range strings.Fields(c.names) {
			table.Append(0, n, 1, 1)
		}
		var have []string
		for _, p := range For(c.src, table) {
			have = append(have, p.Flags())
			if p.Why == "" {
				t.Errorf("%s: no reason", c.names)
			}
		}
		if got := strings.Join(have, "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.names, got, c.want)
		}
	}
}
