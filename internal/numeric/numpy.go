package numeric

import (
	"regexp"
	"sync"
)

// numpyType matches what NumPy writes for its types, and for those of libraries that add some: a
// letter with the size in bytes and for times a unit, or a letter or a name alone.
var numpyType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[<>=|]?(` +
		`b1|[iu](1|2|4|8|16)|f(1|2|4|8|10|12|16)|c(4|8|16|20|24|32)|[SaUVT][0-9]*|O[0-9]?|[Mm]8?(\[[0-9]*(as|fs|ps|ns|us|ms|s|m|h|D|W|M|Y|generic)?(/[0-9]+)?\])?|` +
		`[?bBhHiIlLqQpPnNefdgFDG]|` +
		`bool_?|u?int(2|4|8|16|32|64|128|c|p)?|float(16|32|64|96|128)?|complex(64|128|192|256)?|object_?|str_?|bytes_?|void|unicode|string|(datetime|timedelta)64(\[[0-9]*[a-zA-Z]*\])?|` +
		`half|single|double|c?longdouble|byte|ubyte|u?short|u?long|u?longlong|bfloat16|float[468]_e[0-9]m[0-9][a-z0-9]*)$`)
})

// NumpyType reports whether NumPy has a type of this name, read or not.
func NumpyType(s string) bool { return len(s) < 64 && numpyType().MatchString(s) }
