package inspect

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify/internal/printable"
)

// arrays says what a sample of arrays is and why, and how they are stored.
func (r *Report) arrays(byFile bool) []string {
	if byFile {
		return []string{"a sample is one file (--sample file); every array of it is a field"}
	}
	if len(r.Fields) == 0 {
		return nil
	}
	largest := r.Fields[0]
	var names []string
	for _, f := range r.Fields {
		names = append(names, f.Name)
		if f.Bytes > largest.Bytes {
			largest = f
		}
	}
	if len(names) > 4 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	lines := []string{fmt.Sprintf("a sample is one row: axis 0 is the sample axis, as long as that of the largest array, %s, and of %s", largest.Name, strings.Join(names, ", "))}
	switch {
	case r.InOrder == 0:
		lines = append(lines, "stored without compression: any sample can be read by itself")
	case r.InOrder >= r.Decoded:
		lines = append(lines, "compressed: a file is decoded from its beginning, by one core")
	}
	if r.Inputs > 1 {
		lines = append(lines, fmt.Sprintf("the %s files are joined along axis 0; --sample file makes each of them one sample", printable.Count(int64(r.Inputs))))
	}
	return lines
}
