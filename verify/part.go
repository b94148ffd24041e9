package verify

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Part says which shards' data are read. The zero value is all of them. Cheap checks are always
// done for all.
type Part struct {
	none    bool
	i, of   int     // shards i, i+of, i+2*of, ... counted from 1
	percent float64 // of the bytes, chosen at random
}

// PartNone reads no data.
var PartNone = Part{none: true}

// ParsePart reads "all", "none", "3/8" (the third of eight parts, which together
// are all) or "5%" (chosen at random).
func ParsePart(s string) (Part, error) {
	bad := fmt.Errorf("part %q: want all, none, a part such as 1/8, or a percentage such as 5%%", s)
	switch {
	case s == "" || s == "all":
		return Part{}, nil
	case s == "none":
		return PartNone, nil
	case strings.HasSuffix(s, "%"):
		f, err := strconv.ParseFloat(s[:len(s)-1], 64)
		if err != nil || !(f > 0 && f <= 100) {
			return Part{}, bad
		}
		return Part{percent: f}, nil
	}
	a, b, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(a)
	of, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || i < 1 || of < i {
		return Part{}, bad
	}
	return Part{i: i, of: of}, nil
}

// choose marks the shards to read. Percentages take shards in an order that the
// seed decides until they have their share of the bytes, at least one.
func (p Part) choose(shards []expected, seed uint64) []bool {
	chosen := make([]bool, len(shards))
	if p.percent == 0 {
		for i := range chosen {
			chosen[i] = !p.none && (p.of == 0 || i%p.of == p.i-1)
		}
		return chosen
	}
	var total, have float64
	for i := range shards {
		total += float64(shards[i].Bytes)
	}
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(shards)) {
		chosen[i] = true
		if have += float64(shards[i].Bytes); have >= total*p.percent/100 {
			break
		}
	}
	return chosen
}

// expected is what the manifest or a receipt says about a shard.
type expected struct {
	shardify.Shard
	from   string // the file that says so
	number int    // of the planned shard; -1 unknown
	first  int64  // number of its first sample in the data set; -1 unknown
	// vouched: there is a manifest or receipt. Else only the name is known, and
	// Samples and Bytes are -1 unless the plan says.
	vouched bool
}

// sample is the number in the data set of sample i of the shard.
func (e *expected) sample(i int64) int64 {
	if e.first < 0 || i < 0 {
		return -1
	}
	return e.first + i
}
