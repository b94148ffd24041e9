package walk

import (
	"iter"
	"strings"
)

// splits are folder names that part a data set and do not classify it; true for those
// that a model learns from.
var splits = map[string]bool{
	"train": true, "training": true,
	"val": false, "valid": false, "validation": false, "dev": false, "test": false, "testing": false, "eval": false,
}

// IsSplit reports whether a folder is named like a split, in whatever case, also with a year as
// those of COCO: train2017.
func IsSplit(folder string) bool {
	_, ok := learns(folder)
	return ok
}

// learns reports whether a folder is named like a split to learn from; ok: like any split.
func learns(folder string) (learn, ok bool) {
	if learn, ok = splits[strings.ToLower(folder)]; ok {
		return learn, ok
	}
	at := len(folder) - len("2017")
	if at < 0 || folder[at:] < "1990" || folder[at:] > "2099" || strings.Trim(folder[at:], "0123456789") != "" {
		return false, false
	}
	learn, ok = splits[strings.ToLower(strings.TrimSuffix(folder[:at], "_"))]
	return learn, ok
}

// OnlySplits reports whether all folders are named like splits.
func OnlySplits(folders iter.Seq[string]) bool {
	for f := range folders {
		if !IsSplit(f) {
			return false
		}
	}
	return true
}

// MixedSplits reports folders of which some are splits, one to learn from and one to test
// with, and others are not.
func MixedSplits(folders []string) bool {
	learn, test, other := false, false, false
	for _, f := range folders {
		to, ok := learns(f)
		learn, test, other = learn || ok && to, test || ok && !to, other || !ok
	}
	return learn && test && other
}
