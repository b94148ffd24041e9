package ttree

import "sort"

// clusterRanges says where a tree's baskets were flushed together.
type clusterRanges struct {
	// AutoFlush is the entries between flushes after the last range; negative or
	// 0: not known.
	AutoFlush int64
	// RangeEnd is the last entry of each range of equal clusters, and Size the
	// entries of a cluster in it; 0: the range is one cluster.
	RangeEnd, Size []int64
}

// End returns where the cluster of an entry ends, at most entries.
func (c *clusterRanges) End(entry, entries int64) int64 {
	i := sort.Search(len(c.RangeEnd), func(i int) bool { return c.RangeEnd[i] >= entry })
	start, end, size := int64(0), entries, c.AutoFlush
	if i > 0 {
		start = c.RangeEnd[i-1] + 1
	}
	if i < len(c.RangeEnd) {
		end, size = min(entries, c.RangeEnd[i]+1), c.Size[i]
	}
	if size <= 0 || entry < start || size >= end-start {
		return end
	}
	next := start + ((entry-start)/size+1)*size
	return min(next, end)
}
