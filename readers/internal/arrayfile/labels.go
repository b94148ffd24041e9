package arrayfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// optKey is --key of --labels FILE.
var optKey = format.Option{Name: "key", Idle: format.Always, Kind: format.KindString, Help: "column of --labels FILE with the names of the samples: paths or file names, with or without extension"}

// joined is what tables of labels say of the samples. nil: there are no tables.
type joined struct {
	joinState
	values *labels.Values
	inputs []uint32 // that have samples
	first  []int64  // the number of the first sample of each, among all, and that of all
}

// joinState is what a plan keeps in front of the state of the files, as JSON behind its length. The sizes of the pages follow.
type joinState struct {
	Fields  []shardify.Field  `json:"fields"` // of the tables
	Wanted  []int             `json:"wanted"` // of those
	Samples int               `json:"samples"`
	Kept    []int64           `json:"kept,omitempty"` // samples that are left, from, to, from, to, ...; all without it
	Left    []format.Leftover `json:"left,omitempty"`
}

// joinMark begins the state of sources with labels, and no other.
const joinMark = 0xfe

// readLabels reads the tables of --labels FILE; nil without one.
func readLabels(ctx context.Context, a *format.OpenArgs) ([]*labels.Table, error) {
	mode, key := a.Options["labels"], a.Options[optKey.Name]
	switch {
	case !labels.Tables(mode) && key != "":
		return nil, shardify.Mismatch("--key %s says which column of the table of --labels FILE has the names: give --labels FILE too", key)
	case !labels.Tables(mode):
		return nil, nil
	case labels.NamesFiles(mode):
		return nil, shardify.Unsupported("--labels '%s': also= is for files that are read as bytes; --pair makes fields of several files", mode)
	case !labels.IsTable(mode):
		return nil, shardify.Unsupported("--labels %q: want auto, none, folder or a file .csv, .tsv, .txt, .jsonl, .json, .parquet or .star", mode)
	}
	a.Used.Mark("labels")
	a.Used.Mark(optKey.Name)
	return labels.Read(ctx, storages.Of(a.Table), mode, key, nil, a.Jobs, a.Table.Roots...)
}

// fieldsOf are the columns of tables.
func fieldsOf(tables []*labels.Table) (names []string) {
	for _, t := range tables {
		for _, f := range t.Fields() {
			names = append(names, f.Name)
		}
	}
	return names
}

// join finds the rows of the samples.
func (j *joined) join(a *format.OpenArgs, tables []*labels.Table, own []shardify.Field, sections bool) (notes []string, err error) {
	for _, t := range tables {
		for _, f := range t.Fields() {
			if shardify.FieldIndex(own, f.Name) >= 0 {
				return nil, shardify.Annotate(shardify.Mismatch("the files have a field %s, and there is a column %[1]s", f.Name), "read", t.File, "")
			}
		}
		j.Left = append(j.Left, t.Left...)
	}
	missing := a.Options[survey.Option.Name]
	if missing == string(survey.Intersect) {
		missing = string(survey.Fail)
	}
	by := labels.First
	if a.Options["stem"] == "last" {
		by = labels.Last
	}
	all, err := labels.JoinAll(tables, int(j.first[len(j.inputs)]), j.names(labels.NewPaths(a.Table, by), sections), missing, a.Scratch)
	if err != nil {
		return nil, err
	}
	j.values, j.Fields, j.Left = all.Values, all.Values.Fields, append(j.Left, all.Left...)
	want, err := columns.New(a.Columns)
	if err != nil {
		return nil, err
	}
	for i := range j.Fields {
		if hit, _ := want.Match(j.Fields[i].Name); hit {
			j.Wanted = append(j.Wanted, i)
		}
	}
	j.Samples = int(j.first[len(j.inputs)])
	for i, is := range all.Kept {
		if !is {
			j.Samples--
		}
		if was := len(j.Kept)%2 == 1; is != was {
			j.Kept = append(j.Kept, int64(i))
		}
	}
	if len(j.Kept)%2 == 1 {
		j.Kept = append(j.Kept, int64(len(all.Kept)))
	}
	return all.Notes, nil
}

