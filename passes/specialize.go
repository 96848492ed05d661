package passes

import (
	"errors"
	"fmt"
	"maps"
	"sort"
	"strconv"

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
	return specialize(m, entry, bind, false)
}

// Settle is Specialize for a module in which an operation breaks a rule under the binding, before calls are inlined:
// where that stands in a region, or in a function that is called, the region or the call stops with the message when it
// runs (Note [Shapes that do not fit] in package ops). In the entry itself it is a *BindError.
func Settle(m *ir.Module, entry string, bind map[string]int64) error {
	return specialize(m, entry, bind, true)
}

func specialize(m *ir.Module, entry string, bind map[string]int64, settle bool) error {
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
			return &BindError{Span: f.Span, Message: fmt.Sprintf("%s is no shape parameter of %s", name,
				f.Name)}
		}
		if n < 0 || n > types.MaxExtent {
			return &BindError{Span: f.Span, Message: fmt.Sprintf("the extent %s = %d is not from 0 to %d",
				name, n, types.MaxExtent)}
		}
		dims[name] = types.Lit(n)
	}
	s := &specializer{m: m, instances: map[string]*ir.Func{}, seen: map[string]bool{entry: true}, settle: settle}
	g, err := s.instance(f, f.Name, dims)
	if err != nil {
		return err
	}
	for i := range m.Funcs {
		if m.Funcs[i] == f {
			m.Funcs[i] = g
		}
	}
	if err := s.calls(g); err != nil {
		return err
	}
	keepReachable(m, entry)
	return nil
}

// A BindError says that the values of shape parameters break a rule that holds for the symbols, such as a
// slice 0..5 of an axis that turns out to have the extent 3.
type BindError struct {
	Bind    map[string]types.Dim // the values, of the parameters of one function
	Span    diag.Span            // the operation
	Message string               // one lower-case clause
	Rule    *types.RuleError     // the rule, when an operation's is broken
}

func (e *BindError) Error() string { return e.rule() + ir.With(e.Bind) }

// rule is the error without the values.
func (e *BindError) rule() string {
	if e.Rule != nil && e.Rule.Why != "" {
		return e.Message + ": " + e.Rule.Why
	}
	return e.Message
}

