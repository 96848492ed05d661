// Package testhook is what tests change and programs cannot: it has no part in what a program means or how it is
// compiled.
package testhook

import "healc/runtime"

// Processor says which processor runs code for a kind of them, as codegen.Target.CPU has it, in place of this
// machine's; a nil one is this machine's. Tests put an emulator here, before they compile anything.
var Processor = func(cpu string) (runtime.Processor, error) { return nil, nil }

// Sandboxed is what the process of a sandbox does before it calls a function, nil for nothing: tests put the code of an
// attacker here. What it gives is printed.
var Sandboxed func() string

// Compiled is told of each kernel that a rank of several makes code of: tests count them.
var Compiled = func(kernel string) {}

// SplitAll makes programs that are compiled with opts, a *heal.Options, run every kernel on all threads, however small
// it is. The root package puts it here.
var SplitAll func(opts any)
