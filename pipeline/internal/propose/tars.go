package propose

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/walk"
)

// mostTars bounds the tars whose members are looked at by their names.
const mostTars = 64

var (
	// aTar is the name of a tar: what it holds, and its number.
	aTar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*?)([-_.]?[0-9]+)?\.tar$`) })
	// partName is a name of what is a part of samples, and no class.
	partName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(images?|imgs?|rgb|jpegimages|masks?|labels?|annotations?|segmentations?|depths?|gt|targets?|captions?|texts?|boxes|bboxes)$`)
	})
)

// Tars are tars side by side that hold parts of the same samples, by their names: images.tar and masks.tar,
// or images-000.tar, images-001.tar and masks-000.tar. Whether they do shows when they are opened.
func Tars(t *format.Table) *Proposal {
	var kinds, pairs []string
	parts := false
	for i := range t.Len() {
		m := aTar().FindStringSubmatch(path.Base(t.Name(i)))
		if m == nil || t.Len() > mostTars || walk.IsSplit(m[1]) {
			return nil
		}
		if slices.Contains(kinds, m[1]) {
			continue
		}
		kinds = append(kinds, m[1])
		name, folder := strings.ToLower(m[1]), path.Base(t.Name(i))
		parts = parts || partName().MatchString(name)
		if m[2] != "" {
			folder = m[1] + strings.TrimRight(m[2], "0123456789") + "[0-9]*.tar"
		}
		if one, ok := strings.CutSuffix(name, "s"); ok {
			name = strings.TrimSuffix(one, "xe") + map[bool]string{true: "x"}[strings.HasSuffix(one, "xe")]
		}
		pairs = append(pairs, strings.ReplaceAll(name, "-", "_")+"="+folder)
	}
	if len(kinds) < 2 || !parts {
		return nil
	}
	return &Proposal{Options: true, Settings: format.Options{"pair": strings.Join(pairs, ",")},
		Why: "the tars " + some(kinds) + " hold files of the same names: parts of the same samples"}
}
