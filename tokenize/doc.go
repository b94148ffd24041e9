// Package tokenize turns text into token ids: exactly those of the library that made
// the tokenizer's file. It reads
//
//   - tokenizer.json of Hugging Face tokenizers: byte-level BPE, BPE and unigram of the
//     SentencePiece kind, WordPiece, with their normalizers and added tokens,
//   - .model of SentencePiece: unigram and BPE,
//   - ranks of tiktoken, whose pattern must be named.
//
// What a file asks for and this package does not do is refused by [Load], by its place and
// name. A pattern is never taken for one that is nearly the same.
//
//	t, err := tokenize.Load(data, tokenize.Options{})
//	e := t.NewEncoder()
//	ids, err := e.Append(nil, text)
//
// Each layer is a few files:
//
//	load.go json.go tiktoken.go sentencepiece.go   what the files say
//	added.go normalize.go nf.go charsmap.go        the text before it is cut: added tokens, other characters
//	pattern.go split.go                            the text cut into words
//	bpe.go wordpiece.go unigram.go spunigram.go    a word to ids
//	scores.go                                      the reference's numbers
//	words.go pairs.go trie.go tables.go            tables
//	encode.go                                      the path of a text through these
//
// Characters are what tables/ says, never what Go's Unicode tables say: those are of another
// version than the libraries'. tables/README.md has their origin and licence.
package tokenize
