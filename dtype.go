package shardify

import "fmt"

// DType is the element type of a field. All values are little-endian in
// batches and in shards.
type DType uint8

// The element types. Bool is one byte, 0 or 1.
const (
	Invalid DType = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F16
	BF16
	F32
	F64
)

var dtypes = [...]struct {
	name, tensor string
	size         int
}{
	Invalid: {"invalid", "", 0},
	Bool:    {"bool", "BOOL", 1},
	I8:      {"i8", "I8", 1}, I16: {"i16", "I16", 2}, I32: {"i32", "I32", 4}, I64: {"i64", "I64", 8},
	U8: {"u8", "U8", 1}, U16: {"u16", "U16", 2}, U32: {"u32", "U32", 4}, U64: {"u64", "U64", 8},
	F16: {"f16", "F16", 2}, BF16: {"bf16", "BF16", 2}, F32: {"f32", "F32", 4}, F64: {"f64", "F64", 8},
}

// String returns the name used in schemas, flags and errors: "f32", "i64".
func (d DType) String() string {
	if int(d) < len(dtypes) {
		return dtypes[d].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Size is the bytes of one element; 0 for an invalid type.
func (d DType) Size() int {
	if int(d) < len(dtypes) {
		return dtypes[d].size
	}
	return 0
}

// Tensor is the name of the type in a safetensors header: "F32".
func (d DType) Tensor() string {
	if int(d) < len(dtypes) {
		return dtypes[d].tensor
	}
	return ""
}

// IsFloat reports a floating-point type.
func (d DType) IsFloat() bool { return d >= F16 && d <= F64 }

// IsInt reports a signed or unsigned integer type (not Bool).
func (d DType) IsInt() bool { return d >= I8 && d <= U64 }

// ParseDType is the inverse of String.
func ParseDType(s string) (DType, error) {
	for i := Bool; int(i) < len(dtypes); i++ {
		if dtypes[i].name == s {
			return i, nil
		}
	}
	return Invalid, fmt.Errorf("unknown dtype %q: %w", s, ErrSchema)
}

// MarshalText writes the name.
func (d DType) MarshalText() ([]byte, error) {
	if d == Invalid || int(d) >= len(dtypes) {
		return nil, fmt.Errorf("dtype %d: %w", uint8(d), ErrSchema)
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads the name.
func (d *DType) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDType(string(b))
	return err
}
