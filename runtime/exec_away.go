package runtime

import (
	"fmt"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/tensor"
)

// Processor is another one than this machine's, which runs plans whose kernels were made for it: in tests an emulated
// one.
type Processor interface {
	// Call is that of the executable which Load would make of the plan and the objects. It writes into args what the
	// entry updates.
	Call(plan *abi.Program, objects [][]byte, threads int, dims []int64, args []*tensor.Tensor) ([]*tensor.Tensor,
		error)
}

// LoadAway makes a program ready to run on p. What it prints, reads and writes is that of p.
func LoadAway(p Processor, plan *abi.Program, objects ...[]byte) *Executable {
	return &Executable{plan: plan, away: func(env Env, dims []int64, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return p.Call(plan, objects, env.Pool.Threads(), dims, args)
	}}
}

// awayInto is CallInto for it.
func (x *Executable) awayInto(env Env, dims []int64, out, args []*tensor.Tensor) error {
	results, err := x.away(env, dims, args)
	if err != nil {
		return err
	}
	if len(out) != len(results) {
		err = fmt.Errorf("the program has %s, not %d", types.Count(len(results), "result"), len(out))
	}
	for i, t := range results {
		if err == nil {
			err = t.CopyTo(out[i])
		}
		t.Close()
	}
	return err
}
