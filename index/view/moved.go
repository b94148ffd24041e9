package view

import (
	"maps"
	"slices"

	"github.com/shardify/shardify/index"
)

// Moved is the first setting that a set was made with and that moves its rows or leaves some out, as
// text; "" without one.
func Moved(m *index.Manifest) string {
	made := map[string]string{"shuffle": m.Recipe["shuffle"], "split": m.Recipe["split"]}
	for _, op := range m.Operations {
		if op.Op == "where" || op.Op == "fraction" {
			made[op.Op] = op.Text
		}
	}
	for _, key := range slices.Sorted(maps.Keys(made)) {
		if v := made[key]; v != "" && v != "none" {
			return "--" + key + " " + v
		}
	}
	return ""
}
