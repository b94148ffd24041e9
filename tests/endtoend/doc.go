// Package endtoend runs the built programs the way users do. It has tests only.
package endtoend
