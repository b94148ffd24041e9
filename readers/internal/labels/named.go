package labels

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/columns"
)

// The options of Named.
var (
	optLabels = format.Option{Name: "labels", Idle: "the folders are no classes", Kind: format.KindString, Default: Auto, Off: []string{Never}, Quiet: true, List: true, Help: Help}
	optKeys   = format.Option{Name: "keys", Idle: "the samples have no names", Kind: format.KindEnum, Default: Auto, Values: []string{Auto, keysPath, keysOrdinal}, Quiet: true,
		Help: "names of samples: the path below the input, or a number; auto: the path where files that are a sample each are in several folders"}
	optStem = format.Option{Name: "stem", Idle: "no sample has a name with two dots", Kind: format.KindEnum, Default: "first", Values: []string{"first", stemLast}, Quiet: true,
		Help: "a sample's name ends at the first or the last dot of the file name"}
)

// Help is that of the option labels, for formats that read tables of labels, too.
const Help = "make the field cls from the name of the first folder: auto (if the folders look like classes), none, or folder (always); or FILE.csv, .tsv, .txt, .jsonl, .json, .parquet, .star: a field for each column, joined by --key; options of the table follow its name, as in 'FILE.csv sep=| header=none'. 'NAME=FILE.csv on=COLUMN rows=many' makes lists, counted by NAME, of the rows of a sample; rows=first takes the first; also=COLUMN names a further file of the sample; in=FOLDER: the names are those in a folder below the input. tables: metadata.csv, .jsonl or .parquet beside the files, and train.csv beside train"

const (
	keysPath    = "path"
	keysOrdinal = "ordinal"
	stemLast    = "last"
)

// Options are those of formats whose files may be samples each.
var Options = []format.Option{optLabels, optKeys, optStem}

// None refuses the options where samples are not files.
func None(o format.Options) error {
	if err := checkLabels(o); err != nil {
		return err
	}
	for i := range Options {
		if v := o.Value(&Options[i]); !Options[i].Satisfied(v) {
			return shardify.Misuse("--%s %s is for files that are a sample each, as --sample file has them", Options[i].Name, v)
		}
	}
	return nil
}

// Named is what samples that are a file each have beside the file's fields: the path
// as their name, and the class that their folder says. nil has neither.
type Named struct {
	paths   *Paths
	inputs  []uint32 // that are samples
	keyed   bool
	classes []string
	codes   map[string]int64
	fields  []shardify.Field
	left    []format.Leftover
}

// checkLabels refuses values of the options that no format of arrays has.
func checkLabels(o format.Options) error {
	switch v := o.Value(&optLabels); v {
	case Auto, Never, Always:
		return nil
	default:
		return shardify.Misuse("--labels %q: want auto, none or folder; tables of labels are for folders of files such as images", v)
	}
}

// MayClass reports whether the folders of a table may become the field cls, so that a
// reader does not miss it.
func MayClass(t *format.Table, o format.Options) bool {
	if o.Value(&optLabels) == Never {
		return false
	}
	p := NewPaths(t, First)
	for i := range t.Len() {
		if p.folder(i, 0) != nil {
			return true
		}
	}
	return false
}

// Name finds the names and classes of inputs of which each is a sample. own are their
// fields.
func Name(a *format.OpenArgs, inputs []uint32, own []shardify.Field) (*Named, error) {
	t, o := a.Table, a.Options
	if err := checkLabels(o); err != nil {
		return nil, err
	}
	by := First
	if o.Value(&optStem) == stemLast {
		by = Last
	}
	n := &Named{inputs: inputs, paths: newPaths(t, by, func(yield func(int) bool) {
		for _, i := range inputs {
			if !yield(int(i)) {
				return
			}
		}
	})}
	c := Classes{Splits: InFolders(a)}
	for _, i := range inputs {
		c.Add(n.paths, int(i))
	}
	if err := n.classify(&c, own, a, o.Value(&optLabels)); err != nil {
		return nil, err
	}
	keys := o.Value(&optKeys)
	if keys == keysPath || c.several() {
		a.Used.Mark(optKeys.Name)
	}
	if keys == keysPath || keys == Auto && c.several() {
		if n.dotted() {
			a.Used.Mark(optStem.Name)
		}
		n.keyed = true
		if err := n.check(); err != nil {
			return nil, err
		}
	}
	if !n.keyed && n.classes == nil && n.left == nil {
		return nil, nil
	}
	n.describe()
	return n, nil
}

// classify decides about the field cls.
func (n *Named) classify(c *Classes, own []shardify.Field, a *format.OpenArgs, mode string) error {
	want, err := columns.New(a.Columns)
	if err != nil {
		return err
	}
	hit, exact := want.Match(ClassField)
	if !hit {
		return nil
	}
	found, reason := c.Find(), ""
	if mode != Always && found.Reason == "" {
		reason = found.Unlikely(len(n.inputs))
	}
	if found.Judged(a.Used, reason); mode == Never {
		return nil
	}
	n.paths.Second = found.Second
	taken := shardify.FieldIndex(own, ClassField) >= 0
	if taken && reason == "" && found.Reason == "" {
		return shardify.Mismatch("the files have a field %s, and their folders may be classes (%s): --labels none keeps the field, --columns '!%[1]s' leaves out both",
			ClassField, some(found.Classes))
	}
	if n.classes, n.left, err = found.Settle(mode, reason); err != nil {
		return err
	}
	if !c.several() { // classes are unlikely
		n.left = nil
	}
	if n.classes == nil && exact && !taken {
		return shardify.Misuse("no field %q: of the folders that could be classes, %s", ClassField, cmp.Or(found.Reason, reason))
	}
	return nil
}

