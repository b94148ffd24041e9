package wire

import (
	"strings"

	"github.com/shardify/shardify"
)

// basics are the names of numbers. Long_t has eight bytes in files, whatever the
// machine.
var basics = map[string]shardify.DType{
	"bool": shardify.Bool, "Bool_t": shardify.Bool,
	"char": shardify.I8, "Char_t": shardify.I8, "signed char": shardify.I8, "int8_t": shardify.I8,
	"unsigned char": shardify.U8, "UChar_t": shardify.U8, "uint8_t": shardify.U8, "Byte_t": shardify.U8, "byte": shardify.U8,
	"short": shardify.I16, "Short_t": shardify.I16, "short int": shardify.I16, "int16_t": shardify.I16, "Version_t": shardify.I16,
	"unsigned short": shardify.U16, "UShort_t": shardify.U16, "unsigned short int": shardify.U16, "uint16_t": shardify.U16,
	"int": shardify.I32, "Int_t": shardify.I32, "int32_t": shardify.I32, "signed": shardify.I32, "signed int": shardify.I32,
	"unsigned int": shardify.U32, "UInt_t": shardify.U32, "unsigned": shardify.U32, "uint32_t": shardify.U32,
	"long": shardify.I64, "Long_t": shardify.I64, "long int": shardify.I64, "Long64_t": shardify.I64, "long long": shardify.I64, "long long int": shardify.I64,
	"int64_t": shardify.I64, "ptrdiff_t": shardify.I64, "ssize_t": shardify.I64, "intptr_t": shardify.I64,
	"unsigned long": shardify.U64, "ULong_t": shardify.U64, "unsigned long int": shardify.U64, "ULong64_t": shardify.U64, "unsigned long long": shardify.U64,
	"unsigned long long int": shardify.U64, "uint64_t": shardify.U64, "size_t": shardify.U64, "uintptr_t": shardify.U64,
	"float": shardify.F32, "Float_t": shardify.F32, "Size_t": shardify.F32,
	"double": shardify.F64, "Double_t": shardify.F64,
}

// The streamer's codes of packed floats.
const (
	codeDouble32 = 9
	codeFloat16  = 19
)

// codes are the streamer's codes of other numbers.
var codes = map[int]shardify.DType{
	1: shardify.I8, 2: shardify.I16, 3: shardify.I32, 4: shardify.I64, 5: shardify.F32, 6: shardify.I32, 8: shardify.F64,
	11: shardify.U8, 12: shardify.U16, 13: shardify.U32, 14: shardify.U64, 16: shardify.I64, 17: shardify.U64, 18: shardify.Bool,
}

// Coded is the wire of the streamer code of a number; title has the annotation of
// packed floats.
func Coded(code int, title string) (Wire, bool) {
	switch code {
	case codeDouble32:
		return Packed(title, true), true
	case codeFloat16:
		return Packed(title, false), true
	}
	t, ok := codes[code]
	return Plain(t), ok
}

// Basic is the wire of a number by the name of its type.
func Basic(name string) (Wire, bool) {
	switch name {
	case "Double32_t":
		return Packed("", true), true
	case "Float16_t":
		return Packed("", false), true
	}
	t, ok := basics[name]
	return Plain(t), ok
}

// Tidy removes what says nothing about the bytes: std::, const, spaces.
func Tidy(name string) string {
	name = strings.TrimSpace(name)
	for {
		was := name
		name = strings.TrimPrefix(name, "const ")
		name = strings.TrimPrefix(name, "std::")
		name = strings.TrimPrefix(name, "__cxx11::")
		name = strings.TrimPrefix(name, "struct ")
		name = strings.TrimPrefix(name, "class ")
		name = strings.TrimSpace(name)
		if name == was {
			return name
		}
	}
}

// Template splits "vector<pair<int,float> >" into its head and its arguments.
func Template(name string) (head string, args []string, ok bool) {
	i := strings.IndexByte(name, '<')
	if i < 0 || !strings.HasSuffix(name, ">") {
		return name, nil, false
	}
	inner := name[i+1 : len(name)-1]
	depth, from := 0, 0
	for j := 0; j < len(inner); j++ {
		switch inner[j] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, Tidy(inner[from:j]))
				from = j + 1
			}
		}
	}
	return Tidy(name[:i]), append(args, Tidy(inner[from:])), true
}

// collections have one kind of item, maps a key and a value.
var collections = map[string]bool{
	"vector": true, "list": true, "deque": true, "set": true, "multiset": true, "forward_list": true,
	"unordered_set": true, "unordered_multiset": true,
	"RVec": true, "ROOT::RVec": true, "ROOT::VecOps::RVec": true, "VecOps::RVec": true, "ROOT::Internal::VecOps::RVec": true,
}

var maps = map[string]bool{"map": true, "multimap": true, "unordered_map": true, "unordered_multimap": true}

// IsText reports whether a name is that of one of the two string classes.
func IsText(name string) bool {
	switch name {
	case "string", "TString", "basic_string<char>", "string_view":
		return true
	}
	head, args, ok := Template(name)
	return ok && head == "basic_string" && len(args) > 0 && args[0] == "char"
}

// ItemOf is what a collection type holds: of a map the pair of its arguments. ok
// is false for anything else.
func ItemOf(name string) (item string, isMap, ok bool) {
	head, args, ok := Template(name)
	switch {
	case !ok || len(args) == 0:
		return "", false, false
	case collections[head]:
		return args[0], false, true
	case maps[head] && len(args) >= 2:
		return "pair<" + args[0] + "," + args[1] + ">", true, true
	}
	return "", false, false
}
