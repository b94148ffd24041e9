// Package codes has the operations that make integers of texts and of categories: --tokenize and --encode.
package codes
