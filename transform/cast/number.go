package cast

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Number is the bytes of a constant.
func Number(s string, d shardify.DType) ([]byte, error) {
	bad := fmt.Errorf("%q is not of type %s", s, d)
	switch {
	case d == shardify.Bool:
		switch s {
		case "true", "True", "1":
			return []byte{1}, nil
		case "false", "False", "0": // 0 is what --pad fills up with if nothing is said
			return []byte{0}, nil
		}
		return nil, bad
	case d.IsFloat():
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.ContainsAny(s, "xX_") {
			return nil, bad
		}
		return constant(shardify.Bytes([]float64{f}), shardify.F64, d, bad)
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return constant(shardify.Bytes([]uint64{u}), shardify.U64, d, bad)
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, bad
	}
	return constant(shardify.Bytes([]int64{i}), shardify.I64, d, bad)
}

// constant converts one value.
func constant(v []byte, from, to shardify.DType, bad error) ([]byte, error) {
	out := shardify.Bytes(make([]uint64, 1)) // aligned
	l := convertValues(out[:to.Size()], caster{to: to}, v, from)
	if l.bad >= 0 || l.overflow > 0 {
		return nil, bad
	}
	return out[:to.Size()], nil
}
