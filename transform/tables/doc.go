// Package tables has the operation that reads another table: --join adds its columns, by a key.
package tables
