// Package ase makes frames of extended XYZ of the rows of ASE's databases, as JSON has them.
//
//	text, err := ase.Frame(nil, id, row)
//
//	in the row                                   in the frame
//	numbers, positions, forces, tags, ...        columns of Properties: Z, pos, forces, tags, ...
//	cell, pbc                                    Lattice, unless all of it is zero; pbc
//	energy, stress, dipole, magmom, ...          keys
//	key_value_pairs                              keys
//	data                                         keys data.NAME
//	constraints                                  a key, their JSON as text
//	unique_id, ctime, mtime, user, calculator    left out
//
// Numbers are copied as they are written, so that nothing is rounded. Arrays are {"__ndarray__": [[shape], "dtype",
// [numbers]]}, or lists. Texts stand between double quotes, which makes them texts whatever they say: see frame.Comment.
package ase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Left says what of each row is left out.
var Left = []format.Leftover{{Name: "unique_id, ctime, mtime, user, calculator", Reason: "who made a row of ASE's database, when and with what program"}}

// column is an array of the atoms.
type column struct {
	row, name string
	kind      byte
	width     int
}

var columns = []column{
	{"numbers", "Z", 'I', 1}, {"positions", "pos", 'R', 3}, {"forces", "forces", 'R', 3}, {"tags", "tags", 'I', 1}, {"momenta", "momenta", 'R', 3}, {"masses", "masses", 'R', 1},
	{"initial_magmoms", "initial_magmoms", 'R', 1}, {"initial_charges", "initial_charges", 'R', 1}, {"magmoms", "magmoms", 'R', 1}, {"charges", "charges", 'R', 1},
	{"energies", "energies", 'R', 1}, {"stresses", "stresses", 'R', 6},
}

var dropped = map[string]bool{"unique_id": true, "ctime": true, "mtime": true, "user": true, "username": true, "calculator": true, "calculator_parameters": true}

// member is a member of an object.
type member struct {
	name  string
	value []byte
}

func corrupt(what string, args ...any) error { return shardify.Corrupt(-1, what, args...) }

// valid reports whether b is JSON, with the numbers NaN and Infinity that Python writes.
func valid(b []byte) bool {
	if json.Valid(b) {
		return true
	}
	plain := bytes.Clone(b)
	for i := 0; i < len(plain); i++ {
		switch c := plain[i]; c {
		case '"':
			i = textEnd(plain, i) - 1
		case 'N', 'I':
			for _, w := range []string{"NaN", "Infinity"} {
				if bytes.HasPrefix(plain[i:], []byte(w)) {
					for k := range len(w) {
						plain[i+k] = ' '
					}
					plain[i] = '0'
				}
			}
		}
	}
	return json.Valid(plain)
}

// textEnd is where the text at b[i] ends.
func textEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(b))
}

