// Package mapped maps files into memory so that the program which reads them need not know. In: an open file and which
// of its bytes. Out: their address, and whether they were what the file held.
//
// A mapped file differs from one that was read in three ways, and this package takes each away:
//
//   - Where the disk fails, or the file was shortened, the system sends SIGBUS to who reads the page, in the middle of
//     a kernel, of memcpy or of Go. Note [Failing pages]: a handler puts zeros there, and the range says that it
//     failed.
//   - Who writes to the file changes what was mapped, even between two looks of a kernel at one index. Note [Leases]:
//     before anybody opens the file for writing, a copy takes the place of what is mapped.
//   - Who writes to the memory would change the file, or lose what was written. The memory can only be read.
//
// What cannot be made so is not mapped: the error is errors.ErrUnsupported, and the caller reads the file.
package mapped
