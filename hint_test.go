package shardify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestHintsKeepTheirOrder(t *testing.T) {
	err := shardify.Hint(fmt.Errorf("outer: %w", shardify.Hint(errors.New("inner"), "a", "b")), "c")
	if got := strings.Join(shardify.Hints(err), ""); got != "abc" {
		t.Errorf("hints %q", got)
	}
}
