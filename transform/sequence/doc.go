// Package sequence packs lists of tokens, which are documents, into sequences of one length.
//
//	operation.go  --sequences
//	sequence.go   what is asked for, and one shard of it: documents in, sequences out
//	fit.go        which documents share a sequence: best fit, the longest first
package sequence
