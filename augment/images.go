package augment

// imageOps are the lines of the table for images.
var imageOps []Op
