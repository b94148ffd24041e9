package readat

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestFull(t *testing.T) {
	b := make([]byte, 3)
	if err := Full(strings.NewReader("abcde"), b, 2); err != nil || string(b) != "cde" {
		t.Errorf("%q, %v", b, err)
	}
	var e *shardify.Error
	err := Full(strings.NewReader("abcde"), b, 4)
	if !errors.Is(err, shardify.ErrCorrupt) || !errors.As(err, &e) || e.Offset != 5 || !strings.Contains(err.Error(), "2 more bytes") {
		t.Errorf("error is %v", err)
	}
}
