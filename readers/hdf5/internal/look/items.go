package look

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// A group may hold a data set for each sample, beside it arrays with a row for each:
//
//	images/img_0000, images/img_0001, ...    masks/img_0000, ...    labels [N]
//
// With --sample dataset the names are the samples' keys; groups with the same names are
// further fields, and arrays of N rows go by the place of the name. A data set that holds
// an encoded image, as a scalar of opaque bytes or a list of them, is bytes with a media
// type.

// itemSet is data sets of one type in one group.
type itemSet struct {
	parent string
	kind   string
	list   []int // of the tree's objects, in the order of natural
	stems  map[string]int
	bare   int // names without a number
}

// itemSets lists the sets of two data sets or more, the largest first.
func itemSets(t *tree.Tree) []*itemSet {
	type key struct{ parent, kind string }
	sets := map[key]*itemSet{}
	var all []*itemSet
	for i := range t.Objects {
		o := &t.Objects[i]
		kind := o.ItemType()
		if kind == "" {
			continue
		}
		k := key{naming.Group(o.Path), kind}
		s := sets[k]
		if s == nil {
			s = &itemSet{parent: k.parent, kind: kind, stems: map[string]int{}}
			sets[k] = s
			all = append(all, s)
		}
		s.list = append(s.list, i)
		if stem, ok := naming.Stem(path.Base(o.Path)); ok {
			s.stems[stem]++
		} else {
			s.bare++
		}
	}
	all = slices.DeleteFunc(all, func(s *itemSet) bool { return len(s.list) < 2 })
	for _, s := range all {
		slices.SortFunc(s.list, func(a, b int) int { return naming.Natural(path.Base(t.Objects[a].Path), path.Base(t.Objects[b].Path)) })
	}
	slices.SortStableFunc(all, func(a, b *itemSet) int { return len(b.list) - len(a.list) })
	return all
}

// numbered: the names are one word with numbers.
func (s *itemSet) numbered() bool { return s.bare == 0 && len(s.stems) == 1 }

// name of the k-th data set.
func (s *itemSet) name(t *tree.Tree, k int) string { return path.Base(t.Objects[s.list[k]].Path) }

// kinds are the words that all come with the same numbers: img_0, mask_0, img_1,
// ... are two fields rather than samples of one. nil if there is one kind.
func (s *itemSet) kinds() []string {
	if s.bare > 0 || len(s.stems) < 2 {
		return nil
	}
	var out []string
	for stem, n := range s.stems {
		if n*len(s.stems) != len(s.list) || n < 2 {
			return nil
		}
		out = append(out, stem)
	}
	slices.Sort(out)
	return out
}

// say names a set: "50 data sets /images/img_0000 ... /images/img_0049".
func (s *itemSet) say(t *tree.Tree) string {
	return fmt.Sprintf("%d data sets %s ... %s", len(s.list), t.Objects[s.list[0]].Path, t.Objects[s.list[len(s.list)-1]].Path)
}

// chooseItems is the choice of --sample dataset.
func chooseItems(t *tree.Tree) (*Choice, error) {
	sets := itemSets(t)
	if len(sets) == 0 {
		return nil, shardify.Mismatch("--sample dataset: no group holds data sets of one type: %s", shapes(t))
	}
	main := sets[0]
	if kinds := main.kinds(); kinds != nil {
		return nil, shardify.Mismatch("--sample dataset: %s/ holds data sets of %d kinds, %s: --object '%s/%s*' takes one", main.parent, len(kinds), strings.Join(kinds, ", "), main.parent, kinds[0])
	}
	c := &Choice{Samples: tree.Samples{Mode: tree.ByItem, Types: map[string]string{main.parent: main.kind}}, items: []string{main.parent}}
	for _, s := range sets[1:] {
		if sameNames(t, main, s) {
			c.items, c.Types[s.parent] = append(c.items, s.parent), s.kind
		} else if len(s.list) == len(main.list) {
			return nil, shardify.Mismatch("--sample dataset: %s/ and %s/ hold %d data sets each, of other names: --object selects", main.parent, s.parent, len(s.list))
		}
	}
	slices.Sort(c.items)
	c.order = listOf(t, main)
	c.Why = "samples are the data sets " + strings.Join(c.items, "/*, ") + "/*, their names are the keys"
	return c, nil
}

// sameNames: each name of one set is in the other, if only damaged.
func sameNames(t *tree.Tree, a, b *itemSet) bool {
	broken := brokenPaths(t)
	within := func(a, b *itemSet) bool {
		for k := range a.list {
			if name := a.name(t, k); !b.has(t, name) && broken[b.parent+"/"+name] == nil {
				return false
			}
		}
		return true
	}
	return a.parent != b.parent && within(a, b) && within(b, a)
}

