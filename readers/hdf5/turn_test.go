package hdf5

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Arrays of features in rows are read along another axis, in every layout.
func TestSamplesAlongAnotherAxis(t *testing.T) {
	for _, axis := range []string{"1", "-1"} {
		columns := []string{"plain", "big", "gzip", "stored", "compact", "label", "empty"}
		if axis == "1" {
			columns = append(columns, "volume", "wide")
		}
		s := mustLoad(t, []string{"features_first.h5"}, columns, format.Options{"axis": axis})
		if s.samples != 20 {
			t.Fatalf("--axis %s: %d samples", axis, s.samples)
		}
		for _, name := range columns {
			if name != "empty" {
				counts(t, s, name, 20)
			}
		}
		for i, v := range values(s.cols["empty"]) {
			if want := map[bool]float64{true: 4, false: 9}[i/3 >= 6 && i/3 < 12 && i%3 < 2]; v != want {
				t.Errorf("value %d where chunks were never written is %v, want %v", i, v, want)
			}
		}
		if axis == "1" && fmt.Sprint(s.cols["volume"].Shape, s.cols["gzip"].Shape) != "[4 5] [3]" {
			t.Errorf("shapes %v %v", s.cols["volume"].Shape, s.cols["gzip"].Shape)
		}
	}
	if _, err := load([]string{"features_first.h5"}, nil, format.Options{"axis": "2"}); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "axes 0 to 1") {
		t.Errorf("an axis that is not there: %v", err)
	}
	if _, err := load([]string{"features_first.h5"}, nil, format.Options{"axis": "x"}); !errors.Is(err, shardify.ErrUsage) {
		t.Errorf("--axis x: %v", err)
	}
}

// MATLAB's arrays come as MATLAB shows them: rows of tables and the last axis of images
// are samples, characters are text.
func TestMATLABFilesAsMATLABShowsThem(t *testing.T) {
	s := mustLoad(t, []string{"table.mat"}, nil, nil)
	if s.samples != 20 || len(s.left) != 0 {
		t.Fatalf("%d samples, left out %v", s.samples, s.left)
	}
	for _, name := range []string{"X", "Y", "w"} {
		counts(t, s, name, 20)
	}
	if x := s.cols["images"]; fmt.Sprint(x.Shape) != "[4 2 3]" {
		t.Errorf("images of %v", x.Shape)
	} else {
		for i, v := range x.Data {
			if v != byte(i) {
				t.Errorf("byte %d of the images is %d", i, v)
				break
			}
		}
	}
	if fmt.Sprint(s.cols["Y"].Shape, s.cols["rate"].Shape) != "[] []" || slices.Max(values(s.cols["rate"])) != 2.5 {
		t.Errorf("Y %v, rate %v", s.cols["Y"].Shape, s.cols["rate"].Shape)
	}
	for i, v := range textsOf(s.cols["kinds"]) {
		if v != fmt.Sprint(i) {
			t.Errorf("row %d of characters is %q", i, v)
		}
	}
	if v := textsOf(s.cols["name"])[19]; v != "Grüße \U0001f600" {
		t.Errorf("a text is %q", v)
	}
	one := mustLoad(t, []string{"table.mat"}, []string{"images"}, nil)
	if fmt.Sprint(one.samples, one.cols["images"].Shape) != "20 [4 2 3]" {
		t.Errorf("images alone: %d of %v", one.samples, one.cols["images"].Shape)
	}
	stored := mustLoad(t, []string{"table.mat"}, []string{"X", "Y"}, format.Options{"axis": "-1"})
	counts(t, stored, "X", 20)
}
