package plan

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan/splits"
)

// Inputs is what samples are read from, and what of it is not.
type Inputs struct {
	Format  string            `json:"input"`
	Columns []string          `json:"columns,omitempty"`
	Options format.Options    `json:"input_options,omitempty"`
	LeftOut []format.Leftover `json:"left_out,omitempty"`
	// Skipped are damaged inputs that the survey left out, as OnErrorSkip wants.
	Skipped []index.Skip `json:"skipped,omitempty"`
	// Unread counts the samples of the inputs that are outside of --limit and --range.
	Unread []shardify.Count `json:"unread,omitempty"`
	Listed *index.Inputs    `json:"listed,omitempty"` // without names
	// First is the name of input 0 of a plan of several blocks, see Packing.InParts.
	First string `json:"first_input,omitempty"`

	Table *format.Table `json:"-"`
	State []byte        `json:"-"`
	pages pages
}

// Total is the number of input files and the sum of their known sizes.
func (in *Inputs) Total() (files, bytes int64) { return in.Listed.Count, in.Listed.Bytes }

// Name is the name of an input, as errors and reports show it.
func (in *Inputs) Name(i uint32) string {
	if int(i) < in.Table.Len() {
		return in.Table.Unique(int(i))
	}
	if i == 0 && in.First != "" {
		return in.First
	}
	return fmt.Sprintf("input %d", i)
}

// none is a table of the same places without inputs.
func (in *Inputs) none() *format.Table { return &format.Table{Roots: in.Table.Roots, FS: in.Table.FS} }

// named describes the input table without saying where it is.
func (in *Inputs) named() index.Inputs {
	list := *in.Listed
	if list.Count <= index.MaxInputNames {
		for i := range in.Table.Len() {
			list.Names = append(list.Names, strings.ToValidUTF8(in.Table.Name(i), "\uFFFD"))
		}
	}
	return list
}

// lister adds up tables to what a manifest says about them.
type lister struct {
	count, bytes int64
	digest       index.Digest
	lines        []byte
}

func (l *lister) add(t *format.Table) {
	l.count, l.bytes = l.count+int64(t.Len()), l.bytes+t.Bytes()
	for i := range t.Len() {
		if name := t.NameBytes(i); len(name) > 0 {
			l.lines = append(l.lines, name...)
		} else {
			l.lines = append(l.lines, t.Name(i)...)
		}
		l.lines = binary.LittleEndian.AppendUint64(append(l.lines, 0), uint64(t.Size(i)))
		if len(l.lines) > 64<<10 || i == t.Len()-1 {
			l.digest.Write(l.lines)
			l.lines = l.lines[:0]
		}
	}
}

func (l *lister) inputs(format string) index.Inputs {
	return index.Inputs{Format: format, Count: l.count, Bytes: l.bytes, Digest: l.digest.String()}
}

// dropped ends the names of counts of samples that are in no output.
const dropped = ": dropped"

// Dropped is a count of samples that are in no output, by the reason.
func Dropped(reason string, n int64) shardify.Count {
	return shardify.Count{Name: reason + dropped, N: n}
}

// Reasons are those of some counts that say why samples are in no output.
func Reasons(list []shardify.Count) []shardify.Count {
	return slices.DeleteFunc(slices.Clone(list), func(c shardify.Count) bool { return !strings.HasSuffix(c.Name, dropped) })
}

// Reason is why samples of a count of Dropped are in no output.
func Reason(c shardify.Count) string { return strings.TrimSuffix(c.Name, dropped) }

// Drops are the samples that are in no output, as far as a plan knows: operations find more.
func Drops(p *Plan) (list []shardify.Count) {
	list = slices.Clone(p.In.Unread)
	if p.Splits.Unsplit > 0 {
		list = append(list, Dropped(p.Splits.Rule.Why(splits.Nowhere), p.Splits.Unsplit))
	}
	return list
}
