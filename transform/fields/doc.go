// Package fields has the operations that make fields: computed, constant for each input, under
// other names, and one of several.
//
//	define.go rename.go  --define, --rename
//	set.go totals.go     --set, and sums over other tables of the inputs for it
//	stack.go pack.go     --stack, --pack; merge.go writes columns side by side for both
package fields