// names are those of files; of sections they are as RELION has them: 000001@folder/stack.mrcs. The folder is
// that of a project, which may be anywhere above the files.
func (j *joined) names(p *labels.Paths, sections bool) labels.Names {
	if !sections {
		return func(k int, by labels.By, do func([]byte)) {
			in, _ := j.place(int64(k))
			p.Names(int(in), by, do)
		}
	}
	var name []byte
	return func(k int, by labels.By, do func([]byte)) {
		in, n := j.place(int64(k))
		section := func(file []byte) {
			name = append(fmt.Appendf(name[:0], "%06d@", n+1), file...)
			do(name)
			if short := bytes.TrimLeft(name, "0"); len(short) < len(name) {
				do(short)
			}
		}
		p.Names(int(in), by, func(file []byte) {
			section(file)
			if by != labels.ByPath {
				return
			}
			above := storage.Clean(p.Folder(p.Table.Root(int(in)), nil))
			full := append([]byte(strings.Trim(above, "/")+"/"), file...)
			for above != "." && len(full) > len(file) {
				section(full)
				full = full[bytes.IndexByte(full, '/')+1:]
			}
		})
	}
}

// place is the input that has sample k of all, and its number there.
func (j *joined) place(k int64) (input uint32, n int64) {
	i, found := slices.BinarySearch(j.first, k)
	if !found {
		i--
	}
	return j.inputs[i], k - j.first[i]
}

// number is that of the first sample of an input.
func (j *joined) number(input uint32) int64 {
	i, _ := slices.BinarySearch(j.inputs, input)
	return j.first[min(i, len(j.inputs))]
}

// rank is how many samples are left in front of sample k of all.
func (j *joined) rank(k int64) (n int64) {
	if j.Kept == nil {
		return k
	}
	for i := 0; i < len(j.Kept) && j.Kept[i] < k; i += 2 {
		n += min(j.Kept[i+1], k) - j.Kept[i]
	}
	return n
}

// runs cuts samples of all into those that are left.
func (j *joined) runs(lo, hi int64, do func(lo, hi int64) bool) bool {
	if j.Kept == nil {
		return do(lo, hi)
	}
	i, _ := slices.BinarySearch(j.Kept, lo+1)
	for i -= i % 2; i < len(j.Kept) && j.Kept[i] < hi; i += 2 {
		if a, b := max(lo, j.Kept[i]), min(hi, j.Kept[i+1]); a < b && !do(a, b) {
			return false
		}
	}
	return true
}

// schema is the columns that are wanted.
func (j *joined) schema() (out []shardify.Field) {
	if j == nil {
		return nil
	}
	for _, i := range j.Wanted {
		out = append(out, j.Fields[i])
	}
	return out
}

// state puts what is kept in front of the state of the files.
func (j *joined) state(files []byte) ([]byte, error) {
	if j == nil {
		return files, nil
	}
	text, err := json.Marshal(j.joinState)
	if err != nil {
		return nil, err
	}
	b := append(binary.AppendUvarint([]byte{joinMark}, uint64(len(text))), text...)
	return append(j.values.AppendPages(b), files...), nil
}

// readJoined is the inverse of state; nil without labels.
func readJoined(a *format.OpenArgs) (*joined, []byte, error) {
	b := a.State
	if len(b) == 0 || b[0] != joinMark {
		return nil, b, nil
	}
	bad := shardify.Corrupt(-1, "the labels in the plan")
	size, w := binary.Uvarint(b[1:])
	if w <= 0 || size > uint64(len(b)-1-w) {
		return nil, nil, bad
	}
	text, rest := b[1+w:1+w+int(size)], b[1+w+int(size):]
	j := &joined{}
	if json.Unmarshal(text, &j.joinState) != nil || j.Samples < 0 || len(j.Kept)%2 != 0 || !slices.IsSorted(j.Kept) || len(j.Kept) > 0 && j.Kept[0] < 0 {
		return nil, nil, bad
	}
	for _, i := range j.Wanted {
		if i < 0 || i >= len(j.Fields) {
			return nil, nil, bad
		}
	}
	var err error
	j.values, rest, err = labels.ReadPages(rest, j.Fields, j.Samples, a.Page)
	return j, rest, err
}

// fits checks what came from a plan against the samples of the files.
func (j *joined) fits() error {
	if all := j.first[len(j.inputs)]; j.rank(all) != int64(j.Samples) || len(j.Kept) > 0 && j.Kept[len(j.Kept)-1] > all {
		return shardify.Corrupt(-1, "labels of %d samples in the plan, and there are %d", j.Samples, all)
	}
	return nil
}
