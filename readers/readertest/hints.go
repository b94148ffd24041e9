package readertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Offered checks inputs that a value of an option does not read: the error says wrong, and every value that
// it offers reads them, in order, by read. Where wrong is "" the value reads them, and Offered returns the source.
func Offered(t testing.TB, option, value, wrong string, open func(value string) (shardify.Source, error), read func(i int, src shardify.Source)) shardify.Source {
	t.Helper()
	src, err := open(value)
	if wrong == "" {
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	if err == nil {
		t.Fatalf("read as %v", src.Schema())
	}
	if !strings.Contains(err.Error(), wrong) {
		t.Errorf("%v: does not say %q", err, wrong)
	}
	offered := 0
	if c, ok := errors.AsType[*format.Cured](err); ok {
		for i := range c.Ways {
			v, ok := c.Ways[i].Options[option]
			if !ok {
				continue
			}
			if src, err := open(v); err != nil {
				t.Errorf("%s: %v", v, err)
			} else {
				read(offered, src)
			}
			offered++
		}
	}
	if offered == 0 {
		t.Errorf("%v: offers nothing", err)
	}
	return nil
}
