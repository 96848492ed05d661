// Package cudatest is a libcuda for tests: C functions with the names and parameters of the driver API, called as a
// program calls the real ones, which do their work on any device.Device, such as the simulator.
//
// It is strict where the driver is: a call needs a context that is current on its thread, handles have to be alive, and
// what is put on a stream runs no sooner than somebody waits for it, so a copy sees what is in memory by then.
//
// A kernel takes no time, unless a test holds it: until the test ends it, other streams go on, the calls wait that wait
// for the device, and whoever uses or frees what the kernel uses is in conflict with it.
package cudatest
