package runtime

import (
	"fmt"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/memory"
)

// Memory is what a call of a program takes beside its arguments, in bytes as the allocator hands them out: at
// least 64 for each piece, a power of two up to 64 KiB and whole pages from there.
type Memory struct {
	Results   int64
	Arena     int64 // all temporary buffers; kept between calls
	Constants int64 // tensors that the program contains; made by the first call
}

// Total is the sum.
func (m Memory) Total() int64 { return m.Results + m.Arena + m.Constants }

// MemoryOf computes what the entry of a plan takes, before anything runs, for these values of its shape
// parameters. Functions that the entry calls as steps of the plan have arenas of their own, which are not counted,
// and neither is what input operations read.
func MemoryOf(plan *abi.Program, dims []int64) (Memory, error) {
	bind, err := bindDims(plan, dims)
	if err != nil {
		return Memory{}, err
	}
	f, err := bindBuffers(plan.Funcs[0], bind)
	if err != nil {
		return Memory{}, err
	}
	return f.memory(), nil
}

// memory is what one activation of the function takes.
func (f *boundFunc) memory() (m Memory) {
	if f.arena > 0 {
		m.Arena = memory.Allocated(f.arena)
	}
	for i := range f.bufs {
		b := &f.bufs[i]
		switch {
		case b.dtype == types.String:
		case b.kind == abi.Output:
			m.Results += memory.Allocated(b.bytes)
		case b.kind == abi.Data:
			m.Constants += memory.Allocated(b.bytes)
		}
	}
	return m
}

// bindDims names the values of the shape parameters.
func bindDims(plan *abi.Program, dims []int64) (map[string]int64, error) {
	if len(dims) != len(plan.Dims) {
		return nil, fmt.Errorf("%s has %d shape parameters, not %d", plan.Name, len(plan.Dims), len(dims))
	}
	bind := map[string]int64{}
	for i, name := range plan.Dims {
		bind[name] = dims[i]
	}
	return bind, nil
}

// bindBuffers evaluates the buffers of a function and places those of the arena.
func bindBuffers(def *abi.Function, bind map[string]int64) (*boundFunc, error) {
	f := &boundFunc{def: def, bind: bind}
	for i := range def.Buffers {
		b, err := f.bindBuffer(&def.Buffers[i])
		if err != nil {
			return nil, err
		}
		f.bufs = append(f.bufs, b)
	}
	return f, f.place()
}
