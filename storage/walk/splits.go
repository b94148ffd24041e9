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

// IsSplit reports whether a folder is named like a split, in whatever case.
func IsSplit(folder string) bool {
	_, ok := splits[strings.ToLower(folder)]
	return ok
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
		to, ok := splits[strings.ToLower(f)]
		learn, test, other = learn || ok && to, test || ok && !to, other || !ok
	}
	return learn && test && other
}
