// Package view shows data sets, and inputs before they are converted, on a page of this machine: a
// small HTTP server on 127.0.0.1 that only reads, and a front end without a build step.
//
//	err := view.Serve(ctx, []pipeline.Inspection{r}, 0, func(address string) { fmt.Println(address) })
//
//	file        what it has
//	serve.go    Serve: the listener, the addresses of the page, and a set that is replaced meanwhile
//	answers.go  what the page asks for: facts, samples, hits, orders
//	media.go    pictures, recordings and reports
//	guard.go    who may ask: host, origin, method, token
//	side.go     what is looked at: sources, their splits, where each sample is
//	pieces.go   a sample as pieces: numbers, texts, pictures, plots, tables
//	shape.go    which axes of an array are a picture, and which choose a slice
//	picture.go  arrays as PNG
//	find.go     conditions, texts and order by a column: bounded, in steps
//	more.go     statistics, differences, augmentation, the order of an epoch
//	page.*      the front end; texts of the data become text nodes only
package view
