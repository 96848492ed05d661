// Package mesh is a communicator in which each rank has a connection to every other: over TCP (Join), or within one
// process (Local), for tests and programs that want several ranks there.
package mesh
