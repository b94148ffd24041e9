// Package coltype has the types of columns: those that users give by a pattern of names, the smallest
// that holds the values of several inputs, and those of decimals and of classes.
package coltype
