package passes

import (
	"fmt"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Inline puts the body of the callee in the place of every call, unless the callee is recursive: it calls
// itself, perhaps by way of others. With an entry, functions that it does not reach any more are removed.
//
// A recursive function that another file calls, a library's, becomes a function of its own for each place that calls
// it, so that what fails in it says which one did (diag.Span.Caller), as code that is put in the place of a call does.
//
// Requires: nothing. Establishes: only recursive functions are called; the shape parameters of a call are
// substituted, and every type rule holds under them (else it is a *BindError).
//
//	func @twice[N](%x: f32[N]) -> f32[N] {
//	  %0: f32[N] = add %x, %x
//	  return %0
//	}
//	func @f(%y: f32[4]) -> f32[4] {
//	  %0: f32[4] = call %y {callee = "twice", dims = [4], results = [f32[4]]}
//	  return %0
//	}
//
// becomes
//
//	func @f(%y: f32[4]) -> f32[4] {
//	  %0: f32[4] = add %y, %y
//	  return %0
//	}
func Inline(m *ir.Module, entry string, remark Remark) error {
	in := &inliner{m: m, funcs: map[string]*ir.Func{}, recursive: map[string]bool{}, copies: map[string]string{},
		copyOf: map[string]*ir.Func{}, remark: remark}
	if entry != "" {
		if m.Func(entry) == nil {
			return &UnknownFuncError{Name: entry}
		}
		keepReachable(m, entry)
	}
	for _, f := range m.Funcs {
		in.funcs[f.Name] = f
	}
	in.findRecursive(m)
	for i := 0; i < len(m.Funcs); i++ { // copies are added
		f := m.Funcs[i]
		if entry != "" && f.Name != entry && !in.recursive[f.Name] {
			continue // nothing calls it in the end
		}
		if err := in.fn(f); err != nil {
			return err
		}
	}
	if entry != "" {
		keepReachable(m, entry)
	}
	return nil
}

// An UnknownFuncError says that the program has no function of that name.
type UnknownFuncError struct{ Name string }

func (e *UnknownFuncError) Error() string { return fmt.Sprintf("there is no function %q", e.Name) }

// maxInlinedOps bounds the size of one function after inlining: forty functions that each call the next
// one twice would be 2^40 operations. A program that is written out by hand stays far below.
const maxInlinedOps = 1 << 17

// A TooLargeError says that a function with everything it calls is more code than the compiler takes.
type TooLargeError struct{ Func string }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("function %q, with the functions that it calls put in place, has more than %d operations",
		e.Func, maxInlinedOps)
}

type inliner struct {
	m         *ir.Module
	funcs     map[string]*ir.Func
	recursive map[string]bool
	copies    map[string]string // of recursive functions, by name and the calls that lead there
	copyOf    map[string]*ir.Func
	remark    Remark
	f         *ir.Func
	size      int // operations of f so far, and calls
}

// callees lists the functions that f calls.
func callees(f *ir.Func) []string {
	var out []string
	ir.Walk(f.Body, func(op *ir.Op) {
		if op.Def == ops.Call {
			out = append(out, op.Str("callee"))
		}
	})
	return out
}

// findRecursive marks every function on a cycle of the call graph: those in a strongly connected component
// of several functions, or that call themselves. Source: Tarjan, "Depth-first search and linear graph
// algorithms", 1972.
func (in *inliner) findRecursive(m *ir.Module) {
	index, low := map[string]int{}, map[string]int{}
	onStack := map[string]bool{}
	var stack []string
	var visit func(name string)
	visit = func(name string) {
		index[name] = len(index) + 1
		low[name] = index[name]
		stack = append(stack, name)
		onStack[name] = true
		for _, c := range callees(in.funcs[name]) {
			if c == name {
				in.recursive[name] = true
			}
			if index[c] == 0 {
				visit(c)
				low[name] = min(low[name], low[c])
			} else if onStack[c] {
				low[name] = min(low[name], index[c])
			}
		}
		if low[name] != index[name] {
			return
		}
		for size := 1; ; size++ {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			onStack[top] = false
			if top != name || size > 1 {
				in.recursive[top] = true
			}
			if top == name {
				return
			}
		}
	}
	for _, f := range m.Funcs {
		if index[f.Name] == 0 {
			visit(f.Name)
		}
	}
}

// fn inlines the calls of f. What is put in the place of a call is the callee as written, whose calls are inlined in
// turn, so that every operation of the outcome is copied once, however long the chain of calls.
func (in *inliner) fn(f *ir.Func) error {
	in.f, in.size = f, 0
	with := map[*ir.Value]*ir.Value{}
	list := f.Body.Ops
	f.Body.Ops = make([]*ir.Op, 0, len(list))
	if err := in.move(f.Body, list, with); err != nil {
		return err
	}
	ir.Replace(f.Body, with)
	return nil
}

// move appends operations to b, with the bodies of functions in the place of calls. with gets what stands for the
// results of these.
func (in *inliner) move(b *ir.Block, list []*ir.Op, with map[*ir.Value]*ir.Value) error {
	for _, op := range list {
		if in.size++; in.size > maxInlinedOps {
			return &TooLargeError{in.f.Name}
		}
		if op.Def == ops.Call && !in.recursive[op.Str("callee")] {
			if err := in.call(b, op, with); err != nil {
				return err
			}
			continue
		}
		if op.Def == ops.Call {
			if err := in.calledFrom(op); err != nil {
				return err
			}
		}
		for _, r := range op.Regions {
			inside := r.Ops
			r.Ops = make([]*ir.Op, 0, len(inside))
			if err := in.move(r, inside, with); err != nil {
				return err
			}
		}
		b.Ops = append(b.Ops, op)
	}
	return nil
}

