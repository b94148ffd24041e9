// Package parttest tests plans in parts: that a data set does not depend on the processes that work
// on it, what a plan of many inputs takes, and what damage does.
package parttest