// doubtfulItems is the error about data sets that may be samples rather than columns.
func (s *chooser) doubtfulItems() error {
	t := s.t
	if k := t.Kind; k.Pytables || k.Netcdf || k.Matlab || k.Anndata {
		return nil
	}
	for _, set := range itemSets(t) {
		why := likeSamples(t, set)
		if why == "" {
			continue
		}
		ways := []format.Way{sampleWay(tree.ByItem, printable.Of(int64(len(set.list)), "sample")+" whose keys are the names")}
		if _, err := s.by(string(tree.ByAxis)); err == nil {
			ways = append(ways, sampleWay(tree.ByAxis, "samples of the rows of each"))
		}
		return format.NewAmbiguous(fmt.Sprintf("%s may be a sample each (%s)", set.say(t), why), append(ways, sampleWay(tree.ByFile, "each file one sample")))
	}
	return nil
}

const (
	fewItems  = 3
	someItems = 8
	manyItems = 32
	// rowsOfColumns is how many rows columns have for each of them, at least.
	rowsOfColumns = 64
)

// lengths reports whether the data sets of a set all have a length, whether others have it, and
// which other one has a row for each of them.
func (s *itemSet) lengths(t *tree.Tree, length int64) (equal, columns bool, beside string) {
	equal = true
	in := map[int]bool{}
	for _, i := range s.list {
		in[i] = true
		equal = equal && t.Objects[i].Dims[0] == length
	}
	for i := range t.Objects {
		if o := &t.Objects[i]; !in[i] && len(o.Dims) > 0 {
			columns = columns || o.Dims[0] == length
			if o.Dims[0] == int64(len(s.list)) && beside == "" {
				beside = o.Path
			}
		}
	}
	return equal, columns, beside
}

// likeSamples says what makes data sets look like samples, "" if they look like columns.
func likeSamples(t *tree.Tree, s *itemSet) string {
	n := int64(len(s.list))
	first := &t.Objects[s.list[0]]
	if first.Axes != nil || first.Scale {
		return ""
	}
	if first.Void && len(first.Dims) == 0 {
		return "each is opaque bytes"
	}
	if len(first.Dims) == 0 {
		return ""
	}
	length := first.Dims[0]
	equal, columns, beside := s.lengths(t, length)
	told := s.numbered() && n >= fewItems || n >= manyItems/2
	switch {
	case columns && length != n && equal:
		return ""
	case beside != "" && told && (length != n || len(first.Dims) > 1):
		return fmt.Sprintf("%s has %d rows", beside, n)
	case columns:
		return ""
	case !equal && told:
		return "their lengths differ"
	case s.numbered() && equal && (len(first.Dims) > 2 || n >= someItems && length < rowsOfColumns*n):
		return fmt.Sprintf("%v each, with numbers as names", first.Dims)
	case n >= manyItems && n > length:
		return fmt.Sprintf("there are more than the %d rows", length)
	}
	return ""
}

// byItem makes a field of each group of data sets, and of the arrays beside them.
func (f *factory) byItem() error {
	sets, names, err := itemsBy(f.tree, f.choice)
	if err != nil || len(names) == 0 {
		return err // or a file without samples
	}
	main, in := sets[f.choice.items[0]], map[int]bool{}
	for _, s := range sets {
		for _, i := range s.list {
			in[i] = true
		}
	}
	f.report.Samples, f.blob.Parent = int64(len(names)), main.parent
	beside := f.aligned(in)
	if err := f.order(main, names, beside); err != nil {
		return err
	}
	for _, p := range f.choice.items {
		if err := f.item(sets[p]); err != nil {
			return err
		}
	}
	for _, o := range beside {
		if err := f.add(o, o.Path, inner(o), len(o.Dims) == 0); err != nil {
			return err
		}
	}
	return nil
}

// aligned lists the arrays with a row for each sample, and single values; others are left
// out.
func (f *factory) aligned(in map[int]bool) (out []*tree.Object) {
	for i := range f.tree.Objects {
		o := &f.tree.Objects[i]
		switch {
		case in[i]:
		case o.Note != "":
			f.tree.Omit(o.Path, o.Note)
		case len(o.Dims) > 0 && o.Dims[0] != f.report.Samples:
			f.tree.Omit(o.Path, fmt.Sprintf("its first dimension is %d, the samples are %d", o.Dims[0], f.report.Samples))
		default:
			out = append(out, o)
		}
	}
	return out
}

