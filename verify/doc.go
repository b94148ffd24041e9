// Package verify checks a data set: it finds every byte that is not what the
// conversion wrote, and says in which file and where.
//
//	report, err := verify.Run(ctx, verify.Options{Dir: dir})
//	for _, p := range report.Problems { ... }
//
// The levels go from cheap to dear: manifest, sizes and names of files, offset
// indexes, structure of the shards, checksums of all or of a part of them, and,
// on request, values against the source. A damaged shard never stops the others.
// A folder without a manifest is checked as far as its receipts go. What can be
// made anew from intact shards (offset indexes, files for foreign loaders, the
// manifest) is repaired on request; shards are never touched.
//
// [Lint] checks tars and safetensors files made by others for what makes some
// loader misread them.
package verify
