// Package protowire walks through the fields of messages of Protocol Buffers without knowing what they
// are. It allocates nothing.
//
//	f := protowire.Fields{B: message}
//	for f.Next() {
//		if f.Num == 1 && f.Wire == protowire.Bytes { use(f.Val) }
//	}
//	return f.Err
package protowire
