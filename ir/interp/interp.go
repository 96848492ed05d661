package interp

import (
	"errors"
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/cluster"
)

// Run evaluates the function called entry on args. Its shape parameters are bound from the arguments'
// shapes. The error is a *RuntimeError, except for arguments that do not fit the function. The arrays
// must not be changed afterwards: results may share their elements.
func Run(m *ir.Module, entry string, args []*ir.Array, sys ir.System) ([]*ir.Array, error) {
	f := m.Func(entry)
	if f == nil {
		return nil, fmt.Errorf("there is no function %s", entry)
	}
	shapes := make([][]int64, len(args))
	for i, a := range args {
		shapes[i] = a.Shape
	}
	dims, err := ir.BindDims(f, shapes)
	if err != nil {
		return nil, err
	}
	return RunDims(m, entry, dims, args, sys)
}

// Bounds are what a run may take, and of what it is a part.
type Bounds struct {
	// Ended is asked before each operation, and by those that take long; the run ends with its error. nil: it goes on.
	Ended func() error
	// MaxSteps is how many operations may be evaluated, those of loops and elements counted each time; 0 is any number.
	// One more is a *StepsError.
	MaxSteps int64
	// Available is how many bytes the process can still get; 0: the interpreter asks the system.
	Available int64
	// MaxBytes is how many bytes arrays may take together beside the arguments; 0 is any number.
	MaxBytes int64
	// Cluster are the ranks of the program, of which this run is one; nil: there is one.
	Cluster cluster.Comm
}

// StepsError says that a program evaluates more operations than it may.
type StepsError struct{ Limit int64 }

func (e *StepsError) Error() string {
	return fmt.Sprintf("the program was stopped: it takes more than %d steps", e.Limit)
}

// RunDims is Run with the shape parameters given, for a function whose arguments do not determine them.
func RunDims(m *ir.Module, entry string, dims map[string]int64, args []*ir.Array, sys ir.System) ([]*ir.Array, error) {
	return RunWithin(Bounds{}, m, entry, dims, args, sys)
}

// RunWithin is RunDims with bounds.
func RunWithin(bounds Bounds, m *ir.Module, entry string, dims map[string]int64, args []*ir.Array,
	sys ir.System) ([]*ir.Array, error) {
	f := m.Func(entry)
	if f == nil {
		return nil, fmt.Errorf("there is no function %s", entry)
	}
	values := make([]int64, len(f.Dims))
	for i, name := range f.Dims {
		v, ok := dims[name]
		if !ok {
			return nil, fmt.Errorf("the shape parameter %s of %s has no value", name, entry)
		}
		values[i] = v
	}
	if err := fits(f, dims, args); err != nil {
		return nil, err
	}
	mc := &machine{module: m, system: sys, codes: map[string]*code{}, limit: memoryLimit(bounds.Available),
		bounds: bounds}
	for _, a := range args {
		mc.live += 8 * a.Len()
	}
	if most := bounds.MaxBytes; most > 0 && most < mc.limit-mc.live {
		mc.limit, mc.given = most+mc.live, most
	}
	out, err := mc.call(f, values, args)
	var failed *RuntimeError
	if errors.As(err, &failed) {
		failed.Step = mc.taken
	}
	return out, err
}

// fits checks the arguments against the parameters.
func fits(f *ir.Func, dims map[string]int64, args []*ir.Array) error {
	if len(args) != len(f.Params()) {
		return fmt.Errorf("%s takes %d arguments, not %d", f.Name, len(f.Params()), len(args))
	}
	bind := map[string]types.Dim{}
	for name, v := range dims {
		bind[name] = types.Lit(v)
	}
	for i, p := range f.Params() {
		want, err := p.Type.Shape.Subst(bind)
		if err != nil {
			return err
		}
		got := args[i].Type()
		if got.Elem != p.Type.Elem || !got.Shape.Equal(want) {
			return fmt.Errorf("parameter %s of %s is %s, but the argument is %s", p.Name, f.Name,
				types.Tensor{Elem: p.Type.Elem, Shape: want}, got)
		}
		if n := int64(1); got.Elem != types.String {
			for _, s := range args[i].Shape {
				n *= s
			}
			if n != args[i].Len() {
				return fmt.Errorf("the argument for %s has %d elements, its shape %d", p.Name, args[i].Len(), n)
			}
		}
	}
	return nil
}

