// Package wire is what a test and the runner that an emulator runs for it tell each other, as gob.
package wire

import "healc/lang/types"

// Array is an argument: elements of Memory, which has the bits of each, from Offset on by Strides.
type Array struct {
	DType          types.DType
	Memory         []uint64
	Offset         int64
	Shape, Strides []int64
}

// Request asks for a call of a program.
type Request struct {
	Code    int      // its number
	Plan    []byte   // abi.Program as JSON, with the first request for it
	Objects [][]byte // with the first request
	Dims    []int64
	Args    []Array
	Threads int
}

// Response is what became of it.
type Response struct {
	Failed  string // the run-time error of the program
	Broken  string // any other error
	Results []Array
}
