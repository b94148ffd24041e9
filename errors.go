package shardify

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// The decisions callers make. Test with errors.Is.
var (
	// ErrCorrupt: the bytes contradict their format, or a checksum.
	ErrCorrupt = errors.New("corrupt data")
	// ErrUnsupported: valid, but not something shardify reads or writes.
	ErrUnsupported = errors.New("not supported")
	// ErrSchema: fields do not fit each other or the output format.
	ErrSchema = errors.New("schema mismatch")
	// ErrExists: the output is there already with other content.
	ErrExists = errors.New("already exists")
	// ErrChanged: an input is not what it was when the plan was made. It is not damage
	// that may be skipped: the plan is out of date.
	ErrChanged = errors.New("changed since the plan")
	// ErrUsage: the inputs have nothing of the name, number or type that was asked for.
	ErrUsage = errors.New("wrong usage")
)

// asked is the kind of an ErrSchema that other arguments would cure.
type asked struct{}

func (asked) Error() string   { return ErrSchema.Error() }
func (asked) Unwrap() []error { return []error{ErrSchema, ErrUsage} }

// misused is an error that other arguments would cure.
type misused struct{ error }

func (e misused) Unwrap() []error { return []error{e.error, ErrUsage} }

// Error answers: doing what, to which file, object, field, sample, at which
// byte, why. It is filled at the place that knows the fact; Sample and Offset
// are -1 when unknown.
type Error struct {
	Op     string // "read", "open", "write", "publish"
	File   string
	Object string // inside the file: a member, a data set, a tree
	Field  string
	Sample int64 // absolute, in the input
	Offset int64 // bytes from the start of the file, or of the object if it is compressed
	// At is which sample it is, where Sample was set by code that does not know the inputs:
	// code that knows them fills in File.
	At  *ID
	Err error
}

// Error writes one sentence:
//
//	read a.npz x.npy sample 120448 at byte 2406: crc32 is 1f, stored 2e: corrupt data
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	for _, s := range []string{e.File, e.Object, e.Field} {
		if s == "" || s == e.Object && strings.HasSuffix(e.File, "/"+s) {
			continue // the file is the member of an archive
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	if e.Sample >= 0 {
		fmt.Fprintf(&b, " sample %d", e.Sample)
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	err := e.Err
	if p, ok := err.(*fs.PathError); ok && p.Path == e.File {
		err = p.Err
	}
	b.WriteString(err.Error())
	return strings.TrimPrefix(b.String(), " ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Corrupt makes an error that wraps ErrCorrupt; offset -1 is unknown.
func Corrupt(offset int64, format string, args ...any) *Error {
	return newError(ErrCorrupt, offset, format, args...)
}

// Unsupported makes an error that wraps ErrUnsupported.
func Unsupported(format string, args ...any) *Error {
	return newError(ErrUnsupported, -1, format, args...)
}

// Mismatch makes an error that wraps ErrSchema.
func Mismatch(format string, args ...any) *Error {
	return newError(ErrSchema, -1, format, args...)
}

// Misuse makes an error that wraps ErrSchema and ErrUsage.
func Misuse(format string, args ...any) *Error {
	return newError(asked{}, -1, format, args...)
}

// Misused adds ErrUsage to what err wraps. nil stays nil.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return misused{err}
}

func newError(kind error, offset int64, format string, args ...any) *Error {
	return &Error{Sample: -1, Offset: offset, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), kind)}
}

// Annotate fills the facts that err does not carry yet: op, file and object. An error that is not
// an *Error is wrapped in one. nil stays nil.
func Annotate(err error, op, file, object string) error {
	if err == nil {
		return nil
	}
	e, ok := err.(*Error)
	if !ok {
		return &Error{Op: op, File: file, Object: object, Sample: -1, Offset: -1, Err: err}
	}
	c := *e
	if c.Op == "" {
		c.Op = op
	}
	if c.File == "" {
		c.File = file
	}
	if c.Object == "" {
		c.Object = object
	}
	return &c
}

// Amend changes a copy of err, made an *Error if it is not one.
func Amend(err error, f func(*Error)) error {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{Sample: -1, Offset: -1, Err: err}
	}
	c := *e
	f(&c)
	return &c
}

// Plain is an error's text for people: without the kinds that its words say already,
// and with "corrupt data" once.
func Plain(err error) string {
	s := err.Error()
	for _, kind := range []error{ErrUnsupported, ErrSchema} {
		s = cutKind(s, kind.Error(), 0)
	}
	return cutKind(s, ErrCorrupt.Error(), 1)
}

// cutKind cuts ": KIND" out of a text wherever a part of it ends so, but for the last keep
// of them.
func cutKind(s, kind string, keep int) string {
	kind = ": " + kind
	for end := len(s); ; {
		at := strings.LastIndex(s[:end], kind)
		if at < 0 {
			return s
		}
		end = at
		if rest := s[at+len(kind):]; rest != "" && !strings.ContainsRune(":;,()\n", rune(rest[0])) && !strings.HasPrefix(rest, " (") {
			continue
		}
		if keep > 0 {
			keep--
			continue
		}
		s = s[:at] + s[at+len(kind):]
	}
}
