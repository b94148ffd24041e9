// Package pattern cuts text into words by the regular expressions of known tokenizers, each with a scanner
// of its own that finds the same words in one pass.
//
//	p, ok := pattern.Named("cl100k") // or pattern.Of(`'s|'t|...`), the text of the expression
//	for i := 0; i < len(text); {
//		j := p.Next(text, i)
//		word := text[i:j]
//		i = j
//	}
//
// It is no engine for regular expressions: an expression that is not in the table is refused, however near
// it looks to one that is. Package regexp has no lookahead, (?!\S), which all but one of them need.
// Named and Of load the classes of characters that Next needs.
package pattern
