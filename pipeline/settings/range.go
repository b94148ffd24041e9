package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Range is samples [Lo, Hi); Hi 0 means to the end.
type Range struct{ Lo, Hi int64 }

// Set reads "100:200", ":200" or "100:".
func (v *Range) Set(s string) error {
	bad := fmt.Errorf("%q: want LO:HI, samples from LO up to but without HI", s)
	lo, hi, ok := strings.Cut(s, ":")
	if !ok {
		return bad
	}
	var r Range
	for _, x := range []struct {
		s string
		n *int64
	}{{lo, &r.Lo}, {hi, &r.Hi}} {
		if x.s == "" {
			continue
		}
		n, err := strconv.ParseInt(x.s, 10, 64)
		if err != nil || n < 0 {
			return bad
		}
		*x.n = n
	}
	if hi != "" && r.Hi <= r.Lo {
		return fmt.Errorf("%q: the range is empty", s)
	}
	*v = r
	return nil
}

// String is empty for everything.
func (v *Range) String() string {
	switch {
	case *v == Range{}:
		return ""
	case v.Hi == 0:
		return fmt.Sprintf("%d:", v.Lo)
	}
	return fmt.Sprintf("%d:%d", v.Lo, v.Hi)
}

// Type is shown in help.
func (v *Range) Type() string { return "LO:HI" }
