// Package verify checks a data set: it finds every byte that is not what the
// conversion wrote, and says in which file and where.
//
//	report, err := verify.Run(ctx, verify.Options{Dir: dir})
//	for _, p := range report.Problems { ... }
//
// The levels, cheapest first: manifest, names and sizes of files, offset indexes,
// structure of the shards, checksums of all or of a part of them, and, on request,
// values against the source. A damaged shard never stops the others. A folder without
// a manifest is checked as far as its receipts go. What follows from intact shards
// (offset indexes, files for foreign loaders, the manifest) is rebuilt on request;
// shards are never changed. [Lint] checks files made by other programs for what makes
// some loader misread them.
//
// What is true of all formats is checked here, each thing in one place. What the bytes
// of a shard mean is checked by its format: see Verify, Rebuild and Lint of
// [format.Output]. Both report in the words of package verify/problem.
//
//	verify.go      Options, Run, the verdict of a Report
//	set.go         one set: files that nothing names, each shard's size, digest and content
//	load.go        what should be there, by the manifest
//	unfinished.go  the same by plan and receipts
//	splits.go      a set of sets
//	other.go       files beside shards; digests that are wrong, all shards compared
//	derive.go      what follows from the shards, rebuilt in memory
//	repair.go      ... and put in place of what is damaged
//	fix.go         commands that help
//	flip.go        which bit was flipped
//	against.go     values against the inputs, sample by sample (values.go)
//	replay.go      ... against a conversion made again, where samples were changed
//	lint.go        foreign files
//	part.go        which shards are read whole
//	report.go      the Report, gathered from many goroutines
package verify