// machine is the state of one run.
type machine struct {
	module  *ir.Module
	system  ir.System
	codes   map[string]*code
	depth   int   // how many recursive functions without effects are active, the entry not counted
	depthIO int   // how many with effects
	limit   int64 // bytes that arrays may take together
	given   int64 // the limit as the caller gave it; 0: it is what the system has
	live    int64 // bytes that they take
	bounds  Bounds
	taken   int64 // steps
	over    error // why the run ends before its end

	key      []byte      // of codes, as prepare writes it
	operands []*ir.Array // of the operations that are evaluated, one within the other
	columns  [][]uint64  // of a pointwise operation: its operands and its result
}

// frame is one activation of a function. It is what operations see as their EvalContext.
type frame struct {
	*machine
	values []*ir.Array // by slot
	step   *step       // the one that is evaluated
}

// call evaluates f.
func (m *machine) call(f *ir.Func, dims []int64, args []*ir.Array) ([]*ir.Array, error) {
	c, err := m.prepare(f, dims)
	if err != nil {
		return nil, err
	}
	fr := &frame{machine: m, values: make([]*ir.Array, c.slots)}
	return fr.block(c.body, args)
}

// block evaluates b. The frame does not hold on to what it defines.
func (f *frame) block(b *block, args []*ir.Array) ([]*ir.Array, error) {
	for i, p := range b.params {
		f.values[p] = args[i]
	}
	if len(b.steps) == 0 { // in a loop, nothing else would end it
		if err := f.count(); err != nil {
			return nil, err
		}
	}
	for i := range b.steps {
		if err := f.run(&b.steps[i]); err != nil {
			return nil, err
		}
	}
	out := make([]*ir.Array, len(b.yields))
	for i, y := range b.yields {
		out[i] = f.values[y]
	}
	for _, s := range b.own {
		f.release(s)
	}
	return out, nil
}

// release forgets the value in slot s.
func (f *frame) release(s int) {
	if a := f.values[s]; a != nil {
		f.live -= 8 * a.Len()
		f.values[s] = nil
	}
}

// count counts a step, and is the error of a run that has to end.
func (f *frame) count() error {
	if f.taken++; f.bounds.MaxSteps > 0 && f.taken > f.bounds.MaxSteps {
		f.over = &StepsError{f.bounds.MaxSteps}
	}
	return f.Ended()
}

// run evaluates one operation.
func (f *frame) run(s *step) error {
	if err := f.count(); err != nil {
		return err
	}
	if s.vast != nil {
		return s.vast
	}
	if f.live+s.bytes > f.limit {
		err := outOfMemory(s.op.Span, ir.ArgTypes(s.op.Results)...)
		if f.given > 0 {
			err.Message = fmt.Sprintf("the limit of %d bytes of memory leaves no room for %s, which takes %d bytes",
				f.given, typeList(ir.ArgTypes(s.op.Results)), s.bytes)
		} else {
			err.Message += fmt.Sprintf(", which takes %d bytes, beside %d bytes of other tensors", s.bytes, f.live)
		}
		return err
	}
	bottom := len(f.operands)
	err := f.eval(s)
	clear(f.operands[bottom:])
	f.operands = f.operands[:bottom]
	if f.over != nil {
		return f.over
	}
	if err != nil {
		var already *RuntimeError
		if errors.As(err, &already) {
			return err
		}
		return &RuntimeError{Span: s.op.Span, Message: err.Error(), Err: err}
	}
	for _, d := range s.dead {
		f.release(d)
	}
	return nil
}

