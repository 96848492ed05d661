// Package zarr reads and writes arrays of Zarr version 3, which are folders: one file for each chunk, or for each
// shard, which holds many, and zarr.json, which says what they are. A group is a folder of arrays.
//
// The codecs are bytes, transpose, sharding_indexed, gzip, zstd and crc32c; others, as Blosc, are an error that names
// them. What is malformed is an *Error, and takes no more memory than the array that it says it is, and a chunk, which
// what its file can hold limits.
//
// The format: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html.
package zarr

import "fmt"

// Error says what is wrong with a file or a folder.
type Error struct {
	Path   string
	Reason string
	Err    error // the cause, or nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Reason, e.Err)
	}
	return e.Path + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.Err }
