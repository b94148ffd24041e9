package plan

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// dropped ends the names of counts of samples that are in no output.
const dropped = ": dropped"

// Dropped is a count of samples that are in no output, by the reason.
func Dropped(reason string, n int64) shardify.Count {
	return shardify.Count{Name: reason + dropped, N: n}
}

// Reasons are those of some counts that say why samples are in no output.
func Reasons(list []shardify.Count) []shardify.Count {
	return slices.DeleteFunc(slices.Clone(list), func(c shardify.Count) bool { return !strings.HasSuffix(c.Name, dropped) })
}

// Reason is why samples of a count of Dropped are in no output.
func Reason(c shardify.Count) string { return strings.TrimSuffix(c.Name, dropped) }

// Drops are the samples that are in no output, as far as a plan knows: operations find more.
func Drops(p *Plan) (list []shardify.Count) {
	list = slices.Clone(p.In.Unread)
	if p.Splits.Unsplit > 0 {
		list = append(list, Dropped(p.Splits.Rule.Why(), p.Splits.Unsplit))
	}
	return list
}
