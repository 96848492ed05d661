// Package library makes shared libraries of programs and calls them, as a C program would: for tests that compare
// them with the interpreter.
package library

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/aot/names"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/dynlib"
	"healc/runtime/objload"
	"healc/runtime/tensor"
	"healc/tests/random"
)

// Lib is an open library. It is never closed, except by Close.
type Lib struct {
	prefix string
	handle uintptr
}

var count atomic.Int64

// Build links the objects of l in dir and opens the library.
func Build(dir string, l *aot.Library) (*Lib, error) {
	return buildAs(dir, l, dynlib.Now)
}

func buildAs(dir string, l *aot.Library, mode dynlib.Mode) (*Lib, error) {
	objects, err := aot.Objects(l)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("lib%d.so", count.Add(1))
	raw, err := aot.Link(objects, l.Prefix, name, l.Target.Triple)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return nil, err
	}
	return open(path, l.Prefix, mode)
}

// Open opens a library whose functions are called prefix_NAME.
func Open(path, prefix string) (*Lib, error) {
	return open(path, prefix, dynlib.Now)
}

func open(path, prefix string, mode dynlib.Mode) (*Lib, error) {
	h, err := dynlib.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return &Lib{prefix, h}, nil
}

// Close unloads the library.
func (l *Lib) Close() error { return dynlib.Close(l.handle) }

// Symbol is the address of a function of the library.
func (l *Lib) Symbol(name string) (uintptr, error) { return dynlib.Symbol(l.handle, name) }

// Own is the symbol of a function that every library has.
func (l *Lib) Own(name string) string { return names.OwnC(l.prefix, name) }

// Do calls a function with integer or pointer arguments.
func (l *Lib) Do(name string, args ...uintptr) (int32, error) {
	fn, err := l.Symbol(name)
	if err != nil {
		return 0, err
	}
	return int32(objload.Call(fn, args...)), nil
}

// UseCPU chooses the code for a kind of processor; false when this machine or the library lacks it.
func (l *Lib) UseCPU(name string) (bool, error) {
	text := append([]byte(name), 0)
	c := outside(len(text))
	defer c.free()
	copy(c.bytes(), text)
	code, err := l.Do(l.Own("use_cpu"), c.addr())
	return code == 0, err
}

// LastError is the message of the last failure.
func (l *Lib) LastError() string { return l.text(l.Own("last_error")) }

