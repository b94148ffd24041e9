// Package normal changes texts as tokenizers do before they cut them into words: by a list of steps.
//
//	n := normal.Normalizer{chars.NewForm(true, false), normal.Lowercase{Map: chars.LowerMap()}}
//	var m normal.Memory // of one goroutine
//	out, err := n.Apply(text, &m, normal.MayGrow(len(text)))
//
// What a step may add is bounded, so that no file of a tokenizer makes a small text large.
// Tables of characters that SentencePiece compiled into a file are charsmap.go, the rules of its models
// spnormal.go.
package normal
