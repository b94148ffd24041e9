package mds

var (
	AppendShape  = appendShape
	OpenUnzipped = openUnzipped
	ZippedBytes  = zippedBytes
)
