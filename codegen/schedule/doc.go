// Package schedule decides how the loops of kernels are written: which axis is vectors, how wide they are, what is
// unrolled, fetched ahead and written past the caches.
//
// In: a kernel, as transform.Specialise leaves it for a target, and the target. Out: a kernel.Schedule (Note
// [Schedules] in ir/kernel), which the emitters read. Nothing here computes a value, and no schedule changes one: a
// schedule that is read from text, or drawn at random, gives the bits of any other, as long as Check accepts it.
//
// Every number that was measured on a machine is a field of target.Profile.
package schedule
