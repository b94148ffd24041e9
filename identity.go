package shardify

// Mix spreads the bits of x: each bit of the result depends on every bit of x, and
// different x give different results (the finaliser of splitmix64).
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// golden is the odd number that splitmix64 steps by.
const golden = 0x9e3779b97f4a7c15

// SampleIdentity is the identity of one sample of an input whose NameHash is name.
func SampleIdentity(name uint64, sample int64) uint64 {
	return Mix(name + Mix((uint64(sample)+1)*golden))
}

// SampleSeed seeds the generator of one sample in one operation: seed is what Apply is
// given, identity comes from format.Table.Identity, copy from the sample's ID.
func SampleSeed(seed, identity uint64, copy uint16) uint64 {
	return Mix(Mix(identity+seed*golden) + uint64(copy)*golden)
}
