// Package parttest tests plans in parts: that a data set does not depend on who works
// on it, what a plan of many inputs takes, and what damage does.
package parttest
