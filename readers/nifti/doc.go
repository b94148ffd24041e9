// Package nifti reads NIfTI files, the volumes of medical imaging: versions 1 and 2, plain, packed by
// gzip, and pairs of a header (.hdr) and values (.img). Package codecs/nifti parses a header, for --parse of fields, too; package
// readers/internal/arrayfile does the rest.
package nifti
