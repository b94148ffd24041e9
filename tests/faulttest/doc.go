// Package faulttest breaks conversions in every way that a cluster does: killed
// processes (at each state-changing system call, too), cut power, failing system calls,
// full disks, limits, damaged inputs, several writers of the same shards, and the stops
// of batch systems. It has tests only; docs/design/reliability.md has their results.
//
// TestSlurm* run the scripts of `submit slurm` under a real Slurm. They start one of
// their own, with two nodes on this machine, if its daemons are installed (Debian:
// slurm-wlm and munge) and the user is root; otherwise they skip and say why.
// SHARDIFY_SLURM=1 uses the Slurm that sinfo answers for instead.
package faulttest
