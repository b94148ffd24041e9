// Package crashtest kills conversions at each of their state-changing system
// calls and checks what is left. It has tests only.
package crashtest
