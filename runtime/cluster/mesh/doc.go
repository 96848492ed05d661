// Package mesh is a communicator in which each rank has a connection to every other: over TCP or by sockets of one
// machine (Join), or within one process (Local), for tests and programs that want several ranks there.
package mesh
