// Package storage is the vocabulary of files: where inputs are read from and where data
// sets are published. It imports the standard library alone; the packages below it are
// the storages themselves.
//
//	storages  the table: which scheme of an address is which storage
//	http      inputs on web servers
//	local     files of this machine and of what it has mounted
//	memory    files in memory, for tests
//	remote    what storages on other machines share: requests, retries, reading ahead
//	xrootd    inputs on XRootD servers
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
//
// # Who may wait, and how it ends
//
// A storage may take as long as it likes to answer. Open, Stat and List of [FS], Commit and
// Flush of a [Store] have a context, which ends them. Reads of a [File] have none, so that
// every parser can read from an io.ReaderAt; [Bound] ends them: the FS of a run is bound to
// its context, a read that waits then returns at once, and what the storage answers later
// is dropped. A storage that can end a request by itself implements [ContextReader].
// Files of this machine are read by the kernel, and nothing ends that: a process in such a
// read cannot even be killed. Create, writes and Close have no context; package stall
// reports when they do not return.
package storage
