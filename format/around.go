package format

import (
	"slices"

	"github.com/shardify/shardify"
)

// Around is embedded by a source that makes samples of those of another one: it has the abilities
// of that one which are about inputs, and not about samples.
type Around struct {
	Rows shardify.Source
	Left []Leftover // of the outer source
	Says []string   // notes of the outer source
}

// Leftovers implements Reporter.
func (a *Around) Leftovers() []Leftover {
	if l, ok := a.Rows.(Reporter); ok {
		return append(slices.Clone(l.Leftovers()), a.Left...)
	}
	return a.Left
}

// Skipped implements Skipper.
func (a *Around) Skipped() []Skip {
	if l, ok := a.Rows.(Skipper); ok {
		return l.Skipped()
	}
	return nil
}

// Reopen implements Reopener.
func (a *Around) Reopen() {
	if r, ok := a.Rows.(Reopener); ok {
		r.Reopen()
	}
}

// ObjectName implements ObjectNamer.
func (a *Around) ObjectName(input, object uint32) (file, name string) {
	if n, ok := a.Rows.(ObjectNamer); ok {
		return n.ObjectName(input, object)
	}
	return "", ""
}

// LargestPiece implements Piecer.
func (a *Around) LargestPiece() (what string, bytes int64) {
	if p, ok := a.Rows.(Piecer); ok {
		return p.LargestPiece()
	}
	return "", 0
}

// Held implements Passer.
func (a *Around) Held(s shardify.Span) int64 {
	if p, ok := a.Rows.(Passer); ok {
		return p.Held(s)
	}
	return s.Bytes
}

// Notes implements Noter.
func (a *Around) Notes() []string {
	if n, ok := a.Rows.(Noter); ok {
		return append(slices.Clone(n.Notes()), a.Says...)
	}
	return a.Says
}

// Coords implements Gridded.
func (a *Around) Coords() map[string]Coord {
	if g, ok := a.Rows.(Gridded); ok {
		return g.Coords()
	}
	return nil
}

// InnerState is the state of the rows; nil if they have none.
func (a *Around) InnerState() ([]byte, error) {
	if st, ok := a.Rows.(Stater); ok {
		return st.State()
	}
	return nil, nil
}

// Pages implements Pager: the pages of the rows.
func (a *Around) Pages() int {
	if p, ok := a.Rows.(Pager); ok {
		return p.Pages()
	}
	return 0
}

// Page implements Pager.
func (a *Around) Page(i int) ([]byte, error) { return a.Rows.(Pager).Page(i) }