// shown is the error with {} for values that are known when the program runs.
func (e *BindError) shown() (string, types.Shape) {
	with, shows := ir.WithShown(e.Bind)
	return e.rule() + with, shows
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// reinfer checks the types of op and of everything in its regions after a substitution; bind is for the message.
// Regions come first: the types of their yields are what op's rule reads.
func reinfer(op *ir.Op, bind map[string]types.Dim) error {
	for _, r := range op.Regions {
		for _, in := range r.Ops {
			if err := reinfer(in, bind); err != nil {
				return err
			}
		}
	}
	ts, err := op.Def.Infer(ir.ArgTypes(op.Args), op.Attrs, op.Regions)
	if err != nil {
		return breaks(err, op.Span, bind)
	}
	for i, t := range ts {
		if !types.Equal(t, op.Results[i].Type) {
			panic(fmt.Sprintf("BUG: %s gives %s, and the substitution %s", op.Def.Name, t, op.Results[i].Type))
		}
	}
	return nil
}

// breaks is the error of an operation that breaks a rule.
func breaks(err error, span diag.Span, bind map[string]types.Dim) *BindError {
	e := &BindError{Bind: bind, Span: span, Message: err.Error()}
	if errors.As(err, &e.Rule) {
		e.Message = e.Rule.Msg
	}
	return e
}

// maxInstances bounds the instances of recursive functions: a function of N that calls itself with N+1
// would have one for every N.
const maxInstances = 1000

type specializer struct {
	m         *ir.Module
	instances map[string]*ir.Func // by name
	seen      map[string]bool     // the functions without shape parameters whose calls are done
	settle    bool                // see Settle
}

// instance copies f under the binding and checks it.
func (s *specializer) instance(f *ir.Func, name string, dims map[string]types.Dim) (*ir.Func, error) {
	c := ir.NewCloner()
	c.Dims = dims
	fail := func(span diag.Span, err error) error {
		return &BindError{Bind: dims, Span: span, Message: err.Error()}
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
	if s.settle {
		all := maps.Clone(dims)
		for _, name := range g.Dims {
			all[name] = types.Param(name)
		}
		shown := func(err error) (string, types.Shape) { return breaks(err, diag.Span{}, all).shown() }
		if bad := ops.Recheck(g.Body, shown); bad != nil {
			return nil, breaks(bad.Err, bad.Span, all)
		}
		return g, nil
	}
	for _, op := range g.Body.Ops {
		if err := reinfer(op, dims); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// calls lets every call in g whose shape parameters are literals go to an instance, and those in the instances. It goes
// in the order of execution: of several errors the first is the one that the interpreter stops at.
func (s *specializer) calls(g *ir.Func) error {
	at, err := s.callsIn(g.Body)
	if s.stops(g.Body, at, err) {
		return nil
	}
	return err
}

// stops lets a block end at operation at, whose call cannot be made for the reason err, and reports whether it does.
func (s *specializer) stops(b *ir.Block, at int, err error) bool {
	var broken *BindError
	if !s.settle || !errors.As(err, &broken) {
		return false
	}
	says, shows := broken.shown()
	return ops.StopAt(b, at, broken.Span, says, shows)
}

// callsIn does the calls of a block. With an error it returns the operation at which that is.
func (s *specializer) callsIn(b *ir.Block) (at int, err error) {
	for i, op := range b.Ops {
		if op.Def == ops.Call {
			if err := s.call(op); err != nil {
				return i, err
			}
		}
		for _, r := range op.Regions {
			at, err := s.callsIn(r)
			if err != nil && !s.stops(r, at, err) {
				return i, err
			}
		}
	}
	return 0, nil
}

// call lets a call go to an instance. With settle, parameters that are no literals stay those of the instance.
func (s *specializer) call(op *ir.Op) error {
	dims, rest := op.Dims("dims"), types.Shape{}
	f := s.m.Func(op.Str("callee"))
	name := f.Name
	bind, all := map[string]types.Dim{}, map[string]types.Dim{}
	for i, d := range dims {
		all[f.Dims[i]] = d
		if n, ok := d.Const(); ok {
			name += "$" + strconv.FormatInt(n, 10)
			bind[f.Dims[i]] = d
		} else {
			name += "$"
			rest = append(rest, d)
		}
	}
	if len(rest) > 0 && !s.settle {
		return nil
	}
	if len(bind) == 0 {
		if s.seen[f.Name] {
			return nil
		}
		s.seen[f.Name] = true
		return calledAt(s.calls(f), f, op, all)
	}
	if s.instances[name] == nil {
		if len(s.instances) >= maxInstances {
			return &BindError{Bind: bind, Span: op.Span,
				Message: fmt.Sprintf("the recursion of %s needs more than %d different shapes",
					ir.OriginalName(f.Name), maxInstances)}
		}
		h, err := s.instance(f, name, bind)
		if err == nil {
			s.instances[name] = h
			s.m.Funcs = append(s.m.Funcs, h)
			err = s.calls(h)
		}
		if err != nil {
			return calledAt(err, f, op, all)
		}
	}
	op.Attrs = op.Def.MakeAttrs(ir.A{"callee": name, "dims": rest, "results": op.Types("results")})
	return nil
}

// calledAt is an error in f as a call of it gives it: its values are those of the caller, which gives f the shape
// parameters dims, and where f is of another file it has the place of the call.
func calledAt(err error, f *ir.Func, call *ir.Op, dims map[string]types.Dim) error {
	var failed *BindError
	if !errors.As(err, &failed) {
		return err
	}
	for name, d := range failed.Bind {
		if of, err := d.Subst(dims); err == nil {
			failed.Bind[name] = of
		}
	}
	if f.Span.Caller == nil && failed.Span.Valid() {
		failed.Span = failed.Span.CalledAt(&call.Span)
	}
	return err
}