// order finds which row of the arrays beside belongs to which name: by a list of the
// names if there is one, else by place, if there is no doubt about the order of the names.
func (f *factory) order(main *itemSet, names []string, beside []*tree.Object) error {
	f.blob.Not = otherNames(f.tree, main.parent, names)
	if p := f.choice.order; p != "" {
		if f.tree.File.Listed(p, names) == nil {
			return shardify.Annotate(shardify.Mismatch("it does not list the names of the data sets in %s/, as it does elsewhere", main.parent), "", "", p)
		}
		f.blob.Order = p
		f.blob.Why += ", in the order of " + p
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(beside), func(o *tree.Object) bool { return len(o.Dims) == 0 })
	if len(list) == 0 {
		return nil
	}
	f.blob.Why += "; rows of " + list[0].Path + " go by the place of the name"
	if consecutive(names) || slices.IsSorted(names) {
		return nil
	}
	return shardify.Mismatch("which row of %s belongs to which data set of %s/ is not certain: by number their order is another than by letter, and no list of the names is beside them; --columns or --object without %s",
		list[0].Path, main.parent, list[0].Path)
}

// consecutive: names are one word with the numbers 0, 1, ... or 1, 2, ...
func consecutive(names []string) bool {
	word, first := "", int64(-1)
	for k, name := range names {
		stem, ok := naming.Stem(name)
		n := int64(0)
		for _, c := range name[len(stem):] {
			if n = 10*n + int64(c-'0'); n > math.MaxInt32 {
				return false
			}
		}
		if k == 0 {
			word, first = stem, n
		}
		if !ok || stem != word || n != first+int64(k) {
			return false
		}
	}
	return first == 0 || first == 1
}

// itemsBy finds the data sets that are samples of a choice, and their names in order.
// Damaged ones are among the names, where others show that they are samples.
func itemsBy(t *tree.Tree, c *Choice) (sets map[string]*itemSet, names []string, err error) {
	sets, known := map[string]*itemSet{}, map[string]bool{}
	for _, s := range itemSets(t) {
		if c.Types[s.parent] != s.kind {
			continue
		}
		sets[s.parent] = s
		for k := range s.list {
			known[s.name(t, k)] = true
		}
	}
	main := sets[c.items[0]]
	if main == nil {
		return nil, nil, nil
	}
	broken := brokenPaths(t)
	for p := range broken {
		s := sets[naming.Group(p)]
		if stem, _ := naming.Stem(path.Base(p)); s != nil && s.numbered() && s.stems[stem] > 0 {
			known[path.Base(p)] = true
		}
	}
	for _, p := range c.items {
		for name := range known {
			if s := sets[p]; s == nil || !s.has(t, name) && broken[p+"/"+name] == nil {
				return nil, nil, shardify.Mismatch("%s/ holds no %s, which is a sample elsewhere", p, name)
			}
		}
	}
	for name := range known {
		names = append(names, name)
	}
	slices.SortFunc(names, naming.Natural)
	return sets, names, nil
}

// has reports whether a set has a name.
func (s *itemSet) has(t *tree.Tree, name string) bool {
	_, ok := slices.BinarySearchFunc(s.list, name, func(i int, name string) int { return naming.Natural(path.Base(t.Objects[i].Path), name) })
	return ok
}

// listOf finds the data set of texts that lists the names of a set, "" if none does.
func listOf(t *tree.Tree, s *itemSet) string {
	names := make([]string, len(s.list))
	for k := range s.list {
		names[k] = s.name(t, k)
	}
	for i := range t.Objects {
		o := &t.Objects[i]
		if len(o.Dims) == 1 && o.Dims[0] == int64(len(names)) && len(o.Wanted) == 1 && o.Wanted[0].Leaf.Media != "" && t.File.Listed(o.Path, names) != nil {
			return o.Path
		}
	}
	return ""
}

// otherNames are the names in a group that are no samples.
func otherNames(t *tree.Tree, group string, names []string) []string {
	in := make(map[string]bool, len(names))
	for _, name := range names {
		in[name] = true
	}
	links, err := t.File.Children(group)
	if err != nil {
		return nil // reading finds that the names are not as many as the samples
	}
	var out []string
	for i := range links {
		if name := links[i].Name; links[i].Kind == h5.HardLink && links[i].Err == nil && !in[name] {
			out = append(out, name)
		}
	}
	return out
}

