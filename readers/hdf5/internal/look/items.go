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
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
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

// ByItem is the mode of a data set for each sample.
const ByItem Mode = "dataset"

// itemSet is data sets of one type in one group.
type itemSet struct {
	parent string
	kind   string
	list   []int // of the tree's objects, in the order of natural
	stems  map[string]int
	bare   int // names without a number
}

// itemType is what the data sets of a set have in common; "" for what cannot be one.
func (t *Tree) itemType(o *object) string {
	if len(o.wanted) == 0 || o.note != "" || o.matrix != nil {
		return ""
	}
	if o.void {
		return "opaque"
	}
	text := fmt.Sprint(len(o.dims))
	for i := range o.wanted {
		f, err := o.wanted[i].leaf.Field("x", nil)
		text += fmt.Sprint(" ", o.wanted[i].leaf.Name, f.DType, f.Levels, f.Shape, err != nil)
	}
	return text
}

// itemSets lists the sets of two data sets or more, the largest first.
func (t *Tree) itemSets() []*itemSet {
	type key struct{ parent, kind string }
	sets := map[key]*itemSet{}
	var all []*itemSet
	for i := range t.objects {
		o := &t.objects[i]
		kind := t.itemType(o)
		if kind == "" {
			continue
		}
		k := key{naming.Group(o.path), kind}
		s := sets[k]
		if s == nil {
			s = &itemSet{parent: k.parent, kind: kind, stems: map[string]int{}}
			sets[k] = s
			all = append(all, s)
		}
		s.list = append(s.list, i)
		if stem, ok := naming.Stem(path.Base(o.path)); ok {
			s.stems[stem]++
		} else {
			s.bare++
		}
	}
	all = slices.DeleteFunc(all, func(s *itemSet) bool { return len(s.list) < 2 })
	for _, s := range all {
		slices.SortFunc(s.list, func(a, b int) int { return naming.Natural(path.Base(t.objects[a].path), path.Base(t.objects[b].path)) })
	}
	slices.SortStableFunc(all, func(a, b *itemSet) int { return len(b.list) - len(a.list) })
	return all
}

// numbered: the names are one word with numbers.
func (s *itemSet) numbered() bool { return s.bare == 0 && len(s.stems) == 1 }

// name of the k-th data set.
func (s *itemSet) name(t *Tree, k int) string { return path.Base(t.objects[s.list[k]].path) }

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
func (s *itemSet) say(t *Tree) string {
	return fmt.Sprintf("%d data sets %s ... %s", len(s.list), t.objects[s.list[0]].path, t.objects[s.list[len(s.list)-1]].path)
}

// chooseItems is the choice of --sample dataset.
func (t *Tree) chooseItems() (*Choice, error) {
	sets := t.itemSets()
	if len(sets) == 0 {
		return nil, shardify.Mismatch("--sample dataset: no group holds data sets of one type: %s", t.shapes())
	}
	main := sets[0]
	if kinds := main.kinds(); kinds != nil {
		return nil, shardify.Mismatch("--sample dataset: %s/ holds data sets of %d kinds, %s: --object '%s/%s*' takes one", main.parent, len(kinds), strings.Join(kinds, ", "), main.parent, kinds[0])
	}
	c := &Choice{Mode: ByItem, items: []string{main.parent}, itemTypes: map[string]string{main.parent: main.kind}}
	for _, s := range sets[1:] {
		if t.sameNames(main, s) {
			c.items, c.itemTypes[s.parent] = append(c.items, s.parent), s.kind
		} else if len(s.list) == len(main.list) {
			return nil, shardify.Mismatch("--sample dataset: %s/ and %s/ hold %d data sets each, of other names: --object selects", main.parent, s.parent, len(s.list))
		}
	}
	slices.Sort(c.items)
	c.order = t.listOf(main)
	c.Why = "samples are the data sets " + strings.Join(c.items, "/*, ") + "/*, their names are the keys"
	return c, nil
}

