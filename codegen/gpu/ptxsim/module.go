package ptxsim

import "healc/codegen/gpu/ptx"

// Module is PTX text that was understood completely. It is immutable, and may run on any number of devices.
type Module struct {
	*ptx.Module

	funcs map[string]*function
}

// function is a translated function.
type function struct {
	*ptx.Function

	code    []op
	nvals   int             // slots of values in a frame: registers, then constants and symbols
	npreds  int             // slots of predicates
	fixed   []fixed         // the slots that are no registers
	tracked bool            // some register may be read before it is written
	symbols []*ptx.Variable // shared, global and constant variables that it names
	calls   []*function
}
