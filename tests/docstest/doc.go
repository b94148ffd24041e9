// Package docstest runs the code blocks of the README and of docs/. It has tests
// only.
package docstest
