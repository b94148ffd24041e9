// Package tokenize turns text into token ids: exactly those of the library that made the tokenizer's file.
// It reads
//
//   - tokenizer.json of Hugging Face tokenizers: byte-level BPE, BPE and unigram of the SentencePiece kind,
//     WordPiece, with their normalizers and added tokens,
//   - .model of SentencePiece: unigram and BPE,
//   - ranks of tiktoken, whose pattern must be named.
//
// What a file asks for and this package does not do is refused by Load, by its place and name. A pattern is
// never taken for one that is nearly the same. It does not train tokenizers and does not turn ids into text.
//
//	t, err := tokenize.Load(data, tokenize.Options{})
//	e := t.NewEncoder() // of one goroutine
//	ids, err := e.Append(nil, text)
//
// On one core it is 2 to 20 times as fast as tokenizers, tiktoken and sentencepiece: `make bench-tokens`
// compares ids and times, bench/TOKENS.md has the table. Errors wrap shardify.ErrCorrupt,
// shardify.ErrUnsupported or shardify.ErrUsage.
//
// The formats of files are here; what they ask for is in packages of its own:
//
//	load.go json*.go scores.go tiktoken.go sentencepiece.go   what the files say
//	encode.go added.go                                        the path of a text; added tokens
//	normal                                                    the text before it is cut
//	split pattern                                             the text cut into words
//	model trie                                                a word to ids
//	chars                                                     what characters are
package tokenize
