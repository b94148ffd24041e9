// Package market reads sparse matrices in the Matrix Market format: a header, rows, columns and values in a
// line, and a line for each value, in any order.
//
//	m, err := market.Begin(ctx, file)
//	defer m.Close()
//	err = m.Each(ctx, add) // with numbers that count from 0
package market

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/storage"
)

// banner begins a file.
const banner = "%%MatrixMarket"

// Header is what the lines before the values say.
type Header struct {
	Rows, Columns, Values int64
	DType                 shardify.DType
	pattern               bool // no values: all are 1
}

// Matrix is a matrix that is read from its beginning.
type Matrix struct {
	Header
	text lines.Text
	buf  []byte // bytes that were read and not yet parsed
	at   int    // in buf
	end  bool   // there are no more
	line int64
}

// Close ends it; the file stays open.
func (m *Matrix) Close() { m.text.Close() }

// mostLine bounds a line: comments have JSON.
const mostLine = 1 << 20

// next is the next line, without its end; nil behind the last.
func (m *Matrix) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(m.buf[m.at:], '\n'); i >= 0 {
			line := m.buf[m.at : m.at+i]
			m.at += i + 1
			m.line++
			return line, nil
		}
		rest := copy(m.buf[:cap(m.buf)], m.buf[m.at:])
		m.buf, m.at = m.buf[:rest], 0
		if m.end {
			if rest == 0 {
				return nil, nil
			}
			m.at = rest
			m.line++
			return m.buf, nil
		}
		if rest == cap(m.buf) {
			return nil, m.corrupt("it has more than %d bytes", rest)
		}
		n, err := m.text.Read(m.buf[rest:cap(m.buf)])
		m.buf = m.buf[:rest+n]
		if err == io.EOF {
			m.end = true
		} else if err != nil {
			return nil, err
		}
	}
}

func (m *Matrix) corrupt(what string, args ...any) error {
	return shardify.Corrupt(-1, "line %d: %s", max(m.line, 1), fmt.Sprintf(what, args...))
}

// Begin reads the header of a matrix.
func Begin(ctx context.Context, f storage.File) (*Matrix, error) {
	text, err := lines.Open(ctx, f, lines.UTF8)
	if err != nil {
		return nil, err
	}
	m := &Matrix{text: text, buf: make([]byte, 0, mostLine)}
	if err := m.head(f.Size()); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Matrix) head(size int64) error {
	line, err := m.next()
	if err != nil {
		return err
	}
	words := strings.Fields(strings.ToLower(string(line)))
	if len(words) != 5 || words[0] != strings.ToLower(banner) || words[1] != "matrix" {
		return m.corrupt("no header of Matrix Market: %.40q", line)
	}
	var known bool
	m.DType, known = map[string]shardify.DType{"integer": shardify.I64, "real": shardify.F64, "double": shardify.F64, "pattern": shardify.I64}[words[3]]
	if m.pattern = words[3] == "pattern"; !known || words[2] != "coordinate" || words[4] != "general" {
		return shardify.Unsupported("a matrix of Matrix Market that is %s; coordinate integer, real or pattern general is read", strings.Join(words[2:], " "))
	}
	for {
		if line, err = m.next(); err != nil {
			return err
		}
		if line == nil {
			return m.corrupt("no line of three numbers behind the header")
		}
		if b := bytes.TrimSpace(line); len(b) > 0 && b[0] != '%' {
			break
		}
	}
	var n [3]int64
	rest, ok := line, false
	for i := range n {
		if n[i], rest, ok = number(rest); !ok {
			return m.corrupt("rows, columns and values are expected: %.40q", line)
		}
	}
	if m.Rows, m.Columns, m.Values = n[0], n[1], n[2]; len(bytes.TrimSpace(rest)) > 0 || m.Rows > math.MaxInt32 {
		return m.corrupt("rows, columns and values are expected: %.40q", line)
	}
	const least, packed = 4, 1100 // bytes of a value; what a byte of gzip or zstd may become, about
	if m.Values > size/least*packed+packed {
		return m.corrupt("%d values in a file of %d bytes", m.Values, size)
	}
	return nil
}

// number is a whole number that is not negative, and what is behind it.
func number(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' && i-from < 18 {
		n = 10*n + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i > from && (i == len(b) || b[i] == ' ' || b[i] == '\t' || b[i] == '\r')
}

// Each gives the values, in the order of the file; what add returns ends it.
func (m *Matrix) Each(ctx context.Context, add func(row, column int64, value []byte) error) error {
	var value [8]byte
	binary.LittleEndian.PutUint64(value[:], 1)
	for k := int64(0); ; k++ {
		line, err := m.next()
		if err != nil {
			return err
		}
		if k&0xffff == 0 && context.Cause(ctx) != nil {
			return context.Cause(ctx)
		}
		if line == nil {
			if k != m.Values {
				return shardify.Corrupt(-1, "%d values, its header says %d", k, m.Values)
			}
			return nil
		}
		row, rest, ok := number(line)
		column := int64(0)
		if ok {
			column, rest, ok = number(rest)
		}
		if !ok && len(bytes.TrimSpace(line)) == 0 {
			k--
			continue
		}
		switch {
		case !ok:
			return m.corrupt("a row, a column and a value are expected: %.40q", line)
		case row < 1 || row > m.Rows:
			return m.corrupt("row %d of %d", row, m.Rows)
		case column < 1 || column > m.Columns:
			return m.corrupt("column %d of %d", column, m.Columns)
		case k >= m.Values:
			return m.corrupt("more than the %d values that its header says", m.Values)
		}
		if rest = bytes.TrimSpace(rest); m.pattern {
			ok = len(rest) == 0
		} else {
			ok = m.value(rest, value[:])
		}
		if !ok {
			return m.corrupt("the value %.40q is not %s", rest, map[bool]string{true: "expected: the header says pattern", false: m.DType.String()}[m.pattern])
		}
		if err := add(row-1, column-1, value[:]); err != nil {
			return err
		}
	}
}

// value parses a value.
func (m *Matrix) value(b []byte, to []byte) bool {
	if m.DType == shardify.I64 {
		if n, rest, ok := number(b); ok && len(rest) == 0 {
			binary.LittleEndian.PutUint64(to, uint64(n))
			return true
		}
		n, err := strconv.ParseInt(string(b), 10, 64)
		binary.LittleEndian.PutUint64(to, uint64(n))
		return err == nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	binary.LittleEndian.PutUint64(to, math.Float64bits(v))
	return err == nil && !bytes.ContainsAny(b, "xX_")
}