// text is the string that a function without arguments returns.
func (l *Lib) text(name string) string {
	fn, err := l.Symbol(name)
	if err != nil {
		return err.Error()
	}
	addr := objload.Call(fn)
	p := *(**byte)(unsafe.Pointer(&addr)) // C memory, which the collector does not move
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Failure is what a function of a library reported.
type Failure struct {
	Code    int32
	Message string
}

func (e *Failure) Error() string { return fmt.Sprintf("code %d: %s", e.Code, e.Message) }

// memory is outside of Go's, so that C may be given its address.
type memory struct{ t *tensor.Tensor }

func outside(bytes int) memory {
	t, err := tensor.Zeros(types.I8, int64(max(bytes, 1)))
	if err != nil {
		panic(err)
	}
	return memory{t}
}

func (m memory) addr() uintptr { return uintptr(m.t.Ptr()) }
func (m memory) bytes() []byte { return unsafe.Slice((*byte)(m.t.Ptr()), m.t.Elems()) }
func (m memory) free()         { m.t.Close() }

// words are 64-bit values in C memory.
type words struct {
	memory
	at int
}

func (w *words) add(values ...uint64) uintptr {
	addr := w.addr() + uintptr(8*w.at)
	for _, v := range values {
		*(*uint64)(unsafe.Add(w.t.Ptr(), 8*w.at)) = v
		w.at++
	}
	return addr
}

// Call calls the function of an entry by way of tensors. results are where the results go; their strides may be any.
func (l *Lib) Call(e *aot.Entry, args, results []*tensor.Tensor) error {
	goruntime.LockOSThread() // the message of a failure belongs to the thread that called
	defer goruntime.UnlockOSThread()
	w := &words{memory: outside(8 * 64 * (len(args) + len(results) + 1))}
	defer w.free()
	list := func(ts []*tensor.Tensor) uintptr {
		var flat []uint64
		for _, t := range ts {
			shape, strides := uint64(0), uint64(0)
			if t.Rank() > 0 {
				var s, st []uint64
				for k := range t.Shape {
					s, st = append(s, uint64(t.Shape[k])), append(st, uint64(t.Strides[k]))
				}
				shape, strides = uint64(w.add(s...)), uint64(w.add(st...))
			}
			flat = append(flat, uint64(uintptr(t.Ptr())), shape, strides)
		}
		return w.add(flat...)
	}
	a, r := list(args), list(results)
	code, err := l.Do(names.C(l.prefix, e.Name)+names.Tensors, a, r)
	if err != nil {
		return err
	}
	if code != 0 {
		return &Failure{code, l.LastError()}
	}
	return nil
}

// ResultShapes are the extents of an entry's results for given arguments.
func ResultShapes(f *ir.Func, e *aot.Entry, args []*tensor.Tensor) ([][]int64, error) {
	shapes := make([][]int64, len(args))
	for i, t := range args {
		shapes[i] = t.Shape
	}
	bind, err := ir.BindDims(f, shapes)
	if err != nil {
		return nil, err
	}
	var out [][]int64
	for _, r := range e.Results {
		s := make([]int64, len(r.Shape))
		for k, d := range r.Shape {
			if s[k], err = d.Eval(bind); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// ErrNoResult says that a result has an extent that no tensor has, so that no caller has memory for it.
var ErrNoResult = errors.New("a result cannot be")

// Run calls the function f of an entry with arguments and results whose layouts are drawn from the seed. The outcome
// is what random.Run says of the same function. The error is a failure of the compiler, never of the program.
func (l *Lib) Run(f *ir.Func, e *aot.Entry, input []*ir.Array, seed uint64) (*random.Outcome, error) {
	args, err := Arguments(input, seed)
	if err != nil {
		return nil, err
	}
	defer Close(args)
	return l.RunOn(f, e, args, seed)
}

// Arguments are tensors of the arrays, whose layouts are drawn from the seed.
func Arguments(input []*ir.Array, seed uint64) ([]*tensor.Tensor, error) {
	var args []*tensor.Tensor
	for i, a := range input {
		t, err := random.Strided(a, seed+uint64(i))
		if err != nil {
			Close(args)
			return nil, err
		}
		args = append(args, t)
	}
	return args, nil
}

// Close closes tensors.
func Close(ts []*tensor.Tensor) {
	for _, t := range ts {
		t.Close()
	}
}

// RunOn is Run on arguments that are there, and which the function may update.
func (l *Lib) RunOn(f *ir.Func, e *aot.Entry, args []*tensor.Tensor, seed uint64) (*random.Outcome, error) {
	var results []*tensor.Tensor
	defer func() { Close(results) }()
	shapes, err := ResultShapes(f, e, args)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for i, s := range shapes {
		if slices.ContainsFunc(s, func(n int64) bool { return n < 0 || n > types.MaxExtent }) {
			return nil, ErrNoResult
		}
		t, err := random.Zeros(e.Results[i].Elem, s, r.Uint64())
		if err != nil {
			return nil, err
		}
		results = append(results, t)
	}
	var failed *Failure
	if err := l.Call(e, args, results); errors.As(err, &failed) {
		if failed.Message == "" || failed.Code == aot.CodeArgument {
			return nil, failed
		}
		return &random.Outcome{Failed: failed.Message}, nil
	} else if err != nil {
		return nil, err
	}
	out := &random.Outcome{}
	keep := func(t *tensor.Tensor) {
		out.Results = append(out.Results, &ir.Array{DType: t.DType, Shape: t.Shape, Bits: t.Bits()})
	}
	for _, t := range results {
		keep(t)
	}
	for _, k := range f.Updates {
		keep(args[k])
	}
	return out, nil
}
