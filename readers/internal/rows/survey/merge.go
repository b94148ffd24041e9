package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// merger makes one schema of the layouts that a survey found.
type merger struct {
	*seen
	report
	f      *Format
	want   *columns.Wanted
	rounds func(field string) bool // as in format.OpenArgs
	alone  bool                    // no field is needed: there is one beside those of the files

	live  []*layout // whose files count: with samples, not dropped; by first file
	count int64     // files of live
	cands candidates
}

// report is what the plan says about inputs.
type report struct {
	table *format.Table
	left  []format.Leftover
	notes []string
}

func (r *report) note(text string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(text, args...))
}

func (r *report) leave(name, reason string) {
	r.left = append(r.left, format.Leftover{Name: name, Reason: reason})
}

// leaveFiles notes files that are left out for one kind of reason.
func (r *report) leaveFiles(f *failures) {
	r.left = append(r.left, format.Leftover{Name: r.table.Name(int(f.first[0].input)), Reason: f.first[0].err.Error(), Count: f.count})
}

// in says which files have one of the layouts: "3 inputs (a, b, c)".
func (r *report) in(layouts map[*layout]bool) string {
	var in Inputs
	for l := range layouts {
		in.join(l.files, l.first)
	}
	return in.text(r.table)
}

// about makes an error that of opening an input.
func (r *report) about(input uint32, err error) error {
	return shardify.Annotate(err, "open", r.table.Shown(int(input)), "")
}

func (m *merger) merge(ctx context.Context, missing Missing) (found set.Found, err error) {
	if err := m.begin(); err != nil {
		return found, err
	}
	if err := m.unreadable(); err != nil {
		return found, err
	}
	if len(m.want.Unmatched()) > 0 {
		if err := m.want.Check(m.available(ctx)); err != nil {
			return found, err
		}
	}
	if err := m.someLack(missing); err != nil {
		return found, err
	}
	if len(m.cands.list) == 0 && !m.alone {
		return found, m.nothing()
	}
	if found.Coords, err = m.unify(); err != nil {
		return found, err
	}
	m.cands.shareCounters(len(m.live))
	found.Schema = m.cands.schema()
	m.settle(found.Schema)
	m.notes = append(m.notes, m.want.Renamed(found.Schema)...)
	found.Files, found.Lines, found.Piece = m.files, m.lines, m.piece
	found.Left, found.Notes, found.Skipped = m.left, m.notes, m.damaged.list(m.table)
	return found, nil
}

// begin finds the layouts that count and their fields. Files without samples do not count, unless
// all are such: their columns often have another type.
func (m *merger) begin() error {
	all, out := int64(m.table.Len())-m.within, m.foreign.count+int64(len(m.damaged.skipped))
	if m.foreign.count == all {
		return m.about(m.foreign.first[0].input, shardify.Unsupported("%s (%d inputs)", m.foreign.first[0].err, m.foreign.count))
	}
	if m.foreign.count > 0 {
		m.leaveFiles(&m.foreign)
	}
	for _, l := range m.layouts.list {
		if !l.empty || m.empty.count+out == all {
			m.live = append(m.live, l)
		}
	}
	m.notes = append(m.notes, Empty(m.table, &m.empty)...)
	for _, text := range slices.Sorted(maps.Keys(m.remarks)) {
		r := m.remarks[text]
		m.note("%s: %s in %s", text, printable.Of(r.samples, "sample"), r.in.text(m.table))
	}
	slices.SortFunc(m.live, func(a, b *layout) int { return cmp.Compare(a.first[0], b.first[0]) })
	for _, l := range m.live {
		m.count += l.files
		m.cands.add(l)
	}
	return nil
}

// available looks into the first file again for all that it has.
func (m *merger) available(ctx context.Context) []string {
	all, _ := columns.New(nil)
	for _, l := range m.layouts.list {
		facts, err := m.f.Look(ctx, m.table.Path(int(l.first[0])), all)
		if err != nil {
			continue
		}
		var names []string
		for i := range facts.Fields {
			names = append(names, facts.Fields[i].Name)
		}
		for i := range facts.Left {
			names = append(names, facts.Left[i].Name)
		}
		names = append(names, facts.Void...)
		return names
	}
	return nil
}

// nothing says why there is no field at all.
func (m *merger) nothing() error {
	var why []string
	var ways []format.Way // of the first that has any
	for _, l := range m.left {
		if l.Count > 0 {
			continue
		}
		why = append(why, strings.TrimPrefix(l.Name+": "+l.Reason, ": "))
		if c, ok := errors.AsType[*format.Cured](l.Err); ok && ways == nil {
			ways = c.Ways
		}
	}
	text := "no fields to read"
	if len(why) > 0 {
		text += ": " + strings.Join(why[:min(len(why), shown)], "; ")
	}
	if more := len(why) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	err := shardify.Unsupported("%s", text)
	if ways != nil {
		err = format.Cure(err, ways...)
	}
	return m.about(m.live[0].first[0], err)
}
