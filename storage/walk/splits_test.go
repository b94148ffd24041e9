package walk

import "testing"

// TestNamesOfSplits: names of splits may have a year.
func TestNamesOfSplits(t *testing.T) {
	for name, want := range map[string]bool{
		"train": true, "Val": true, "train2017": true, "val_2014": true, "TEST2015": true, "train_1999": true,
		"2017": false, "train20177": false, "train1017": false, "train 2017": false, "bus2017": false, "train-2017": false, "train20x7": false, "trainé017": false, "017": false, "": false,
	} {
		if IsSplit(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for _, c := range []struct {
		folders []string
		want    bool
	}{{[]string{"train2017", "val2017", "annotations"}, true}, {[]string{"train2017", "val2017"}, false}, {[]string{"train2017", "cat"}, false}} {
		if MixedSplits(c.folders) != c.want {
			t.Errorf("%v: %v", c.folders, !c.want)
		}
	}
}
