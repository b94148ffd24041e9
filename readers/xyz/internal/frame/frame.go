// Package frame parses the frames of XYZ and extended XYZ: the number of atoms, a comment line of
// keys with values, and a line for each atom. It knows nothing of samples.
//
//	frame.go    where frames begin and end; Properties
//	comment.go  the keys and values of a comment line
//	value.go    the types of words
package frame

import (
	"bytes"
	"fmt"
)

// maxColumns bounds the columns of atoms.
const maxColumns = 1 << 16

// Frame is a frame in a text. Places are those in the text that it was cut from.
type Frame struct {
	Atoms   int
	Comment []byte // without the end of its line
	Line    int    // where the comment is
	Body    int    // where the first atom is
}

// isBlank reports whether c separates words of a line.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' }

// count reads the number of atoms from b[i:], and returns where its line ends; -1 for another line.
func count(b []byte, i int) (n, end int) {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	from := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if n = n*10 + int(b[i]-'0'); n > 1<<50 {
			return 0, -1
		}
	}
	if i == from {
		return 0, -1
	}
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	if i == len(b) || b[i] != '\n' {
		return 0, -1
	}
	return n, i
}

// Next cuts the frame at b[i]. Each line of b ends in a line feed. The error is about the line at i.
func Next(b []byte, i int) (f Frame, err error) {
	n, end := count(b, i)
	if end < 0 {
		line := b[i : i+max(bytes.IndexByte(b[i:], '\n'), 0)]
		switch {
		case Blank(line):
			return f, fmt.Errorf("an empty line between frames")
		case bytes.HasPrefix(line, []byte("VEC1")):
			return f, fmt.Errorf("lines VEC1 to VEC3, of AMS, are not read: write the cell as Lattice=\"...\" into the comment line")
		}
		return f, fmt.Errorf("%.40q is not a number of atoms", line)
	}
	f.Atoms, f.Line = n, end+1
	end = bytes.IndexByte(b[f.Line:], '\n')
	if end < 0 {
		return f, fmt.Errorf("the text ends behind the number of atoms")
	}
	f.Comment, f.Body = b[f.Line:f.Line+end], f.Line+end+1
	if n > len(b)-f.Body {
		return f, fmt.Errorf("%d atoms do not fit into what follows", n)
	}
	return f, nil
}

// Skip is where the line after n lines from b[i] on begins, and how many of them are there. Lines of the
// length of the first are counted together.
func Skip(b []byte, i, n int) (at, lines int) {
	const many = 16
	if width := bytes.IndexByte(b[i:], '\n') + 1; width > 0 && n >= many {
		for part := many * width; lines+many <= n && len(b)-i >= part && b[i+part-1] == '\n' && bytes.Count(b[i:i+part], feed) == many; lines += many {
			i += part
		}
	}
	for ; lines < n; lines++ {
		k := bytes.IndexByte(b[i:], '\n')
		if k < 0 {
			break
		}
		i += k + 1
	}
	return i, lines
}

var feed = []byte{'\n'}

// End is where the first frame of b ends that ends at from or behind; -1 without one. b begins with
// a frame.
func End(b []byte, from int) int {
	for i := 0; ; {
		n, end := count(b, i)
		if end < 0 || n > len(b) {
			return -1
		}
		at, comment := Skip(b, end+1, 1)
		at, atoms := Skip(b, at, n)
		if comment == 0 || atoms < n {
			return -1
		}
		if i = at; i >= from {
			return i
		}
	}
}

// Blank reports whether there is nothing but blanks and ends of lines.
func Blank(b []byte) bool {
	for _, c := range b {
		if !isBlank(c) && c != '\n' {
			return false
		}
	}
	return true
}

// Column is one of Properties.
type Column struct {
	Name  string
	Type  byte // R, I, S or L
	Count int
}

// Plain is the columns of frames without Properties. More than these may follow.
var Plain = []Column{{"species", 'S', 1}, {"pos", 'R', 3}}

// Columns reads the value of Properties.
func Columns(b []byte) ([]Column, error) {
	parts, sum := bytes.Split(b, []byte{':'}), 0
	if len(parts)%3 != 0 {
		return nil, fmt.Errorf("in Properties, %.60q is not NAME:TYPE:COUNT for each array", b)
	}
	var all []Column
	for ; len(parts) > 0; parts = parts[3:] {
		c := Column{Name: string(parts[0])}
		if len(parts[1]) != 1 || bytes.IndexByte([]byte("RISL"), parts[1][0]) < 0 {
			return nil, fmt.Errorf("in Properties, %.40s has the type %.40q, not R, I, S or L", parts[0], parts[1])
		}
		c.Type = parts[1][0]
		m, ok := whole(parts[2])
		if !ok || m < 1 || m > maxColumns || parts[2][0] == '+' {
			return nil, fmt.Errorf("in Properties, %.40s has %.40q columns, not 1 to %d", parts[0], parts[2], maxColumns)
		}
		c.Count = int(m)
		if sum += c.Count; c.Name == "" || sum > maxColumns {
			return nil, fmt.Errorf("in Properties, %.60q has an array without a name, or too many columns", b)
		}
		for i := range all {
			if all[i].Name == c.Name {
				return nil, fmt.Errorf("in Properties, %.40s twice", c.Name)
			}
		}
		all = append(all, c)
	}
	return all, nil
}