// eval evaluates an operation and keeps its results. The operands stay on the run's stack until run takes them away, as
// an operation may return some of them.
func (f *frame) eval(s *step) error {
	var results []*ir.Array
	var err error
	switch {
	case s.program != nil:
		out, err := f.pointwise(s)
		if err == nil {
			f.define(s.results[0], out)
		}
		return err
	case s.expand != nil:
		results, err = f.block(s.expand, nil)
	default:
		bottom := len(f.operands)
		for _, a := range s.args {
			f.operands = append(f.operands, f.values[a])
		}
		outer := f.step
		f.step = s
		results, err = s.op.Def.Eval(f, s.op, f.operands[bottom:len(f.operands):len(f.operands)])
		f.step = outer
	}
	if err != nil {
		return err
	}
	for i, r := range s.results {
		f.define(r, results[i])
	}
	return nil
}

// define keeps a result in slot s.
func (f *frame) define(s int, a *ir.Array) {
	f.values[s] = a
	f.live += 8 * a.Len()
}

// pointwise runs the scalar program of an operation over all elements.
func (f *frame) pointwise(s *step) (*ir.Array, error) {
	columns := f.columns[:0]
	for _, a := range s.args {
		columns = append(columns, f.values[a].Bits)
	}
	out := ir.NewArray(s.op.Results[0].Type.Elem, f.values[s.args[0]].Shape...)
	columns = append(columns, out.Bits)
	n := len(s.args)
	err := s.program.Run(columns[:n], columns[n:], len(out.Bits))
	clear(columns) // else what they show would stay in memory
	f.columns = columns
	if err == nil {
		return out, nil
	}
	details := make([]int64, len(err.Details))
	for i, d := range err.Details {
		details[i] = int64(d)
	}
	return nil, f.Fail(s.op, err.Kind, details...)
}

// Dim implements ir.EvalContext. Code has literal extents only.
func (f *frame) Dim(d types.Dim) int64 {
	n, ok := d.Const()
	if !ok {
		panic("BUG: the extent " + d.String() + " is not bound")
	}
	return n
}

// Region implements ir.EvalContext.
func (f *frame) Region(op *ir.Op, r int, args ...*ir.Array) ([]*ir.Array, error) {
	if f.step == nil || f.step.op != op {
		panic("BUG: an operation evaluates a region of another")
	}
	b := f.step.regions[r]
	for _, a := range args {
		f.live += 8 * a.Len()
	}
	return f.block(b, args)
}

// Call implements ir.EvalContext.
func (f *frame) Call(op *ir.Op, callee string, dims []int64, args []*ir.Array) (results []*ir.Array, err error) {
	g := f.module.Func(callee)
	if g == nil {
		return nil, fmt.Errorf("there is no function %s", callee)
	}
	if g.Span.Caller == nil { // else what fails there says already who called
		defer func() {
			var failed *RuntimeError
			if errors.As(err, &failed) && failed.Span.Valid() {
				failed.Span = failed.Span.CalledAt(&op.Span)
			}
		}()
	}
	c, err := f.prepare(g, dims)
	if err != nil {
		return nil, err
	}
	if c.recursive {
		// Functions with effects are counted apart: those without are called in kernels, which know nothing of them.
		depth := &f.depth
		if g.IO {
			depth = &f.depthIO
		}
		if *depth >= abi.MaxCallDepth {
			// the place is the function, not the call: machine code counts where a function begins
			return nil, &RuntimeError{Span: g.Span, Kind: scalar.CheckRecursion,
				Message: message(scalar.CheckRecursion, op, nil)}
		}
		*depth++
		defer func() { *depth-- }()
	}
	for _, a := range args {
		f.live += 8 * a.Len()
	}
	inner := &frame{machine: f.machine, values: make([]*ir.Array, c.slots)}
	return inner.block(c.body, args)
}

// Fail implements ir.EvalContext.
func (f *frame) Fail(op *ir.Op, kind scalar.CheckKind, details ...int64) error {
	return &RuntimeError{Span: op.Span, Kind: kind, Message: message(kind, op, details)}
}

// System implements ir.EvalContext.
func (f *frame) System() ir.System { return f.system }

// Cluster implements ir.EvalContext.
func (f *frame) Cluster() cluster.Comm { return f.bounds.Cluster }

// Ended implements ir.EvalContext.
func (f *frame) Ended() error {
	if f.over == nil && f.bounds.Ended != nil {
		f.over = f.bounds.Ended()
	}
	return f.over
}
