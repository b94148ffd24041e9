package format

import "github.com/shardify/shardify"

// NullItems is the --null-items of formats whose lists may lack an item.
var NullItems = Option{
	Name: "null-items", Idle: Permission, Kind: KindEnum, Default: "fail", Values: []string{"fail", "fill"},
	Help: "missing items inside of lists: refuse, or write NaN, 0 or an empty value",
}

// GroupedItems is the same for formats that have missing values and no lists of them until rows
// are grouped, or a file is a sample.
var GroupedItems = quiet(NullItems)

func quiet(o Option) Option {
	o.Quiet = true
	return o
}

// FillsItems reads the option.
func FillsItems(o Options) bool { return o[NullItems.Name] == "fill" }

// MissingItem is the error of an item of a list that is missing; what says which.
func MissingItem(what string) *shardify.Error {
	err := shardify.Unsupported("%s is missing, which no list can express; --null-items fill writes NaN, 0 or an empty value", what)
	return Cure(err, With(NullItems.Name, "fill", "NaN, 0 or an empty value in its place"))
}
