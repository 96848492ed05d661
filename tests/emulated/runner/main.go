// Command runner runs compiled functions for tests, on the processor that they are compiled for: an emulated one, as a
// rule. It reads requests from its standard input, and writes responses.
package main

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/pool"
	"healc/runtime/tensor"
	"healc/tests/emulated/wire"
)

func main() {
	r := &runner{loaded: map[int]*runtime.Executable{}, pools: map[int]*pool.Pool{}}
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var q wire.Request
		if err := in.Decode(&q); err != nil {
			return // the test has ended
		}
		a, err := r.call(&q)
		var failed *runtime.RuntimeError
		if errors.As(err, &failed) {
			a = &wire.Response{Failed: failed.Message}
		} else if err != nil {
			a = &wire.Response{Broken: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
			os.Exit(1)
		}
	}
}

// runner has the code that was loaded.
type runner struct {
	loaded map[int]*runtime.Executable
	pools  map[int]*pool.Pool
}

// pool has so many threads, and splits every kernel.
func (r *runner) pool(threads int) (*pool.Pool, error) {
	if p := r.pools[threads]; p != nil {
		return p, nil
	}
	p, err := pool.New(threads)
	if err == nil {
		p.SplitAll()
		r.pools[threads] = p
	}
	return p, err
}

func (r *runner) call(q *wire.Request) (*wire.Response, error) {
	if q.Plan != nil {
		var plan abi.Program
		if err := json.Unmarshal(q.Plan, &plan); err != nil {
			return nil, err
		}
		x, err := runtime.Load(&plan, q.Objects...)
		if err != nil {
			return nil, err
		}
		r.loaded[q.Code] = x
	}
	x := r.loaded[q.Code]
	pool, err := r.pool(q.Threads)
	if err != nil {
		return nil, err
	}
	var args []*tensor.Tensor
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	for _, a := range q.Args {
		base, err := tensor.FromBits(a.DType, []int64{int64(len(a.Memory))}, a.Memory)
		if err != nil {
			return nil, err
		}
		t, err := base.Strided(a.Offset, a.Shape, a.Strides)
		base.Close()
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	results, err := x.Call(runtime.Env{Pool: pool}, q.Dims, args...)
	if err != nil {
		return nil, err
	}
	a := &wire.Response{}
	for _, t := range results {
		a.Results = append(a.Results, wire.Array{DType: t.DType, Shape: t.Shape, Memory: t.Bits()})
		t.Close()
	}
	entry := x.Plan().Funcs[0]
	for _, u := range entry.Updates {
		for i, b := range entry.Params {
			if b == u {
				t := args[i]
				a.Results = append(a.Results, wire.Array{DType: t.DType, Shape: t.Shape, Memory: t.Bits()})
			}
		}
	}
	return a, nil
}
