// Package stage copies a data set to where a node reads it fastest: /dev/shm, or a
// disk of its own. It is made for the beginning of a job, run by every process of a
// node at once and by job after job:
//
//	r, err := stage.Run(ctx, stage.Options{Source: "/lustre/train", Dest: "/dev/shm/train"})
//	set, err := gpuload.Open(ctx, r.Path)
//
// One process copies, the others wait for it and use its copy; an existing copy is used unchanged.
// Every file is compared with the manifest's digests, and the tensors with their CRC-32Cs, as it
// passes through, so that nothing is read twice.
//
// Beside DEST, in the folder that holds it, there are while it is made
//
//	.NAME.stage-lock   locked (flock) by the one who copies
//	.NAME.staging/     the copy that is being made
//	.NAME.removing/    an old copy on its way out
//
// DEST gets its name by one rename, when it is complete and durable: a process that finds it finds
// all of it. The lock ends with the process that holds it; the next one takes over the files in
// .NAME.staging, one by one, after checking them again. A published copy has .shardify/staged.json,
// which names the data set it is a copy of. Without it a folder is not ours, and is neither used
// nor removed.
//
// Shared is such copies for as long as any process of the node uses them: the loader's tier
// staged.
package stage
