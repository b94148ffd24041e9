// Package grid selects parts of gridded data by the values of coordinates: what the readers
// of HDF5, NetCDF-4 and Zarr have in common. It knows no format. A reader passes the dimensions of
// its arrays with their coordinates, decoded as package cf does, and gets the places of each axis
// that are wanted.
//
//	s, err := grid.Parse("time=2018..2020,latitude=-30..60,level=500,850")
//	...
//	pick, err := s.Pick(axis)   // of one axis: runs of places
package grid
