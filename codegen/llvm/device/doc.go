// Package device writes the code of a GPU thread. codegen/gpu decides what each thread of a kernel does, and in which
// order threads meet. This package translates the statements of kernel IR, by the packages that processors have, too,
// one iteration at a time. See Note [Code for devices].
package device
