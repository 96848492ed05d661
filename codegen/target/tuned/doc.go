// Package tuned has the file in which a program keeps what was measured about its kernels: which numbers of a profile
// suit one of them better than those of the processor's profile. `healc tune f.heal` writes it, as f.tune.
//
// In: the text of such a file, and kernels. Out: for each kernel the numbers that it is scheduled with in place of
// those of the profile. No number changes a result.
//
// A file is JSON, for people to read and to commit: sorted, one line for each way that was tried. An entry is found by
// its Key. One of an older healc whose kernel is written otherwise now is never found again, and does no harm.
package tuned
