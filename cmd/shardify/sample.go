package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify/internal/value"
	"github.com/spf13/pflag"
)

// sampleValue is --sample: a number shows that sample; a word is the option of
// that name that a format declares.
type sampleValue struct {
	pflag.Value
	number int64
	option bool
}

func addSample(fs *pflag.FlagSet) *sampleValue {
	f := fs.Lookup("sample")
	if f == nil {
		f = fs.VarPF(new(value.Number), "sample", "", "")
	}
	v := &sampleValue{Value: f.Value, number: -1}
	f.Value, f.Usage = v, strings.TrimPrefix("show sample N (from 0); or: "+f.Usage, "; or: ")
	return v
}

func (v *sampleValue) Set(s string) error {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 {
			return fmt.Errorf("%q: want the number of a sample, counted from 0", s)
		}
		v.number = n
		return nil
	}
	v.option = true
	return v.Value.Set(s)
}

func (v *sampleValue) Type() string { return "N|" + v.Value.Type() }
