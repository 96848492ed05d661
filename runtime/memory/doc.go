// Package memory has the memory that tensors lie in, on the host and on devices: storages with a reference count, the
// allocator and its limits, devices with their memory and streams, and copies between elements of any strides.
//
// Memory of the host lies outside the Go heap. A Storage is released with its last reference; one that is forgotten is
// released by the garbage collector some time later, unless Pin was called.
package memory
