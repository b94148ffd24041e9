package rntuple

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// key is the same for two flats exactly if they hold the same.
func (f *flatColumn) key() string {
	return fmt.Sprint(pathKey(f.path), f.leaf)
}

func pathKey(path []step) string {
	var b []byte
	for _, s := range path {
		b = fmt.Append(b, s.kind, s.slot, s.tag, s.n, ";")
	}
	return string(b)
}

// levelKey is the same for two flats exactly if they share their outermost offsets.
func (f *flatColumn) levelKey() string {
	first := 0
	for f.path[first].kind == maybe || f.path[first].kind == alt {
		first++
	}
	return pathKey(f.path[:first+1])
}

// hideShown drops the flats of untyped top-level collections that a projected field
// shows: importers make a collection of a nameless record for all Jet_pt, Jet_eta,
// ..., and projections under the names that people know.
func (n *Ntuple) hideShown() {
	shown := map[string]bool{}
	for i := range n.Flats {
		if n.Flats[i].Projected {
			shown[n.Flats[i].key()] = true
		}
	}
	if len(shown) == 0 {
		return
	}
	for i := range n.Flats {
		f := &n.Flats[i]
		if !f.Projected && n.untyped(f.FieldID) && shown[f.key()] {
			f.Name = "" // settleNames drops it
		}
	}
}

func (n *Ntuple) untyped(field int) bool {
	for n.Fields[field].Parent != field {
		field = n.Fields[field].Parent
	}
	return n.Fields[field].TypeName == ""
}

// settleNames gives names that would collide their hidden parts back, and leaves out
// what has no valid name of its own.
func (w *walker) settleNames() {
	n := w.n
	uses := map[string]int{}
	for i := range n.Flats {
		f := &n.Flats[i]
		f.Name, w.full[i] = format.PlainName(f.Name), format.PlainName(w.full[i])
		uses[f.Name]++
	}
	for i := range n.Flats {
		if f := &n.Flats[i]; f.Name != "" && uses[f.Name] > 1 {
			f.Name = w.full[i]
		}
	}
	seen := map[string]bool{}
	n.Flats = slices.DeleteFunc(n.Flats, func(f flatColumn) bool {
		switch err := shardify.ValidName(f.Name); {
		case f.Name == "":
			return true
		case err != nil:
			w.leave(f.Name, "%v", err)
			return true
		case seen[f.Name]:
			w.leave(f.Name, "another field has the same name")
			return true
		}
		seen[f.Name] = true
		return false
	})
}

// settleCounters names the offsets that flats share. Lists that projections show
// are called after the projected cardinality ("nJet") where there is one. A counter
// must mean one list only, whatever the fields are called.
func (n *Ntuple) settleCounters() {
	cardinal := map[string]string{} // levelKey -> name
	users := map[string]int{}
	for i := range n.Flats {
		f := &n.Flats[i]
		if len(f.path) == 0 {
			continue
		}
		if f.leaf.kind == counts && f.Levels == 0 && f.Projected {
			cardinal[f.levelKey()] = f.Name
		}
		if f.Levels > 0 && !f.Deep {
			users[f.levelKey()]++
		}
	}
	own := map[string]string{} // name of a jagged flat, or counter -> levelKey
	for i := range n.Flats {
		switch f := &n.Flats[i]; {
		case f.Deep: // lists that no other field shares
			own[f.Name] = "deep " + f.Name
		case f.Levels > 0:
			own[f.Name] = f.levelKey()
		}
	}
	for i := range n.Flats {
		f := &n.Flats[i]
		if f.Levels == 0 || f.Deep {
			continue
		}
		key := f.levelKey()
		if name := cardinal[key]; name != "" {
			f.Counter = name
		} else if users[key] == 1 {
			f.Counter = ""
		}
		if f.Counter == "" || shardify.ValidName(f.Counter) != nil {
			f.Counter = ""
			continue
		}
		if k, ok := own[f.Counter]; ok && k != key {
			f.Counter = ""
			continue
		}
		own[f.Counter] = key
	}
}
