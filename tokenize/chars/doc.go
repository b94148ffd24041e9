// Package chars says what characters are to tokenizers: classes, normal forms, lower case, scripts,
// grapheme clusters.
//
//	chars.Load()
//	i := chars.Run(text, 0, chars.Letter) // the letters that text begins with
//
//	nfc := chars.NewForm(false, true)
//	out, err := nfc.Apply(nil, text, 0)
//
// The tables are those of the reference libraries, asked character by character, and so of several
// versions of Unicode: tables/README.md has the version and the origin of each. Packages unicode and
// golang.org/x/text/unicode/norm follow other versions, so that ids of a text would change with the
// version of Go. Input is UTF-8 that was checked before.
//
//	tables.go     tables of bytes for all characters, in blocks that are kept once; classes
//	runs.go       stretches of characters of a class
//	mapping.go    lower case, and what normalizers drop or change
//	nf.go         NFC, NFD, NFKC, NFKD
//	graphemes.go  extended grapheme clusters
//	letters.go    the letters that byte-level vocabularies write bytes with
package chars