// end is where the value at b[i] ends, in valid JSON.
func end(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = textEnd(b, i); depth == 0 {
				return i
			}
			i--
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// members are those of an object, which is valid JSON.
func members(b []byte) (all []member, err error) {
	if b = bytes.TrimSpace(b); len(b) == 0 || b[0] != '{' {
		return nil, corrupt("no object of JSON: %.20q", b)
	}
	seen := map[string]bool{}
	for i := blanks(b, 1); i < len(b) && b[i] == '"'; i = blanks(b, i) {
		at := i
		i = textEnd(b, i)
		var m member
		if err := json.Unmarshal(b[at:i], &m.name); err != nil {
			return nil, corrupt("%v", err)
		}
		i = blanks(b, blanks(b, i)+1) // behind the colon
		at = i
		i = end(b, i)
		if m.value = bytes.TrimSpace(b[at:i]); seen[m.name] {
			return nil, corrupt("the name %.40q twice", m.name)
		}
		seen[m.name] = true
		all = append(all, m)
		if i = blanks(b, i); i < len(b) && b[i] == ',' {
			i++
		}
	}
	return all, nil
}

// array is numbers with a shape.
type array struct {
	shape []int
	words [][]byte
}

// parse reads an array, or a list; false for what else a value may be.
func parse(v []byte) (a array, ok bool) {
	if len(v) > 0 && v[0] == '{' {
		m, err := members(v)
		if err != nil || len(m) != 1 || m[0].name != "__ndarray__" {
			return a, false
		}
		parts := items(m[0].value)
		if len(parts) != 3 || json.Unmarshal(parts[0], &a.shape) != nil {
			return a, false
		}
		var flat array
		if !flat.add(parts[2], 0) || len(flat.shape) > 1 {
			return a, false
		}
		n := 1
		for _, m := range a.shape {
			if m < 0 || m > 0 && n > 1<<40/m {
				return a, false
			}
			n *= m
		}
		a.words = flat.words
		return a, n == len(a.words)
	}
	if len(v) == 0 || v[0] != '[' {
		return a, false
	}
	return a, a.add(v, 0)
}

// items are those of a list.
func items(v []byte) (all [][]byte) {
	if len(v) < 2 || v[0] != '[' {
		return nil
	}
	for i := blanks(v, 1); i < len(v)-1; i = blanks(v, i) {
		at := i
		i = end(v, i)
		all = append(all, bytes.TrimSpace(v[at:i]))
		i++
	}
	return all
}

// add adds a list to the words of an array, whose shape it checks.
func (a *array) add(v []byte, depth int) bool {
	if len(v) == 0 || v[0] != '[' || depth > 8 {
		return false
	}
	n, first := 0, len(a.shape) == depth
	if first {
		a.shape = append(a.shape, -1)
	}
	for i := blanks(v, 1); i < len(v)-1; i = blanks(v, i) {
		at := i
		i = end(v, i)
		w := bytes.TrimSpace(v[at:i])
		i++
		n++
		if len(w) > 0 && w[0] == '[' {
			if n > 1 && len(a.shape) == depth+1 || !a.add(w, depth+1) {
				return false
			}
			continue
		}
		if len(a.shape) > depth+1 || len(w) == 0 || w[0] == '"' || w[0] == '{' || w[0] == 'n' {
			return false
		}
		a.words = append(a.words, w)
	}
	if a.shape[depth] < 0 {
		a.shape[depth] = n
	}
	return a.shape[depth] == n
}

// writer makes the comment line of a frame.
type writer struct{ b []byte }

// quoted writes a text between double quotes.
func (w *writer) quoted(s string) {
	w.b = append(w.b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			w.b = append(w.b, '\\', c)
		case '\n':
			w.b = append(w.b, '\\', 'n')
		default:
			w.b = append(w.b, c)
		}
	}
	w.b = append(w.b, '"')
}

// key writes a key with a value of JSON. null is no value.
func (w *writer) key(name string, v []byte) error {
	if string(v) == "null" {
		return nil
	}
	if name == "" || name == "Properties" {
		return corrupt("a value of the name %q", name)
	}
	w.b = append(w.b, ' ')
	w.quoted(name)
	w.b = append(w.b, '=')
	switch v[0] {
	case '"':
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return corrupt("%v", err)
		}
		w.quoted(s)
		return nil
	case '[', '{':
		a, ok := parse(v)
		if !ok || len(a.words) == 0 || len(a.shape) > 2 || len(a.shape) == 0 || !numbers(a.words) {
			w.quoted(string(v))
			return nil
		}
		w.array(&a)
		return nil
	}
	w.b = append(w.b, v...)
	return nil
}

// numbers reports whether words are all numbers, or all truth values.
func numbers(words [][]byte) bool {
	truths := 0
	for _, w := range words {
		if w[0] == 't' || w[0] == 'f' {
			truths++
		}
	}
	return truths == 0 || truths == len(words)
}

