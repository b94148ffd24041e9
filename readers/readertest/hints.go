package readertest

import (
	"errors"

	"github.com/shardify/shardify/format"
)

// Settings are the values of an option that an error offers, in order.
func Settings(err error, option string) (values []string) {
	var c *format.Cured
	if errors.As(err, &c) {
		for i := range c.Ways {
			if v, ok := c.Ways[i].Options[option]; ok {
				values = append(values, v)
			}
		}
	}
	return values
}
