// Package trie finds the longest of many words that a text begins with.
//
//	t := trie.New()
//	t.Add([]byte("to"), 7)
//	t.Pack() // a double array: Next is two loads
//	value, n := t.Longest([]byte("token")) // 7, 2
//
// Words are added to a hash table of edges, whose hash differs from process to process: no words can be
// chosen that make it slow. A packed trie does not change and may be used by many goroutines.
package trie
