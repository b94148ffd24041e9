package parquet

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/parquet/internal/page"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// leafType is what the values of a leaf become.
type leafType struct {
	dtype shardify.DType
	shape []int
	media string
	attrs map[string]string
	page  page.Column // Type, Width, Form
	sniff bool        // bytes of which nothing is known
}

// widths are the bytes of a value in the file.
var widths = map[format.Type]int{
	format.Boolean: 1, format.Int32: 4, format.Int64: 8, format.Int96: 12, format.Float: 4, format.Double: 8,
}

// maxFixed bounds the bytes of one FIXED_LEN_BYTE_ARRAY value.
const maxFixed = 64 << 20

// errNothing is about columns that have no type, as Arrow's null has none.
var errNothing = shardify.Unsupported("it holds nothing but missing values")

// typeOf decides by the logical type, or by the converted type of older files.
func typeOf(n *pq.Node, text string) (leafType, error) {
	t := leafType{page: page.Column{Type: n.Type, Width: widths[n.Type]}}
	if n.Type == format.FixedLenByteArray {
		if t.page.Width = n.Width; n.Width == 0 || n.Width > maxFixed {
			return t, shardify.Unsupported("values of %d bytes", n.Width)
		}
	}
	t.page.Form.Width = t.page.Width
	if n.Logical == nil {
		if l := converted(n); l != nil {
			m := *n
			m.Logical = l
			n = &m
		}
	}
	switch l := n.Logical.(type) {
	case *format.NullType:
		return t, errNothing
	case *format.DecimalType:
		return t.decimal(l)
	case *format.TimestampType, *format.TimeType, *format.DateType:
		if t.time(l) {
			return t, nil
		}
	case *format.IntType:
		if t.integer(l) {
			return t, nil
		}
	case *format.UUIDType, *format.Float16Type:
		if t.fixed(l) {
			return t, nil
		}
	}
	if n.Type == format.ByteArray {
		t.bytes(n, text)
		return t, nil
	}
	return t.plain(n)
}

// plain is the type of values without a logical type.
func (t *leafType) plain(n *pq.Node) (leafType, error) {
	switch n.Type {
	case format.Boolean:
		t.dtype = shardify.Bool
	case format.Int32:
		t.dtype = shardify.I32
	case format.Int64:
		t.dtype = shardify.I64
	case format.Int96:
		t.dtype, t.attrs = shardify.I64, map[string]string{"time": "ns"}
		t.page.Form = page.Form{Kind: page.Int96Nanos, Width: 8}
	case format.Float:
		t.dtype = shardify.F32
	case format.Double:
		t.dtype = shardify.F64
	default: // FIXED_LEN_BYTE_ARRAY
		if n.HasConverted && n.Converted == deprecated.Interval && n.Width == 12 {
			t.dtype, t.shape, t.attrs = shardify.U32, []int{3}, map[string]string{"unit": "months, days, ms"}
			break
		}
		t.dtype, t.shape = shardify.U8, []int{n.Width}
	}
	return *t, nil
}

// converted is the logical type of a converted type; nil if it has none.
func converted(n *pq.Node) format.LogicalTypeValue {
	if !n.HasConverted {
		return nil
	}
	unit := func(v format.TimeUnitValue) format.TimeUnit { return format.TimeUnit{Value: v} }
	switch n.Converted {
	case deprecated.UTF8:
		return &format.StringType{}
	case deprecated.Enum:
		return &format.EnumType{}
	case deprecated.Json:
		return &format.JsonType{}
	case deprecated.Bson:
		return &format.BsonType{}
	case deprecated.Decimal:
		return &format.DecimalType{Scale: n.Scale, Precision: n.Precision}
	case deprecated.Date:
		return &format.DateType{}
	case deprecated.TimeMillis:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: unit(&format.MilliSeconds{})}
	case deprecated.TimeMicros:
		return &format.TimeType{IsAdjustedToUTC: true, Unit: unit(&format.MicroSeconds{})}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(&format.MilliSeconds{})}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: unit(&format.MicroSeconds{})}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &format.IntType{BitWidth: 8 << (n.Converted - deprecated.Uint8)}
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return &format.IntType{BitWidth: 8 << (n.Converted - deprecated.Int8), IsSigned: true}
	}
	return nil
}