// placeItems says which samples damage in a file is of.
func placeItems(t *tree.Tree, c *Choice, list []survey.Damage) {
	_, names, err := itemsBy(t, c)
	if err != nil {
		return
	}
	if c.order != "" {
		names = t.File.Listed(c.order, names)
	}
	for i := range list {
		p := "/" + list[i].Object
		if c.Types[naming.Group(p)] == "" {
			continue
		}
		if k := slices.Index(names, path.Base(p)); k >= 0 {
			list[i].Lo, list[i].Hi = int64(k), int64(k)+1
		}
	}
}

// item makes fields of a group of data sets.
func (f *factory) item(s *itemSet) error {
	head := &f.tree.Objects[s.list[0]]
	if head.Hidden {
		return nil
	}
	ragged, total := false, int64(0)
	for _, i := range s.list {
		o := &f.tree.Objects[i]
		if err := f.backed(o, math.MaxInt64, new(int64)); err != nil {
			return shardify.Annotate(err, "", "", o.Path)
		}
		ragged = ragged || !slices.Equal(head.Dims, o.Dims)
		total += o.Bytes
	}
	name := tree.ItemName(cmp.Or(asGroup(head), s.parent))
	if media := f.media(s); media != "" {
		f.blob.Objects = append(f.blob.Objects, BlobObject{Path: s.parent, Leaves: []int{head.Wanted[0].Index}, Item: true, Bytes: true})
		f.report.Fields = append(f.report.Fields, survey.Field{Field: shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: media}, Bytes: total})
		return nil
	}
	before, objects := len(f.report.Fields), len(f.blob.Objects)
	if err := f.add(head, name, head.Dims, false); err != nil || len(f.blob.Objects) == objects {
		return err
	}
	b := &f.blob.Objects[len(f.blob.Objects)-1]
	b.Path, b.Item = s.parent, true
	if ragged {
		f.makeRagged(before, total)
		return nil
	}
	for i := before; i < len(f.report.Fields); i++ {
		f.report.Fields[i].Bytes *= int64(len(s.list))
	}
	return nil
}

// asGroup is the group of a data set of a split, without the split's name.
func asGroup(o *tree.Object) string {
	if o.As == "" {
		return ""
	}
	return cmp.Or(naming.Group(o.As), "/data")
}

// encoded is how encoded images begin.
var encoded = []struct{ magic, media string }{
	{"\xff\xd8\xff", "jpg"}, {"\x89PNG\r\n\x1a\n", "png"}, {"GIF8", "gif"}, {"II*\x00", "tif"}, {"MM\x00*", "tif"}, {"RIFF", "webp"},
}

// media is the type of encoded images: "" if the data sets are other numbers. Opaque bytes
// that are no images, or of several types, are "bin".
func (f *factory) media(s *itemSet) string {
	head := &f.tree.Objects[s.list[0]]
	opaque := head.Void && len(head.Dims) == 0
	leaf := &head.Wanted[0].Leaf
	if !opaque && (len(head.Dims) != 1 || len(head.Wanted) != 1 || leaf.Kind != element.Numbers || leaf.Num.DType != shardify.U8 || len(leaf.Dims) > 0) {
		return ""
	}
	all := ""
	for k, i := range s.list {
		media := mediaOf(f.tree.File, &f.tree.Objects[i])
		if media == "" || k > 0 && media != all {
			if opaque {
				return "bin"
			}
			return ""
		}
		all = media
	}
	return all
}

// mediaOf looks at the first bytes of a data set.
func mediaOf(f *column.File, o *tree.Object) string {
	obj, err := f.H5.Object(o.Addr, o.Path)
	if err != nil || obj.Addr != o.Addr {
		return ""
	}
	a, err := f.DatasetOf(obj, o.Path)
	if err != nil {
		return ""
	}
	head := make([]byte, min(a.Rows*a.RowBytes, 12))
	switch l := &a.Set.Layout; {
	case l.Class == dataset.Compact:
		copy(head, l.Data)
	case l.Class == dataset.Contiguous && l.Addr != meta.Undefined && len(a.Set.External) == 0:
		if f.ReadFull(head, l.Addr) != nil {
			return ""
		}
	default:
		if a.Backed(a.Rows) != nil || a.Rows*a.RowBytes > element.MaxText<<4 {
			return ""
		}
		all := make([]byte, a.Rows*a.RowBytes)
		if a.Read(context.Background(), new(array.Buffers), all, 0, a.Rows) != nil {
			return ""
		}
		copy(head, all)
	}
	for _, e := range encoded {
		if bytes.HasPrefix(head, []byte(e.magic)) && (e.media != "webp" || bytes.HasSuffix(head, []byte("WEBP"))) {
			return e.media
		}
	}
	return ""
}
