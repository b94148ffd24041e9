package pairs

import (
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
)

// table is one of files below an input.
func table(root string, names ...string) *format.Table {
	t := &format.Table{Roots: []string{root}}
	for _, n := range names {
		t.Append(0, root+"/"+n, 1, 1)
	}
	return t
}

// TestEnds: files that are parts of samples by the ends of their names are refused with the --pair that joins them,
// and others are not.
func TestEnds(t *testing.T) {
	each := func(form string, ids ...string) (out []string) {
		for _, id := range ids {
			for _, word := range strings.Fields(form) {
				out = append(out, strings.ReplaceAll(word, "*", id))
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		files []string
		pair  string // "": nothing is refused
		drop  bool
	}{
		"masks beside images": {each("c*.nii.gz c*_seg.nii.gz", "1", "2"), "image=.,seg=.:_seg", false},
		"one case":            {each("c*.nii c*_mask.nii", "1"), "image=.,mask=.:_mask", false},
		"few masks":           {append(each("c*.nii", "1", "2", "3", "4", "5"), "c2_seg.nii"), "image=.,seg=.:_seg", true},
		"BraTS":               {each("B_*/B_*_flair.nii.gz B_*/B_*_t1.nii.gz B_*/B_*_t1ce.nii.gz B_*/B_*_seg.nii.gz", "01", "02"), "flair=.:_flair,seg=.:_seg,t1=.:_t1,t1ce=.:_t1ce", false},
		"hyphens":             {each("B-G-*/B-G-*-t1n.nii.gz B-G-*/B-G-*-seg.nii.gz", "01", "02"), "seg=.:-seg,t1n=.:-t1n", false},
		"folders":             {each("case_*/imaging.nii.gz case_*/segmentation.nii.gz", "01", "02"), "imaging=.:imaging,segmentation=.:segmentation", false},
		"splits":              {each("train/scan*.nii val/scan*.nii", "1", "2"), "", false},
		"parts in splits":     {each("*/images.nii */labels.nii", "train", "val"), "images=.:images,labels=.:labels", false},
		"other folders":       {[]string{"a/x.nii", "b/y.nii", "b/z.nii"}, "", false},
		"BIDS":                {each("sub-*/anat/sub-*_T1w.nii.gz sub-*/func/sub-*_task-rest_bold.nii.gz", "01", "02"), "T1w=anat:_T1w,bold=func:_task-rest_bold", false},
		"sessions and runs": {each("sub-*/ses-a/func/sub-*_ses-a_run-1_bold.nii sub-*/ses-a/func/sub-*_ses-a_run-2_bold.nii", "01", "02", "03"),
			"bold=func:_run-1_bold,run_2_bold=func:_run-2_bold", false},
		"one kind of BIDS":  {each("sub-*/anat/sub-*_T1w.nii.gz", "01", "02"), "", false},
		"channels":          {each("c*_0000.nii c*_0001.nii", "1", "2"), "", false},
		"numbers":           {each("left_*.nii right_*.nii", "001", "002", "003"), "", false},
		"words of one case": {each("brain_*.nii", "a", "b", "c"), "", false},
		"other words":       {each("*_axial.nii", "a", "b", "c"), "", false},
		"words of few":      {append(each("c*_x.nii", "1", "2", "3", "4", "5"), "c2_y.nii"), "", false},
		"npy":               {each("c*.npy c*_mask.npy", "1", "2"), "image=.,mask=.:_mask", false},
		"npy, other words":  {each("c*_x.npy c*_y.npy", "1", "2"), "", false},
		"no form":           {each("c*.mrc c*_mask.mrc", "1", "2"), "", false},
	} {
		a := &format.OpenArgs{Table: table("in", c.files...), Options: format.Options{}}
		err := Refuse(a, false, strings.HasSuffix(c.files[0], ".npy"))
		if c.pair == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		doubt, ok := err.(*format.Ambiguous)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		way := doubt.Ways[0]
		if way.Options["pair"] != c.pair || (way.Options["missing"] == "drop") != c.drop || len(way.Parse) != strings.Count(c.pair, "=") {
			t.Errorf("%s: %v, --parse %v; want %s", name, way.Options, way.Parse, c.pair)
		}
		// The pairs take each file, and as many of each sample as there are ends.
		list, err := Parse(c.pair)
		if err != nil {
			t.Fatal(err)
		}
		samples := map[string]int{}
		for _, f := range c.files {
			p, key, _ := find(list, []byte(f), labels.First)
			if p == nil {
				t.Fatalf("%s: no pair has %s", name, f)
			}
			samples[string(key)]++
		}
		for key, n := range samples {
			if n != len(list) && !c.drop {
				t.Errorf("%s: sample %s has %d files of %d", name, key, n, len(list))
			}
		}
		if err := Refuse(a, true, strings.HasSuffix(c.files[0], ".npy")); err == nil || err.(*format.Ambiguous).Ways[0].Options["pair"] != c.pair {
			t.Errorf("%s, in folders of classes: %v", name, err)
		}
		a.Options["labels"] = labels.Never
		if err := Refuse(a, false, false); err != nil {
			t.Errorf("%s, --labels none: %v", name, err)
		}
	}
}
