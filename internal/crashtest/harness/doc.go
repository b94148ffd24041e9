// Package harness is what the suites that break conversions on purpose share: the
// programs, small inputs of every format, file systems that may be broken, and the
// judgement of what a fault has left.
package harness
