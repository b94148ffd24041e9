// Package cluster is what shardify knows of batch systems: which task a process is by
// the variables of the engine that started it, and the scripts that Slurm runs. It has
// no engine of its own, and it never looks at the environment itself.
package cluster
