package arrayfile

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// OptScaled is the option of formats whose headers may scale values.
var OptScaled = format.Option{
	Name: "scaled", Idle: format.Permission, Kind: format.KindEnum, Default: "yes", Off: []string{"no"}, Values: []string{"yes", "no"},
	Help: "yes: values as the header scales them; no: the stored numbers, with the scale in fields of their own",
}

// Scaled reports whether values are scaled.
func Scaled(o format.Options) bool { return o[OptScaled.Name] != "no" }

// Numbers is a small field of numbers that is read where it is asked for.
func Numbers(name string, shape []int, values ...float64) Array {
	return Array{Field: shardify.Field{Name: name, DType: shardify.F64, Shape: shape}, Value: shardify.Bytes(values), Asked: true}
}
