package format

// PatchOp is the operation that cuts samples into patches, PatchField the field that says where
// each begins.
const (
	PatchOp    = "patch"
	PatchField = "patch"
)
