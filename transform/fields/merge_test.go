package fields

import (
	"testing"

	"github.com/shardify/shardify"
)

func TestCommonTypesAreNumpys(t *testing.T) {
	const f16, bf, f32, f64 = shardify.F16, shardify.BF16, shardify.F32, shardify.F64
	for _, c := range [][3]shardify.DType{
		{f16, f32, f32}, {f32, f64, f64}, {f16, bf, f32}, {bf, f32, f32}, {f32, shardify.I8, f32}, {f32, shardify.U16, f32}, {f32, shardify.I32, f64},
		{f16, shardify.U8, f16}, {f16, shardify.I16, f32}, {f16, shardify.I32, f64}, {shardify.I8, shardify.I32, shardify.I32}, {shardify.U8, shardify.I8, shardify.I16},
		{shardify.U32, shardify.I8, shardify.I64}, {shardify.U8, shardify.I64, shardify.I64}, {shardify.Bool, shardify.F16, f16}, {shardify.Bool, shardify.U8, shardify.U8}, {shardify.U16, shardify.U32, shardify.U32},
	} {
		for _, p := range [][2]shardify.DType{{c[0], c[1]}, {c[1], c[0]}} {
			if got, err := common(p[0], p[1]); got != c[2] || err != nil {
				t.Errorf("%s and %s give %s, want %s (%v)", p[0], p[1], got, c[2], err)
			}
		}
	}
	if _, err := common(shardify.U64, shardify.I8); err == nil {
		t.Error("u64 and i8 have no common integer")
	}
}
