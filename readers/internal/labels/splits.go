package labels

import (
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/storage"
)

// splits reports whether two tables are one, of which each folder has a file: train/metadata.csv and
// test/metadata.csv.
func (s *spec) splits(o *spec) bool {
	return s.in == "" && o.in == "" && s.file != o.file && path.Base(s.file) == path.Base(o.file) && s.on == o.on && slices.Equal(s.also, o.also) && s.rows == o.rows && s.counter == o.counter && slices.Equal(s.options, o.options)
}

// ofSplits says of files of one name in several folders that each names the files of its folder.
func ofSplits(list []spec, roots []string) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].splits(&list[0]) {
			n++
		}
		if n > 1 || list[0].also != nil && list[0].in == "" {
			below(list[:n], roots)
		}
		list = list[n:]
	}
}

// below says what folders tables are in: below one of the roots, or else below the deepest folder that
// holds all of them.
func below(list []spec, roots []string) {
	common := path.Dir(list[0].file)
	for _, s := range list {
		for common != "." && common != "/" && !strings.HasPrefix(s.file, common+"/") {
			common = path.Dir(common)
		}
	}
	for i := range list {
		s, root := &list[i], common
		for _, r := range roots {
			if r = storage.Clean(r); strings.HasPrefix(s.file, r+"/") {
				root = r
			}
		}
		s.in = "./" + strings.TrimPrefix(strings.TrimPrefix(path.Dir(s.file), root), "/")
	}
}
