package emulated

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/tensor"
	"healc/tests/emulated/wire"
)

// Machine is an emulated processor that has the runner. It is a runtime.Processor.
type Machine struct {
	to    *gob.Encoder
	from  *gob.Decoder
	flush func() error // sends what was encoded
	close func() error
	ready func() // is called when it has answered

	mu    sync.Mutex
	codes map[*abi.Program]int
	lost  error // it does not answer any more
}

func newMachine(from io.Reader, to io.Writer, end func() error) *Machine {
	return &Machine{to: gob.NewEncoder(to), from: gob.NewDecoder(from), flush: func() error {
		return nil
	}, close: end, ready: func() {}, codes: map[*abi.Program]int{}}
}

// Close ends the emulator.
func (m *Machine) Close() error { return m.close() }

// Call is that of runtime.Processor.
func (m *Machine) Call(plan *abi.Program, objects [][]byte, threads int, dims []int64,
	args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &wire.Request{Code: len(m.codes), Dims: dims, Threads: threads}
	if code, ok := m.codes[plan]; ok {
		q.Code = code
	} else {
		raw, err := json.Marshal(plan)
		if err != nil {
			return nil, err
		}
		m.codes[plan] = q.Code
		q.Plan, q.Objects = raw, objects
	}
	for _, t := range args {
		q.Args = append(q.Args, laid(t))
	}
	a, err := m.ask(q)
	if err != nil {
		return nil, err
	}
	var out []*tensor.Tensor
	for _, r := range a.Results {
		t, err := tensor.FromBits(r.DType, r.Shape, r.Memory)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	after := changed(plan.Funcs[0], args) // their contents are the last results
	n := len(out) - len(after)
	for i, t := range out[n:] {
		if err == nil {
			err = t.CopyTo(after[i])
		}
		t.Close()
	}
	return out[:n], err
}

// ask sends a request and waits for the answer.
func (m *Machine) ask(q *wire.Request) (*wire.Response, error) {
	var a wire.Response
	if m.lost == nil {
		m.lost = m.to.Encode(q)
	}
	if m.lost == nil {
		m.lost = m.flush()
	}
	if m.lost == nil {
		m.lost = m.from.Decode(&a)
	}
	if m.lost == nil {
		m.ready()
	}
	switch {
	case m.lost != nil:
		return nil, fmt.Errorf("the emulator has ended: %w", m.lost)
	case a.Broken != "":
		return nil, errors.New(a.Broken)
	case a.Failed != "":
		return nil, &runtime.RuntimeError{Message: a.Failed}
	}
	return &a, nil
}

// laid is t with its layout, in memory of its own.
func laid(t *tensor.Tensor) wire.Array {
	w := wire.Array{DType: t.DType, Shape: t.Shape, Strides: t.Strides}
	size := int64(1)
	for k, n := range t.Shape {
		if n == 0 {
			return w
		}
		far := (n - 1) * t.Strides[k]
		if far < 0 {
			w.Offset -= far
		}
		size += max(far, -far)
	}
	w.Memory = make([]uint64, size)
	index := make([]int64, len(t.Shape))
	for _, bits := range t.Bits() {
		at := w.Offset
		for k, i := range index {
			at += i * t.Strides[k]
		}
		w.Memory[at] = bits
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < t.Shape[k] {
				break
			}
			index[k] = 0
		}
	}
	return w
}

// changed are the arguments that an entry changes, in the order of its updates.
func changed(entry *abi.Function, args []*tensor.Tensor) []*tensor.Tensor {
	var out []*tensor.Tensor
	for _, u := range entry.Updates {
		out = append(out, args[slices.Index(entry.Params, u)])
	}
	return out
}
