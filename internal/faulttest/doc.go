// Package faulttest breaks conversions in every way that a cluster does: killed
// processes, cut power, failing system calls, full disks, limits, damaged inputs,
// several writers of the same shards. It has tests only; docs/reliability.md has their
// results.
package faulttest
