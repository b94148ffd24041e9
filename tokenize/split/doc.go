// Package split cuts text into words and passes them to a coder of package model. Each kind of Splitter has
// a loop of its own; a Chain is the general form, one pre-tokenizer after the other.
//
//	p := split.Splitter{Kind: split.ByteLevel, Inner: pattern.GPT2}
//	var m split.Memory // of one goroutine
//	p.Cut(coder, &m, text, len(text))
//
// chars.Load comes first; pattern.Named and pattern.Of call it.
package split
