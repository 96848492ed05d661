// Command runner runs compiled functions for tests, on the processor that they are compiled for: an emulated one, as a rule.
// It takes the name of a file with an abi.Bundle as JSON, reads requests from its standard input, and writes responses.
package main

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"healc/runtime"
	"healc/runtime/abi"
	"healc/tests/emulated/wire"
)

func main() {
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}

// runner has the code that was loaded.
type runner struct {
	bundle abi.Bundle
	loaded map[*abi.Code]*runtime.Executable
	pools  map[int]*runtime.Pool
}

func serve(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r := &runner{loaded: map[*abi.Code]*runtime.Executable{}, pools: map[int]*runtime.Pool{}}
	if err := json.Unmarshal(raw, &r.bundle); err != nil {
		return err
	}
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var q wire.Request
		if err := in.Decode(&q); err != nil {
			return nil // the test has ended
		}
		a, err := r.call(&q)
		var failed *runtime.RuntimeError
		if errors.As(err, &failed) {
			a = &wire.Response{Failed: failed.Message}
		} else if err != nil {
			a = &wire.Response{Broken: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

// pool has so many threads, and splits every kernel.
func (r *runner) pool(threads int) (*runtime.Pool, error) {
	if p := r.pools[threads]; p != nil {
		return p, nil
	}
	p, err := runtime.NewPool(threads)
	if err == nil {
		p.SplitAll()
		r.pools[threads] = p
	}
	return p, err
}

func (r *runner) call(q *wire.Request) (*wire.Response, error) {
	f := &r.bundle.Funcs[q.Func]
	code := &f.Packed
	if q.Strided {
		code = f.Strided
	}
	if r.loaded[code] == nil {
		x, err := runtime.Load(code.Plan, code.Objects...)
		if err != nil {
			return nil, err
		}
		r.loaded[code] = x
	}
	pool, err := r.pool(q.Threads)
	if err != nil {
		return nil, err
	}
	var args []*runtime.Tensor
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	for _, a := range q.Args {
		base, err := runtime.FromBits(a.DType, []int64{int64(len(a.Memory))}, a.Memory)
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
	results, err := r.loaded[code].Call(runtime.Env{Pool: pool}, q.Dims, args...)
	if err != nil {
		return nil, err
	}
	a := &wire.Response{}
	for _, t := range results {
		a.Results = append(a.Results, wire.Array{DType: t.DType, Shape: t.Shape, Memory: t.Bits()})
		t.Close()
	}
	entry := code.Plan.Funcs[0]
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
