// Package bench measures shardify: scripts, and programs that they need. It has tests only.
package bench
