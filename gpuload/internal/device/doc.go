// Package device is where batches are delivered: the host, or a GPU. Device is what every
// one of them does with the slot of a batch; GPU is what one with memory of its own does
// besides, with the tables that batches are gathered from. cuda.go is the only file that
// knows package cuda; it is part of builds with the tag cuda.
package device
