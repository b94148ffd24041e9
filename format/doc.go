// Package format is what an input or output format gives and is given. A format is one
// value: [Input] for readers, a line of readers.Formats, and [Output] for writers, a line of
// writers.Formats. Both declare their [Option]s, of which flags, help and recipe keys are made.
//
//	format.go    Input and what its Open gets; Output, and what its functions get
//	ability.go   what only some sources, readers and sinks can do: one named interface each, with
//	             the reason for it. The pipeline asks for them by type assertion
//	parts.go     how lists of inputs too long for one table are planned
//	table.go     the table of input files, and the identity of samples that follows from it
//	options.go   declaration and check of options
//	verify.go    how a format checks its own shards, and foreign files
//	text.go      texts and names of fields from inputs
package format