// sameNames: each name of one set is in the other, if only damaged.
func (t *Tree) sameNames(a, b *itemSet) bool {
	broken := t.brokenPaths()
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
func (t *Tree) doubtfulItems(inputs int) error {
	if k := t.Kind; k.Pytables || k.netcdf || k.matlab || k.anndata {
		return nil
	}
	for _, s := range t.itemSets() {
		why := t.likeSamples(s)
		if why == "" {
			continue
		}
		ways := []format.Way{sampleWay(ByItem, fmt.Sprintf("%d samples whose keys are the names", len(s.list)))}
		if _, err := t.Choose(string(ByAxis), inputs); err == nil {
			ways = append(ways, sampleWay(ByAxis, "samples of the rows of each"))
		}
		return format.NewAmbiguous(fmt.Sprintf("%s may be a sample each (%s)", s.say(t), why), append(ways, sampleWay(ByFile, "each file one sample")))
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
func (s *itemSet) lengths(t *Tree, length int64) (equal, columns bool, beside string) {
	equal = true
	in := map[int]bool{}
	for _, i := range s.list {
		in[i] = true
		equal = equal && t.objects[i].dims[0] == length
	}
	for i := range t.objects {
		if o := &t.objects[i]; !in[i] && len(o.dims) > 0 {
			columns = columns || o.dims[0] == length
			if o.dims[0] == int64(len(s.list)) && beside == "" {
				beside = o.path
			}
		}
	}
	return equal, columns, beside
}

// likeSamples says what makes data sets look like samples, "" if they look like columns.
func (t *Tree) likeSamples(s *itemSet) string {
	n := int64(len(s.list))
	first := &t.objects[s.list[0]]
	if first.axes != nil || first.scale {
		return ""
	}
	if first.void && len(first.dims) == 0 {
		return "each is opaque bytes"
	}
	if len(first.dims) == 0 {
		return ""
	}
	length := first.dims[0]
	equal, columns, beside := s.lengths(t, length)
	told := s.numbered() && n >= fewItems || n >= manyItems/2
	switch {
	case columns && length != n && equal:
		return ""
	case beside != "" && told && (length != n || len(first.dims) > 1):
		return fmt.Sprintf("%s has %d rows", beside, n)
	case columns:
		return ""
	case !equal && told:
		return "their lengths differ"
	case s.numbered() && equal && (len(first.dims) > 2 || n >= someItems && length < rowsOfColumns*n):
		return fmt.Sprintf("%v each, with numbers as names", first.dims)
	case n >= manyItems && n > length:
		return fmt.Sprintf("there are more than the %d rows", length)
	}
	return ""
}

// byItem makes a field of each group of data sets, and of the arrays beside them.
func (f *factory) byItem() error {
	sets, names, err := f.tree.itemsBy(f.choice)
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
		if err := f.add(o, o.path, o.inner(), len(o.dims) == 0); err != nil {
			return err
		}
	}
	return nil
}

// aligned lists the arrays with a row for each sample, and single values; others are left
// out.
func (f *factory) aligned(in map[int]bool) (out []*object) {
	for i := range f.tree.objects {
		o := &f.tree.objects[i]
		switch {
		case in[i]:
		case o.note != "":
			f.tree.left.note(o.path, o.note)
		case len(o.dims) > 0 && o.dims[0] != f.report.Samples:
			f.tree.left.note(o.path, fmt.Sprintf("its first dimension is %d, the samples are %d", o.dims[0], f.report.Samples))
		default:
			out = append(out, o)
		}
	}
	return out
}

// order finds which row of the arrays beside belongs to which name: by a list of the
// names if there is one, else by place, if there is no doubt about the order of the names.
func (f *factory) order(main *itemSet, names []string, beside []*object) error {
	f.blob.Not = f.tree.others(main.parent, names)
	if p := f.choice.order; p != "" {
		if f.tree.File.Listed(p, names) == nil {
			return shardify.Annotate(shardify.Mismatch("it does not list the names of the data sets in %s/, as it does elsewhere", main.parent), "", "", p)
		}
		f.blob.Order = p
		f.blob.Why += ", in the order of " + p
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(beside), func(o *object) bool { return len(o.dims) == 0 })
	if len(list) == 0 {
		return nil
	}
	f.blob.Why += "; rows of " + list[0].path + " go by the place of the name"
	if consecutive(names) || slices.IsSorted(names) {
		return nil
	}
	return shardify.Mismatch("which row of %s belongs to which data set of %s/ is not certain: by number their order is another than by letter, and no list of the names is beside them; --columns or --object without %s",
		list[0].path, main.parent, list[0].path)
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
func (t *Tree) itemsBy(c *Choice) (sets map[string]*itemSet, names []string, err error) {
	sets, known := map[string]*itemSet{}, map[string]bool{}
	for _, s := range t.itemSets() {
		if c.itemTypes[s.parent] != s.kind {
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
	broken := t.brokenPaths()
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
func (s *itemSet) has(t *Tree, name string) bool {
	_, ok := slices.BinarySearchFunc(s.list, name, func(i int, name string) int { return naming.Natural(path.Base(t.objects[i].path), name) })
	return ok
}

// listOf finds the data set of texts that lists the names of a set, "" if none does.
func (t *Tree) listOf(s *itemSet) string {
	names := make([]string, len(s.list))
	for k := range s.list {
		names[k] = s.name(t, k)
	}
	for i := range t.objects {
		o := &t.objects[i]
		if len(o.dims) == 1 && o.dims[0] == int64(len(names)) && len(o.wanted) == 1 && o.wanted[0].leaf.Media != "" && t.File.Listed(o.path, names) != nil {
			return o.path
		}
	}
	return ""
}

// others are the names in a group that are no samples.
func (t *Tree) others(group string, names []string) []string {
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
func (t *Tree) placeItems(c *Choice, list []survey.Damage) {
	_, names, err := t.itemsBy(c)
	if err != nil {
		return
	}
	if c.order != "" {
		names = t.File.Listed(c.order, names)
	}
	for i := range list {
		p := "/" + list[i].Object
		if c.itemTypes[naming.Group(p)] == "" {
			continue
		}
		if k := slices.Index(names, path.Base(p)); k >= 0 {
			list[i].Lo, list[i].Hi = int64(k), int64(k)+1
		}
	}
}

// itemName is the field's name of a group of data sets.
func itemName(parent string) string { return cmp.Or(strings.TrimPrefix(parent, "/"), "data") }

// item makes fields of a group of data sets.
func (f *factory) item(s *itemSet) error {
	head := &f.tree.objects[s.list[0]]
	if head.hidden {
		return nil
	}
	ragged, total := false, int64(0)
	for _, i := range s.list {
		o := &f.tree.objects[i]
		if err := f.backed(o, math.MaxInt64, new(int64)); err != nil {
			return shardify.Annotate(err, "", "", o.path)
		}
		ragged = ragged || !slices.Equal(head.dims, o.dims)
		total += o.bytes
	}
	name := itemName(cmp.Or(head.asGroup(), s.parent))
	if media := f.media(s); media != "" {
		f.blob.Objects = append(f.blob.Objects, BlobObject{Path: s.parent, Leaves: []int{head.wanted[0].index}, Item: true, Bytes: true})
		f.report.Fields = append(f.report.Fields, survey.Field{Field: shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: media}, Bytes: total})
		return nil
	}
	before, objects := len(f.report.Fields), len(f.blob.Objects)
	if err := f.add(head, name, head.dims, false); err != nil || len(f.blob.Objects) == objects {
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
func (o *object) asGroup() string {
	if o.as == "" {
		return ""
	}
	return cmp.Or(naming.Group(o.as), "/data")
}

// encoded is how encoded images begin.
var encoded = []struct{ magic, media string }{
	{"\xff\xd8\xff", "jpg"}, {"\x89PNG\r\n\x1a\n", "png"}, {"GIF8", "gif"}, {"II*\x00", "tif"}, {"MM\x00*", "tif"}, {"RIFF", "webp"},
}

// media is the type of encoded images: "" if the data sets are other numbers. Opaque bytes
// that are no images, or of several types, are "bin".
func (f *factory) media(s *itemSet) string {
	head := &f.tree.objects[s.list[0]]
	opaque := head.void && len(head.dims) == 0
	leaf := &head.wanted[0].leaf
	if !opaque && (len(head.dims) != 1 || len(head.wanted) != 1 || leaf.Kind != element.Numbers || leaf.Num.DType != shardify.U8 || len(leaf.Dims) > 0) {
		return ""
	}
	all := ""
	for k, i := range s.list {
		media := mediaOf(f.tree.File, &f.tree.objects[i])
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
func mediaOf(f *column.File, o *object) string {
	obj, err := f.H5.Object(o.addr, o.path)
	if err != nil || obj.Addr != o.addr {
		return ""
	}
	a, err := f.DatasetOf(obj, o.path)
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
