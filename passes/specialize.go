package passes

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// Specialize gives shape parameters of the entry their values, in all types and attributes; parameters
// that bind does not name stay symbolic. Functions that are called with literal shape parameters get an
// instance for each list of them, named `f$4$8`. Functions that the entry does not reach are removed.
//
// Requires: nothing, but runs after inline, so that calls are rare. Establishes: no bound parameter is
// left, and every type rule holds under the binding; else it is a *BindError.
//
//	func @f[N](%x: f32[N]) -> f32[N-1] {
//	  %0: f32[N-1] = slice %x {starts = [1], steps = [1], shape = [N-1]}
//	  return %0
//	}
//
// with N = 4 becomes
//
//	func @f(%x: f32[4]) -> f32[3] {
//	  %0: f32[3] = slice %x {starts = [1], steps = [1], shape = [3]}
//	  return %0
//	}
func Specialize(m *ir.Module, entry string, bind map[string]int64) error {
	f := m.Func(entry)
	if f == nil {
		return &UnknownFuncError{Name: entry}
	}
	dims := map[string]types.Dim{}
	for _, name := range sortedKeys(bind) {
		known := false
		for _, d := range f.Dims {
			known = known || d == name
		}
		n := bind[name]
		if !known {
			return &BindError{Func: f.Name, Span: f.Span, Message: fmt.Sprintf("%s is no shape parameter of %s", name,
				f.Name)}
		}
		if n < 0 || n > types.MaxExtent {
			return &BindError{Func: f.Name, Span: f.Span, Message: fmt.Sprintf("the extent %s = %d is not from 0 to %d",
				name, n, types.MaxExtent)}
		}
		dims[name] = types.Lit(n)
	}
	s := &specializer{m: m, instances: map[string]*ir.Func{}}
	g, err := s.instance(f, f.Name, dims)
	if err != nil {
		return err
	}
	for i := range m.Funcs {
		if m.Funcs[i] == f {
			m.Funcs[i] = g
		}
	}
	for len(s.work) > 0 {
		g := s.work[0]
		s.work = s.work[1:]
		if err := s.calls(g); err != nil {
			return err
		}
	}
	keepReachable(m, entry)
	return nil
}

// A BindError says that the values of shape parameters break a rule that holds for the symbols, such as a
// slice 0..5 of an axis that turns out to have the extent 3.
type BindError struct {
	Func    string               // the function whose parameters are bound
	Bind    map[string]types.Dim // their values
	Span    diag.Span            // the operation
	Message string               // one lower-case clause
	Rule    *types.RuleError     // the rule, when an operation's is broken
}

func (e *BindError) Error() string {
	s := e.Message
	if e.Rule != nil && e.Rule.Why != "" {
		s += ": " + e.Rule.Why
	}
	if b := e.Bindings(); b != "" {
		s += " (in " + e.Func + " with " + b + ")"
	}
	return s
}

// Bindings lists the values as `M = 3, N = 4`.
func (e *BindError) Bindings() string {
	parts := make([]string, 0, len(e.Bind))
	for _, k := range sortedKeys(e.Bind) {
		parts = append(parts, k+" = "+e.Bind[k].String())
	}
	return strings.Join(parts, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// reinfer checks the types of op and of everything in its regions after a substitution; fn and bind are
// for the message. Regions come first: the types of their yields are what op's rule reads.
func reinfer(op *ir.Op, fn string, bind map[string]types.Dim) error {
	for _, r := range op.Regions {
		for _, in := range r.Ops {
			if err := reinfer(in, fn, bind); err != nil {
				return err
			}
		}
	}
	ts, err := op.Def.Infer(ir.ArgTypes(op.Args), op.Attrs, op.Regions)
	if err != nil {
		e := &BindError{Func: fn, Bind: bind, Span: op.Span, Message: err.Error()}
		if errors.As(err, &e.Rule) {
			e.Message = e.Rule.Msg
		}
		return e
	}
	for i, t := range ts {
		if !types.Equal(t, op.Results[i].Type) {
			panic(fmt.Sprintf("BUG: %s gives %s, and the substitution %s", op.Def.Name, t, op.Results[i].Type))
		}
	}
	return nil
}

// maxInstances bounds the instances of recursive functions: a function of N that calls itself with N+1
// would have one for every N.
const maxInstances = 1000

type specializer struct {
	m         *ir.Module
	instances map[string]*ir.Func // by name
	work      []*ir.Func          // whose calls are to be done
}

// instance copies f under the binding, checks it and queues it for its calls.
func (s *specializer) instance(f *ir.Func, name string, dims map[string]types.Dim) (*ir.Func, error) {
	c := ir.NewCloner()
	c.Dims = dims
	fail := func(span diag.Span, err error) error {
		return &BindError{Func: f.Name, Bind: dims, Span: span, Message: err.Error()}
	}
	g, err := c.Func(f)
	if err != nil {
		return nil, fail(f.Span, err)
	}
	g.Name = name
	for _, p := range g.Params() {
		if err := ir.CheckExtents(p.Type); err != nil {
			return nil, fail(p.Span, err)
		}
	}
	for _, op := range g.Body.Ops {
		if err := reinfer(op, f.Name, dims); err != nil {
			return nil, err
		}
	}
	s.work = append(s.work, g)
	return g, nil
}

// calls lets every call in g whose shape parameters are literals go to an instance.
func (s *specializer) calls(g *ir.Func) error {
	var failed error
	ir.Walk(g.Body, func(op *ir.Op) {
		if op.Def != ops.Call || failed != nil {
			return
		}
		dims := op.Dims("dims")
		ns, ok := dims.Ints()
		if !ok || len(ns) == 0 {
			return
		}
		f := s.m.Func(op.Str("callee"))
		name := f.Name
		bind := map[string]types.Dim{}
		for i, n := range ns {
			name += "$" + strconv.FormatInt(n, 10)
			bind[f.Dims[i]] = dims[i]
		}
		h := s.instances[name]
		if h == nil {
			if len(s.instances) >= maxInstances {
				failed = &BindError{Func: f.Name, Bind: bind, Span: op.Span,
					Message: fmt.Sprintf("the recursion of %s needs more than %d different shapes",
						ir.OriginalName(f.Name), maxInstances)}
				return
			}
			if h, failed = s.instance(f, name, bind); failed != nil {
				return
			}
			s.instances[name] = h
			s.m.Funcs = append(s.m.Funcs, h)
		}
		op.Attrs = op.Def.MakeAttrs(ir.A{"callee": name, "dims": types.Shape{}, "results": op.Types("results")})
	})
	return failed
}
