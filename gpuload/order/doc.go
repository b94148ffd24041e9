// Package order is the order in which a trainer sees samples: which sample is at each
// position of each epoch, and which positions fall to which step and rank. It computes, and
// neither reads nor remembers anything: any position costs constant time. docs/design/loader.md
// defines the order precisely enough to compute it elsewhere; it is a promise, kept by
// testdata/order.golden.
//
//	o, err := order.New(order.Config{Shuffle: order.Global, Seed: 1, Parts: []int64{50000}})
//	first := o.At(0, 0) // of epoch 0
//
//	file        what it has
//	order.go    Order: the parameters, checked, and At
//	cursor.go   Cursor: positions one after the other, which share work
//	feistel.go  permutations of any length without a table
//	stream.go   blocks and streams of a Block shuffle
//	lists.go    samples of each epoch that the user gives
//	mix.go      shares of several inputs
//	draw.go     weighted and balanced draws
//	steps.go    Steps: a rank's rows of each step
//	packs.go    Packs: batches by budgets
//	sweep.go    sweep: lengths of many positions, for counting batches
//	windows.go  Windows: what a Block shuffle reads ahead, and where a step's rows are in it
//	state.go    State: a place in an order, as text
package order
