package survey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	_ "github.com/shardify/shardify/tests/race"
)

func TestManyInputsWithNothingInCommonEndEarly(t *testing.T) {
	table := &format.Table{Roots: []string{""}}
	for i := range 40 {
		table.Append(0, fmt.Sprint(i), 100, 0)
	}
	f := Format{Name: "made", Look: func(_ context.Context, path string, _ *columns.Wanted) (*Facts, error) {
		x, y := shardify.Field{Name: "x" + path, DType: shardify.U8}, shardify.Field{Name: "y", DType: shardify.U8}
		return &Facts{Samples: 10, Size: 100, Fields: []Field{{Field: x}, {Field: y}}}, nil
	}}
	all, _ := columns.New(nil)
	c := newCollector(table, &f, all)
	c.layouts.most = 30
	var err error
	n := 0
	for ; err == nil; n++ {
		err = c.look(context.Background(), uint32(n))
	}
	if n != 16 || !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "nothing in common") {
		t.Errorf("after %d files: %v", n, err)
	}
}
