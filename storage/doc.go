// Package storage is the vocabulary of files: where inputs are read from and where data
// sets are published. It imports the standard library alone; the packages below it are
// the storages themselves.
//
//	local     files of this machine and of what it has mounted
//	memory    files in memory, for tests
//	fault     wraps another storage and injects faults, for tests
//
// [Store] is what every storage for outputs can do. What only some can do are abilities:
// interfaces of their own, found by [As]. A storage that wraps another one has a method
//
//	Unwrap() any
//
// that returns the one below, and so has all of its abilities. It implements those itself
// that must not go past it: a wrapper that counts writes implements [RangeCopier], a
// folder of another store maps the names of [Sizer].
package storage