// bytes is the type of byte arrays.
func (t *leafType) bytes(n *pq.Node, text string) {
	t.dtype, t.page.Form.Width = shardify.U8, 0
	switch n.Logical.(type) {
	case *format.StringType, *format.EnumType:
		t.media = "txt"
		if text == "bytes" {
			t.media = "bin"
		}
	case *format.JsonType:
		t.media = "json"
	case *format.BsonType:
		t.media = "bson"
	default:
		t.media, t.sniff = "bin", true
	}
}

// integer is the type of an annotated INT32 or INT64; false if the annotation does not
// fit, which is then ignored.
func (t *leafType) integer(l *format.IntType) bool {
	want := map[format.Type][]int8{format.Int32: {8, 16, 32}, format.Int64: {64}}[t.page.Type]
	for _, w := range want {
		if l.BitWidth != w {
			continue
		}
		switch {
		case w == 64 && l.IsSigned:
			t.dtype = shardify.I64
		case w == 64:
			t.dtype = shardify.U64
		case w == 32 && l.IsSigned:
			t.dtype = shardify.I32
		case w == 32:
			t.dtype = shardify.U32
		case w == 16 && l.IsSigned:
			t.dtype, t.page.Form = shardify.I16, page.Form{Kind: page.Narrow16, Width: 2}
		case w == 16:
			t.dtype, t.page.Form = shardify.U16, page.Form{Kind: page.NarrowU16, Width: 2}
		case l.IsSigned:
			t.dtype, t.page.Form = shardify.I8, page.Form{Kind: page.Narrow8, Width: 1}
		default:
			t.dtype, t.page.Form = shardify.U8, page.Form{Kind: page.NarrowU8, Width: 1}
		}
		return true
	}
	return false
}

// time is the type of dates, times and time stamps: i64 with their unit.
func (t *leafType) time(l format.LogicalTypeValue) bool {
	attrs := map[string]string{}
	switch l := l.(type) {
	case *format.DateType:
		if t.page.Type != format.Int32 {
			return false
		}
		attrs["time"] = "D"
	case *format.TimeType:
		attrs["unit"] = unitName(l.Unit)
		if attrs["unit"] == "" {
			return false
		}
	case *format.TimestampType:
		if t.page.Type != format.Int64 {
			return false
		}
		if attrs["time"] = unitName(l.Unit); attrs["time"] == "" {
			return false
		}
		if l.IsAdjustedToUTC {
			attrs["timezone"] = "UTC"
		}
	}
	switch t.page.Type {
	case format.Int32:
		t.page.Form = page.Form{Kind: page.WidenI64, Width: 8}
	case format.Int64:
	default:
		return false
	}
	t.dtype, t.attrs = shardify.I64, attrs
	return true
}

func unitName(u format.TimeUnit) string {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return "ms"
	case *format.MicroSeconds:
		return "us"
	case *format.NanoSeconds:
		return "ns"
	}
	return ""
}

func (t *leafType) fixed(l format.LogicalTypeValue) bool {
	if t.page.Type != format.FixedLenByteArray {
		return false
	}
	switch l.(type) {
	case *format.UUIDType:
		t.dtype, t.shape, t.attrs = shardify.U8, []int{16}, map[string]string{"kind": "uuid"}
		return t.page.Width == 16
	case *format.Float16Type:
		t.dtype = shardify.F16
		return t.page.Width == 2
	}
	return false
}

// decimal is the type of decimals, by the rule for all tables.
func (t *leafType) decimal(l *format.DecimalType) (leafType, error) {
	if l.Scale > l.Precision || l.Precision > 1000 {
		return *t, shardify.Unsupported("a decimal of %d digits, %d of them behind the point", l.Precision, l.Scale)
	}
	var f shardify.Field
	if err := coltype.Decimal(&f, int(l.Precision), int(l.Scale)); err != nil {
		return *t, err
	}
	switch {
	case f.Media != "" && t.page.Type != format.ByteArray && t.page.Type != format.FixedLenByteArray:
		return *t, shardify.Unsupported("a decimal of %d digits in %v", l.Precision, t.page.Type)
	case f.Media != "":
		t.page.Form = page.Form{Kind: page.DecimalText, Scale: int(l.Scale)}
	case t.page.Type == format.Int32:
		t.page.Form = page.Form{Kind: page.WidenI64, Width: 8}
	case t.page.Type == format.Int64:
	case t.page.Type == format.ByteArray, t.page.Type == format.FixedLenByteArray:
		t.page.Form = page.Form{Kind: page.DecimalI64, Width: 8}
	default:
		return *t, shardify.Unsupported("a decimal in %v", t.page.Type)
	}
	t.dtype, t.media, t.attrs = f.DType, f.Media, f.Attrs
	return *t, nil
}
