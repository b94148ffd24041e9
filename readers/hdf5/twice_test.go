package hdf5

import (
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestNoSampleCountsTwice: what one input takes from another is not read from both.
func TestNoSampleCountsTwice(t *testing.T) {
	for _, c := range []struct {
		files, object, external, want string
		samples                       int64
	}{
		{"twice_virtual.h5", "", "", "", 8},
		{"twice_0.h5 twice_1.h5", "", "", "", 8},
		{"twice_0.h5 twice_virtual.h5", "", "", "twice_virtual.h5: /data is a virtual data set of /data in testdata/twice_0.h5, which is an input too", 0},
		{"twice_virtual.h5 twice_1.h5", "", "", "in testdata/twice_1.h5", 0},
		{"twice_0.h5 twice_1.h5 twice_links.h5", "", "", "twice_links.h5: /parts/data_0 is a link to /data in testdata/twice_0.h5", 0},
		{"twice_links.h5 twice_0.h5", "", "true", "/parts/data_0 is a link to /data", 0},
		{"twice_links.h5", "/parts", "true", "", 4},
	} {
		o := format.Options{"object": c.object}
		if c.external != "" {
			o["external"] = c.external
		}
		s, err := load(strings.Fields(c.files), nil, o)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.files, err)
			}
			continue
		}
		if err != nil || s.samples != c.samples {
			t.Errorf("%s: %v", c.files, err)
			continue
		}
	}
}
