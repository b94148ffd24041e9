package rfile

// The codes of Element.Type, fType in ROOT. A number of code c is a plain member as c, a fixed
// array as CodeArray + c, and an array whose length is another member as CodeCounted + c; the
// codes of numbers are in package wire.
const (
	CodeNone      = -1 // a base class that writes nothing
	CodeBase      = 0  // a base class
	CodeCounter   = 6  // an i32 that is the length of other members
	CodeCharStar  = 7
	CodeBits      = 15 // fBits of TObject
	CodeArray     = 20
	CodeCounted   = 40
	CodesEnd      = 60 // of numbers
	CodeObject    = 61 // of a class derived from TObject, by value
	CodeAny       = 62 // of any other class, by value
	CodeObjectP   = 63 // as CodeObject, by a pointer that is never null
	CodeObjectPtr = 64 // by a pointer that may be
	CodeTString   = 65
	CodeTObject   = 66
	CodeTNamed    = 67
	CodeAnyP      = 68
	CodeAnyPtr    = 69
	CodeSTLString = 365
	CodeStreamer  = 500 // a streamer of its own
)
