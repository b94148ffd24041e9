// Package model turns words into token ids: byte pair encoding, WordPiece and unigram, each in the form of
// the library that it is from.
//
//	words := model.NewLexicon(&model.BPE{...}, vocab, false)
//	c := model.NewCoder(words) // of one goroutine
//	c.Word([]byte("token"))
//	c.Out // ids
//
// It knows no files and does not cut text into words: see package tokenize for both.
//
//	coder.go                     the path of a word: table, remembered words, model
//	words.go pairs.go            tables
//	bpe.go wordpiece.go          tokenizers, tiktoken, BERT
//	unigram.go                   tokenizers
//	spbpe.go spunigram.go        SentencePiece, which takes characters that are no token otherwise, and
//	                             adds up the scores of a whole text
package model
