package splits

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
)

func TestSplitTextsAreReadOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"train=0.8,val=0.2":        "train=0.8,val=0.2",
		"train=0.8, val=0.2":       "train=0.8,val=0.2",
		"all=1.0":                  "all=1",
		"a=rest,b=10":              "a=rest,b=10",
		"a=10,b=20":                "a=10,b=20",
		"a=0.3,b=rest":             "a=0.3,b=rest",
		"a=0.1,b=0.2,c=0.3,d=0.4":  "a=0.1,b=0.2,c=0.3,d=0.4",
		"a = x % 5 == 0 ;b=rest;":  "a=x % 5 == 0; b=rest",
		"a=t == 'x;y,z=1' || !u":   "a=t == 'x;y,z=1' || !u",
		"a=rest; b=x in [1, 2]":    "a=rest; b=x in [1, 2]",
		"a=x; b=y":                 "a=x; b=y",
		"a=f(x, y == 1) > 2":       "a=f(x, y == 1) > 2",
		"a=x > 1; b=0.5":           "!not both",
		"a=0.5, b=x > 1":           "!not both",
		"a=x > 1, b=x > 2":         "!a semicolon is between",
		"a=x > 1;; b=rest":         "!want NAME=CONDITION",
		"x > 1; b=rest":            "!want NAME=CONDITION",
		"a=; b=rest":               "!want NAME=CONDITION",
		"a=x > 1; b=rest; c=rest":  "!only one",
		"a/b=x > 1; c=rest":        "!split name",
		"":                         "!NAME=SHARE",
		"train":                    "!NAME=SHARE",
		"train=0.8,val=0.1":        "!add up to 0.9",
		"train=0.8,train=0.2":      "!is named twice",
		"Train=0.8,train=0.2":      "!is named twice",
		"train=0.8,val=20":         "!not both",
		"train=rest,val=rest":      "!only one",
		"train=1.0,val=rest":       "!leave no rest",
		"train=-1,val=2":           "!a share between",
		"train=NaN,val=0.5":        "!a share between",
		"../x=0.5,val=0.5":         "!split name",
		"0001=0.5,val=0.5":         "!split name",
		"shard-1=0.5,val=0.5":      "!split name",
		".shardify=0.5,val=0.5":    "!split name",
		"shardify.json=0.5,b=0.5":  "!split name",
		"train=0,val=1":            "!no samples",
		"a=0.5,b=0.25,c=0.2500001": "!add up",
	} {
		s, err := Parse(text)
		switch {
		case strings.HasPrefix(want, "!"):
			if err == nil || !strings.Contains(err.Error(), want[1:]) {
				t.Errorf("%q: %v, want %q", text, err, want[1:])
			}
		case err != nil:
			t.Errorf("%q: %v", text, err)
		case s.String() != want:
			t.Errorf("%q is %q", text, s)
		}
	}
}

func TestSplitsThatExistAreKept(t *testing.T) {
	table := &format.Table{Roots: []string{"in"}}
	for _, n := range []string{"train/a/1.jpg", "train/b/2.jpg", "val/a/3.jpg"} {
		table.Append(0, n, 1, 1)
	}
	dirs, err := ParseExisting("dirs")
	if err != nil {
		t.Fatal(err)
	}
	want := []InputPart{{2, 0, 0}, {3, 0, 1}}
	if err := dirs.ByInput(table); err != nil || !slices.Equal(dirs.Inputs, want) || dirs.String() != "dirs" || dirs.Parts[1].Name != "val" {
		t.Fatalf("%+v %v", dirs, err)
	}
	apart := &format.Table{Roots: []string{"data/train", "data/val"}} // given one by one
	apart.Append(0, "a/1.jpg", 1, 1)
	apart.Append(0, "b/2.jpg", 1, 1)
	apart.Append(1, "a/3.jpg", 1, 1)
	if err := dirs.ByInput(apart); err != nil || !slices.Equal(dirs.Inputs, want) || dirs.Parts[0].Name != "train" {
		t.Fatalf("%+v %v", dirs, err)
	}
	for text, want := range map[string]string{
		"train=train,val=val":     "",
		"train=train/*,val=val/*": "",
		"train=*/b,val=*/a":       "",
		"train=train/a,val=val":   "1 inputs belong to no split: train/b/2.jpg",
		"train=*,val=val":         "belong to several splits",
		"a=1.jpg,b=2.jpg,c=3.*":   "",
		"a=*.jpg,b=x":             "no input matches",
	} {
		s, err := ParseExisting(text)
		if err != nil {
			t.Fatal(err)
		}
		err = s.ByInput(table)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestStratifyRefusesNumbersWhereverTheyStand(t *testing.T) {
	for _, text := range []string{"train=rest,val=10", "val=10,train=rest"} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Stratify = "y"
		if err := s.Settled(); err == nil || !strings.Contains(err.Error(), "shares instead of numbers") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAColumnIsNoGlob(t *testing.T) {
	for text, want := range map[string]string{"column=fold": "fold", "column=a b": "a b", "column=fold*": "", "column=a/b": "", "column=a,val=b": "", "columns=a": ""} {
		s, err := ParseExisting(text)
		if err != nil || s.Column != want || s.String() != text || s.ByValue() != (want != "") || s.Named() == (want != "") {
			t.Errorf("%s: %+v %v", text, s, err)
		}
	}
}
