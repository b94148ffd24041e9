// Package slurmtest runs the scripts of `submit slurm` under a real Slurm, and stops
// conversions as batch systems do. It has tests only.
//
// The tests start a Slurm of their own, with two nodes on this machine, if its daemons
// are installed (Debian: slurm-wlm and munge) and the user is root; otherwise they skip
// and say why. SHARDIFY_SLURM=1 uses the Slurm that sinfo answers for instead.
package slurmtest
