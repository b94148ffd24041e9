// Package local is the storage of this machine and of what it has mounted.
//
// [Dir] is a folder that a data set is published in. No reader ever sees half of a file
// there: Dir writes under a temporary name, syncs the file, links it under its final name,
// and syncs the folder.
// [Spill] is a scratch file for data whose final place is not known yet.
//
// [Open] and [OpenOwn] open files that must be regular ones. Whatever else has the name, a
// named pipe, a device, a socket, a folder, is refused without a wait: opening a pipe
// would wait for its writer, opening a terminal or a tape does something, and /dev/zero
// never ends. What was opened is what was looked at, so no name can be changed in between.
package local