// call appends the body of the callee to b and lets its yields stand for the results of op. Operands of
// op that are results of calls themselves are replaced with everything else at the end.
func (in *inliner) call(b *ir.Block, op *ir.Op, with map[*ir.Value]*ir.Value) error {
	callee, at := in.funcs[op.Str("callee")], op.Span
	c := ir.NewCloner()
	c.Call = &at
	c.Dims = map[string]types.Dim{}
	for i, d := range callee.Dims {
		c.Dims[d] = op.Dims("dims")[i]
	}
	for i, p := range callee.Params() {
		c.Values[p] = op.Args[i]
	}
	var body ir.Block
	if err := c.Append(&body, callee.Body); err != nil {
		return &BindError{Bind: c.Dims, Span: op.Span, Message: err.Error()}
	}
	if len(c.Dims) > 0 {
		for _, cp := range body.Ops {
			if err := reinfer(cp, c.Dims); err != nil {
				return err
			}
		}
	}
	for i, y := range callee.Body.Yields {
		with[op.Results[i]] = c.Value(y)
	}
	in.remark("inlined %s into %s", ir.FormatSym(callee.Name), ir.FormatSym(in.f.Name))
	return in.move(b, body.Ops, with)
}

// calledFrom makes a call of a recursive function from another file one of a copy that says so. In the copy, calls of
// the functions that it recurses through come from that place, too, and so they are calls of copies, itself among them.
func (in *inliner) calledFrom(op *ir.Op) error {
	f := in.funcs[op.Str("callee")]
	if of := in.copyOf[f.Name]; of != nil {
		f = of // op is copied itself, and the way to it longer
	}
	from := f.Span.CalledAt(&op.Span).Caller
	if from == nil || f.Span.Caller != nil { // a copy of an earlier run says who called
		return nil
	}
	key := f.Name
	for c := from; c != nil; c = c.Caller {
		key += fmt.Sprintf(" %p:%d:%d", c.File, c.Start, c.End)
	}
	if in.copies[key] == "" {
		c := ir.NewCloner()
		c.Call = from
		g, err := c.Func(f)
		if err != nil {
			return err
		}
		g.Name = ir.CopyName(f.Name, len(in.copies)+1)
		in.m.Funcs = append(in.m.Funcs, g)
		in.funcs[g.Name], in.recursive[g.Name], in.copies[key], in.copyOf[g.Name] = g, true, g.Name, f
	}
	attrs := named(op)
	attrs["callee"] = in.copies[key]
	op.Attrs = op.Def.MakeAttrs(attrs)
	return nil
}

// keepReachable removes the functions that the entry does not call, itself or by way of others.
func keepReachable(m *ir.Module, entry string) { m.Funcs = NewCallGraph(m).Reached(entry) }

// A CallGraph says which functions of a module a function reaches. The module has to stay as it is.
type CallGraph struct {
	m     *ir.Module
	index map[string]int
}

// NewCallGraph is the call graph of m.
func NewCallGraph(m *ir.Module) *CallGraph {
	g := &CallGraph{m, make(map[string]int, len(m.Funcs))}
	for i, f := range m.Funcs {
		g.index[f.Name] = i
	}
	return g
}

// Roots are functions that reach all of the module: those that no other calls, and one of each circle that nothing else
// reaches, in the order of the module.
func (g *CallGraph) Roots() []*ir.Func {
	called := make([]bool, len(g.m.Funcs))
	for i, f := range g.m.Funcs {
		for _, c := range callees(f) {
			called[g.index[c]] = called[g.index[c]] || g.index[c] != i
		}
	}
	reached := map[*ir.Func]bool{}
	roots := map[*ir.Func]bool{}
	add := func(f *ir.Func) {
		roots[f] = true
		for _, r := range g.Reached(f.Name) {
			reached[r] = true
		}
	}
	for i, f := range g.m.Funcs {
		if !called[i] {
			add(f)
		}
	}
	for _, f := range g.m.Funcs {
		if !reached[f] {
			add(f)
		}
	}
	return slices.DeleteFunc(slices.Clone(g.m.Funcs), func(f *ir.Func) bool { return !roots[f] })
}

// Reached are the functions that the entry calls, itself or by way of others, and itself, in the order of the module;
// none where there is no entry of that name.
func (g *CallGraph) Reached(entry string) []*ir.Func {
	return g.ReachedTo(entry, func(*ir.Func) bool { return false })
}

// ReachedTo is Reached without what only functions call that are an end; the entry is none.
func (g *CallGraph) ReachedTo(entry string, end func(f *ir.Func) bool) []*ir.Func {
	start, ok := g.index[entry]
	if !ok {
		return nil
	}
	reached := map[int]bool{start: true}
	work := []int{start}
	for n := 0; n < len(work); n++ {
		f := g.m.Funcs[work[n]]
		if n > 0 && end(f) {
			continue
		}
		for _, c := range callees(f) {
			if i := g.index[c]; !reached[i] {
				reached[i] = true
				work = append(work, i)
			}
		}
	}
	slices.Sort(work)
	out := make([]*ir.Func, len(work))
	for k, i := range work {
		out[k] = g.m.Funcs[i]
	}
	return out
}