// dotted reports whether the first dot of a file name may be another one than the last.
func (n *Named) dotted() bool {
	return slices.ContainsFunc(n.inputs, func(i uint32) bool {
		rel := n.paths.Rel(int(i))
		return bytes.Count(rel[bytes.LastIndexByte(rel, '/')+1:], []byte(".")) > 1
	})
}

// InFolders reports whether the first folders are splits because the user says so: of one
// INPUT, as several are splits themselves.
func InFolders(a *format.OpenArgs) bool { return a.Folders && len(a.Table.Roots) == 1 }

// some names the first of a list.
func some(list []string) string {
	const most = 3
	text := strings.Join(list[:min(len(list), most)], ", ")
	if len(list) > most {
		text += ", ..."
	}
	return text
}

func (n *Named) describe() {
	if n.classes != nil {
		n.codes = Codes(n.classes)
		n.fields = append(n.fields, ClassesField(n.classes))
	}
}

// check refuses one name for two samples.
func (n *Named) check() error {
	// Sorted, as a million names must not cost a string each.
	order := slices.Clone(n.inputs)
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(n.compare(a, b), cmp.Compare(a, b)) })
	for k := 1; k < len(order); k++ {
		a, b := int(order[k-1]), int(order[k])
		if n.compare(order[k-1], order[k]) == 0 {
			t := n.paths.Table
			return shardify.Mismatch("%s and %s have one name as samples, %s: %s", t.Shown(a), t.Shown(b), n.paths.AppendKey(nil, a), n.cure(a, b))
		}
	}
	return nil
}

// compare compares the names of two inputs: a prefix is a folder that no other root has.
func (n *Named) compare(a, b uint32) int {
	p := n.paths
	x, y := p.Roots[p.Table.Root(int(a))].Prefix, p.Roots[p.Table.Root(int(b))].Prefix
	return cmp.Or(strings.Compare(x, y), bytes.Compare(p.Stem(int(a)), p.Stem(int(b))))
}

// cure says how two inputs get names of their own.
func (n *Named) cure(a, b int) string {
	last := *n.paths
	last.By = Last
	if n.paths.By != Last && string(last.Stem(a)) != string(last.Stem(b)) {
		return "--stem last ends names at the last dot, --keys ordinal numbers samples"
	}
	return "--keys ordinal numbers samples"
}

// Fields are the fields beside those of the files.
func (n *Named) Fields() []shardify.Field {
	if n == nil {
		return nil
	}
	return n.fields
}

// Leftovers say why folders are not classes after all.
func (n *Named) Leftovers() []format.Leftover {
	if n == nil {
		return nil
	}
	return n.left
}

// Keyed reports whether the samples have names.
func (n *Named) Keyed() bool { return n != nil && n.keyed }

// Bytes is what the sample of an input takes beside its file's fields.
func (n *Named) Bytes(input uint32) int64 {
	if n == nil {
		return 0
	}
	size := int64(8 * len(n.fields))
	if n.keyed {
		size += int64(n.paths.KeyLen(int(input))) + 16
	}
	return size
}

// Finish gives a batch, of the one sample that an input is, its further columns and its
// name.
func (n *Named) Finish(b *shardify.Batch, input uint32, mem *shardify.Arena) error {
	if n == nil {
		return nil
	}
	if b.Samples != 1 {
		return fmt.Errorf("a batch of %d samples, where each file is one", b.Samples)
	}
	if n.codes != nil {
		code, ok := n.codes[string(n.paths.Class(int(input)))]
		if !ok {
			return shardify.Corrupt(-1, "the classes in the plan lack its folder")
		}
		data := mem.Int64s(1)
		data[0] = code
		b.Columns = append(b.Columns, shardify.Column{Field: n.fields[0], Data: shardify.Bytes(data)})
	}
	if n.keyed {
		off := mem.Int64s(2)
		off[0], off[1] = 0, int64(n.paths.KeyLen(int(input)))
		key := n.paths.AppendKey(mem.Alloc(int(off[1]))[:0], int(input))
		b.Keys = &shardify.Column{Field: index.KeyField(), Data: key, Offsets: [][]int64{off}}
	}
	return nil
}

// maxTarName is the longest name that a tar member can have.
const maxTarName = 100

// CheckKeys is that of format.Keyer.
func (n *Named) CheckKeys(memberMax int, check func(key []byte) error) error {
	if !n.Keyed() {
		return nil
	}
	var bad Listed
	var why error
	var key []byte
	for _, i := range n.inputs {
		key = n.paths.AppendKey(key[:0], int(i))
		err := error(nil)
		if memberMax > 0 && len(key)+1+memberMax > maxTarName {
			err = shardify.Mismatch("key of %d bytes; before a member name of %d a tar holds %d", len(key), memberMax, maxTarName-1-memberMax)
		} else if check != nil {
			err = check(key)
		}
		if err == nil {
			continue
		}
		bad.add(func() string { return string(key) })
		if why == nil {
			why = err
		}
	}
	if why == nil {
		return nil
	}
	cure := ""
	if !strings.Contains(why.Error(), "--keys ordinal") {
		cure = "; --keys ordinal numbers them instead"
	}
	return fmt.Errorf("names of %s do not fit the output: %w%s", bad.of("sample", "samples"), why, cure)
}

// Inputs sets which inputs are samples, after ReadNamed.
func (n *Named) Inputs(inputs []uint32) {
	if n != nil {
		n.inputs = slices.Clone(inputs)
	}
}
