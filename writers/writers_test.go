package writers

import (
	"strings"
	"testing"
)

// TestEveryFormatSaysWhatMustBeSaid: what is forgotten in a line of the table would be found
// by a user only.
func TestEveryFormatSaysWhatMustBeSaid(t *testing.T) {
	seen := map[string]bool{}
	for i := range Formats {
		f := &Formats[i]
		for field, ok := range map[string]bool{
			"Name": f.Name != "" && !seen[f.Name], "Help": f.Help != "", "Ext": strings.HasPrefix(f.Ext, "."),
			"Check": f.Check != nil, "SampleBytes": f.SampleBytes != nil, "New": f.New != nil, "Hint": f.Hint != nil, "Verify": f.Verify != nil,
		} {
			if !ok {
				t.Errorf("%s: field %s of the table's line is not set", f.Name, field)
			}
		}
		seen[f.Name] = true
		if f.Hint == nil {
			continue
		}
		quoted := false
		if line := f.Hint("out", func(s string) string { quoted = true; return s }); !strings.Contains(line, "out") || !quoted {
			t.Errorf("%s: hint %q does not name the folder as a quoted word", f.Name, line)
		}
	}
}
