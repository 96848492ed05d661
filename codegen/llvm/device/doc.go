// Package device writes the code of a GPU thread. codegen/gpu decides what each thread of a kernel does, and in which
// order threads meet. What the statements of kernel IR compute is translated here, by the packages that processors
// have, one iteration at a time. See Note [Code for devices].
package device
