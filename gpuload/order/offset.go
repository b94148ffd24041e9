package order

// Offset is by how much, less than n, a sample of a stream is moved in an epoch.
func (o *Order) Offset(epoch int, sample int64, n int64) int64 {
	return int64(mix64(derive(o.seed, uint64(epoch), forOffset)+golden*(uint64(sample)+1)) % uint64(n))
}