// array writes a vector, or a matrix.
func (w *writer) array(a *array) {
	width := len(a.words)
	if len(a.shape) == 2 {
		width = a.shape[1]
		w.b = append(w.b, '[')
	}
	for i, x := range a.words {
		if i%width == 0 {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.b = append(w.b, '[')
		} else {
			w.b = append(w.b, ',')
		}
		if w.b = append(w.b, x...); i%width == width-1 {
			w.b = append(w.b, ']')
		}
	}
	if len(a.shape) == 2 {
		w.b = append(w.b, ']')
	}
}

// zero reports whether all numbers are zero: no cell.
func zero(words [][]byte) bool {
	for _, w := range words {
		if strings.Trim(string(w), "-0.") != "" {
			return false
		}
	}
	return true
}

// Frame appends the frame of a row, which has an id unless that is negative.
func Frame(b []byte, id int64, row []byte) ([]byte, error) {
	if !valid(row) {
		return b, corrupt("not JSON: %.40q", row)
	}
	all, err := members(row)
	if err != nil {
		return b, err
	}
	have := map[string][]byte{}
	for _, m := range all {
		if string(m.value) != "null" {
			have[m.name] = m.value
		}
	}
	numbers, ok := parse(have["numbers"])
	n := len(numbers.words)
	if !ok || len(numbers.shape) != 1 {
		return b, corrupt("no list of the atoms' numbers")
	}
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, "\nProperties="...)
	var atoms []array
	var widths []int
	for _, c := range columns {
		v := have[c.row]
		if v == nil {
			continue
		}
		delete(have, c.row)
		a, ok := parse(v)
		if !ok || len(a.words) != n*c.width || len(a.shape) > 0 && a.shape[0] != n {
			return b, corrupt("%s of %d numbers for %d atoms", c.row, len(a.words), n)
		}
		if len(atoms) > 0 {
			b = append(b, ':')
		}
		b = fmt.Appendf(b, "%s:%c:%d", c.name, c.kind, c.width)
		atoms, widths = append(atoms, a), append(widths, c.width)
	}
	if b, err = comment(b, id, all, have); err != nil {
		return b, err
	}
	b = append(b, '\n')
	for i := range n {
		for k := range atoms {
			for _, w := range atoms[k].words[i*widths[k] : (i+1)*widths[k]] {
				b = append(append(b, w...), ' ')
			}
		}
		b[len(b)-1] = '\n'
	}
	return b, nil
}

// comment writes the keys of a row, in its order: of those members that have has.
func comment(b []byte, id int64, all []member, have map[string][]byte) ([]byte, error) {
	w := writer{b}
	if v := have["cell"]; v != nil {
		a, ok := parse(v)
		if !ok || len(a.words) != 9 {
			return b, corrupt("a cell that is not three vectors: %.60q", v)
		}
		if !zero(a.words) {
			w.b = append(w.b, " Lattice="...)
			a.shape = []int{3, 3}
			w.array(&a)
		}
	}
	if v := have["pbc"]; v != nil {
		a, ok := parse(v)
		if !ok || len(a.words) != 3 {
			return b, corrupt("pbc that is not three truth values: %.60q", v)
		}
		w.b = append(w.b, " pbc="...)
		a.shape = a.shape[:1]
		w.array(&a)
	}
	if id >= 0 {
		w.b = append(w.b, " id="...)
		w.b = strconv.AppendInt(w.b, id, 10)
	}
	for _, m := range all {
		if have[m.name] == nil || m.name == "cell" || m.name == "pbc" || dropped[m.name] {
			continue
		}
		switch m.name {
		case "key_value_pairs", "data":
			inner, err := members(m.value)
			if err != nil {
				return b, err
			}
			for _, x := range inner {
				if m.name == "data" {
					x.name = "data." + x.name
				}
				if err := w.key(x.name, x.value); err != nil {
					return b, err
				}
			}
		case "constraints":
			if string(m.value) != "[]" {
				w.b = append(w.b, " constraints="...)
				w.quoted(string(m.value))
			}
		default:
			if err := w.key(m.name, m.value); err != nil {
				return b, err
			}
		}
	}
	return w.b, nil
}
