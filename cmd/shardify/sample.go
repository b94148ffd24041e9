package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify/cmd/internal/cli"
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
		if v.number >= 0 {
			return cli.Twice(strconv.FormatInt(v.number, 10), s)
		}
		v.number = n
		return nil
	}
	if v.option {
		return cli.Twice(v.Value.String(), s)
	}
	v.option = true
	return v.Value.Set(s)
}

// Repeats: a number and a word may both be given, each once.
func (v *sampleValue) Repeats() {}

func (v *sampleValue) Type() string { return "N|" + v.Value.Type() }
