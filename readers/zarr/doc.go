// Package zarr reads Zarr stores of formats 2 and 3 as samples.
//
// An input is the file of metadata at the root of a store (store.Roots), which stands for the
// folder that it is in, or a zip file. All is done by package readers/internal/arrays, whose model
// is Zarr's: its package store finds the arrays, node understands their metadata and decodes chunks.
package zarr
