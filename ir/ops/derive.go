package ops

import (
	"errors"
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// maxDerived bounds the operations of a function that is differentiated, with those that it calls put in place: each
// derivative of a derivative is several times as long as what it comes from.
const maxDerived = 1 << 17

// tooLong is the error for a function of more than maxDerived operations.
func tooLong(at diag.Span) *ir.GradientError {
	return &ir.GradientError{Diagnostic: &diag.Diagnostic{Code: diag.CodeTooBig, Primary: diag.Label{Span: at},
		Message: fmt.Sprintf("a function that is differentiated has more than %d operations, with those that it calls "+
			"and its own derivatives put in place", maxDerived),
		Help: "each derivative of a derivative is several times as long: differentiate less often, or a shorter " +
			"function",
	}}
}

// tape is a function that is being differentiated backwards.
type tape struct {
	b *ir.Builder // the operations of the function, and behind them those of its derivative
	flow
	cotangents map[*ir.Value]*ir.Value // the gradients so far
	with       map[*ir.Value]*ir.Value // values that are replaced in the end
}

// vjp is a rule of this package as a VJP: it uses more of the tape than others may.
func vjp(rule func(t *tape, op *ir.Op, cts []*ir.Value)) func(t ir.Tape, op *ir.Op, cts []*ir.Value) {
	return func(t ir.Tape, op *ir.Op, cts []*ir.Value) { rule(t.(*tape), op, cts) }
}

// noGradient stops the derivation of a function.
func noGradient(d diag.Diagnostic) { panic(&ir.GradientError{Diagnostic: &d}) }

// brokenPath stops it where cut makes integers of what is differentiated and back makes floats of these.
func brokenPath(cut, back *ir.Op) {
	what, becomes := "integers have no derivative", "an integer"
	if d := cut.Type().Elem; d.IsStored() {
		what, becomes = "what is stored as "+d.String()+" has no derivative", "an "+d.String()
	}
	noGradient(diag.Diagnostic{
		Code: diag.CodeIntegerPath, Primary: diag.Label{Span: cut.Span, Text: "here it becomes " + becomes},
		Message: "the path of the gradient breaks: " + what,
		Related: []diag.Label{{Span: back.Span, Text: "here it is a float again"}},
		Help: "`stop_gradient(x)` says that a value is meant as a constant; `floor`, `round` and `trunc` stay " +
			"with floats",
	})
}

// unsupportedGradient stops the derivation where this version has no rule.
func unsupportedGradient(at diag.Span, what string) {
	noGradient(diag.Diagnostic{Code: diag.CodeUnsupported, Primary: diag.Label{Span: at}, Message: "the gradient of " +
		what + " is not supported yet"})
}

func newTape(at diag.Span) *tape {
	return &tape{
		b: &ir.Builder{Block: &ir.Block{}, Span: at}, flow: newFlow(),
		cotangents: map[*ir.Value]*ir.Value{}, with: map[*ir.Value]*ir.Value{},
	}
}

// flatten replaces the operations of b, not those of its regions, that are defined by simpler ones and have no rule
// of their own. It gives false when an extent that decides one of these is symbolic.
func flatten(b *ir.Block) bool {
	with := map[*ir.Value]*ir.Value{}
	ok := true
	var out []*ir.Op
	var add func(op *ir.Op)
	add = func(op *ir.Op) {
		if op.Def.Expand == nil || op.Def.VJP != nil || op.Def.NoGrad != "" {
			out = append(out, op)
			return
		}
		sub := &ir.Block{}
		vals := op.Def.Expand(&ir.Builder{Block: sub, Span: op.Span}, op)
		if vals == nil {
			ok = false
			return
		}
		for i, r := range op.Results {
			with[r] = vals[i]
		}
		for _, s := range sub.Ops {
			add(s)
		}
	}
	for _, op := range b.Ops {
		add(op)
	}
	b.Ops = out
	if ok {
		ir.Replace(b, with)
	}
	return ok
}

// expandAll is flatten, for what cannot wait until the extents are known.
func expandAll(b *ir.Block, at diag.Span) {
	if !flatten(b) {
		unsupportedGradient(at, "a function of a lambda or loop that depends on an unknown extent")
	}
}

// tidy expands what stands in b and in regions of it, and removes what nothing uses.
func tidy(b *ir.Block, at diag.Span) {
	expandAll(b, at)
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			tidy(r, at)
		}
	}
	prune(b)
}

// prune removes the operations of b whose results nothing uses. What could fail among them has run before, in the
// loop itself.
func prune(b *ir.Block) {
	used := map[*ir.Value]bool{}
	for _, y := range b.Yields {
		used[y] = true
	}
	kept := make([]*ir.Op, 0, len(b.Ops))
	for k := len(b.Ops) - 1; k >= 0; k-- {
		op := b.Ops[k]
		live := op.Def.Traits.Has(ir.Effect)
		for _, r := range op.Results {
			live = live || used[r]
		}
		if !live {
			continue
		}
		for _, v := range inputs(op) {
			used[v] = true
		}
		kept = append(kept, op)
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	b.Ops = kept
}

// inputs are the values that op reads: its operands, and what its regions capture.
func inputs(op *ir.Op) []*ir.Value {
	out := op.Args
	for _, r := range op.Regions {
		out = append(out[:len(out):len(out)], ir.Captures(r)...)
	}
	return out
}

// backward walks the function from its end.
func (t *tape) backward() {
	ops := t.b.Block.Ops
	if len(ops) > maxDerived {
		panic(tooLong(t.b.Span))
	}
	for k := len(ops) - 1; k >= 0; k-- {
		op := ops[k]
		cts := make([]*ir.Value, len(op.Results))
		some := false
		for i, r := range op.Results {
			if t.varied[r] {
				cts[i] = t.cotangents[r]
				some = some || cts[i] != nil
			}
			if j := t.joined[r]; j != nil && cts[i] != nil && len(op.Regions) > 0 {
				brokenPath(j.cut, j.back)
			}
		}
		if !some {
			continue
		}
		t.b.Span = op.Span
		if op.Def.VJP == nil {
			panic("BUG: operation " + op.Def.Name + " has no rule for its gradient")
		}
		op.Def.VJP(t, op, cts)
	}
}

// Needs reports whether the gradient of v is wanted: rules need not compute others.
func (t *tape) Needs(v *ir.Value) bool { return t.varied[v] }

// Add adds g to the gradient of v.
func (t *tape) Add(v, g *ir.Value) {
	if !t.varied[v] {
		return
	}
	if old := t.cotangents[v]; old != nil {
		g = t.b.Emit(Add, nil, old, g)
	}
	t.cotangents[v] = g
}

// AddInto is Add for a gradient that is zero almost everywhere: into gives the sum of it and another tensor.
func (t *tape) AddInto(v *ir.Value, into func(sum *ir.Value) *ir.Value) {
	if !t.varied[v] {
		return
	}
	sum := t.cotangents[v]
	if sum == nil {
		sum = t.Zeros(v.Type)
	}
	t.cotangents[v] = into(sum)
}

// Emit writes an operation with one result.
func (t *tape) Emit(d *ir.OpDef, attrs ir.A, args ...*ir.Value) *ir.Value {
	return t.b.Emit(d, attrs, args...)
}

// Zeros is a tensor of zeros.
func (t *tape) Zeros(of types.Tensor) *ir.Value { return emitZeros(t.b, of) }

func emitZeros(b *ir.Builder, of types.Tensor) *ir.Value { return emitFill(b, of, 0) }

// emitFill is a tensor whose elements are all x.
func emitFill(b *ir.Builder, of types.Tensor, x float64) *ir.Value {
	a := ir.NewArray(of.Elem)
	switch {
	case of.Elem.IsFloat():
		a.Bits[0] = scalar.FloatBits(of.Elem, x)
	default:
		a.Bits[0] = scalar.IntBits(of.Elem, int64(x))
	}
	v := b.Emit(Const, ir.A{"value": a})
	if of.IsScalar() {
		return v
	}
	return b.Emit(Broadcast, ir.A{"shape": of.Shape}, v)
}

// Fill is a tensor like v whose elements are all x.
func (t *tape) Fill(v *ir.Value, x float64) *ir.Value { return emitFill(t.b, v.Type, x) }

// Arithmetic of tensors of one type.
func (t *tape) add(x, y *ir.Value) *ir.Value            { return t.Emit(Add, nil, x, y) }
func (t *tape) sub(x, y *ir.Value) *ir.Value            { return t.Emit(Sub, nil, x, y) }
func (t *tape) mul(x, y *ir.Value) *ir.Value            { return t.Emit(Mul, nil, x, y) }
func (t *tape) div(x, y *ir.Value) *ir.Value            { return t.Emit(Div, nil, x, y) }
func (t *tape) square(x *ir.Value) *ir.Value            { return t.mul(x, x) }
func (t *tape) neg(x *ir.Value) *ir.Value               { return t.Emit(Neg, nil, x) }
func (t *tape) scale(x *ir.Value, by float64) *ir.Value { return t.mul(x, t.Fill(x, by)) }

// where is x where c holds, else y.
func (t *tape) where(c, x, y *ir.Value) *ir.Value { return t.Emit(Select, nil, c, x, y) }

// InlineRegionCalls puts the bodies of functions in the place of their calls in b and below it, but those that
// recurse: what is differentiated has to be seen as a whole.
func InlineRegionCalls(m *ir.Module, b *ir.Block) error {
	in := &callInliner{funcs: map[string]*ir.Func{}, with: map[*ir.Value]*ir.Value{}, number: map[string]int{},
		open: map[string]bool{}, loops: map[string]bool{}}
	for _, f := range m.Funcs {
		in.funcs[f.Name] = f
	}
	if _, err := in.block(b, nil); err != nil {
		return err
	}
	ir.Replace(b, in.with)
	return nil
}

// callInliner puts the bodies of functions in the place of calls.
type callInliner struct {
	funcs  map[string]*ir.Func
	with   map[*ir.Value]*ir.Value // what the results of calls became
	size   int                     // of what was put in the place of calls
	broken bool                    // rules are not asked for again, in a block that cannot end early

	// Of recursive: the order in which functions were reached, those whose calls are being followed, and those that
	// recurse.
	number map[string]int
	stack  []string
	open   map[string]bool
	loops  map[string]bool
}

// block goes through a block. check, if it is not nil, says of each operation that stays whether it breaks a rule; the
// block ends before one that does, which is the result.
func (in *callInliner) block(b *ir.Block, check func(op *ir.Op) *Unfit) (*Unfit, error) {
	ops := b.Ops
	b.Ops = make([]*ir.Op, 0, len(ops))
	for _, op := range ops {
		for _, r := range op.Regions {
			if _, err := in.block(r, nil); err != nil {
				return nil, err
			}
		}
		if op.Def != Call || in.recursive(op.Str("callee")) {
			if check != nil && !in.broken {
				if bad := check(op); bad != nil {
					return bad, nil
				}
			}
			b.Ops = append(b.Ops, op)
			continue
		}
		sub, bad, err := in.body(op)
		if err != nil {
			return nil, err
		}
		if bad != nil {
			switch values := ir.With(dimsOf(in.funcs[op.Str("callee")], op)); {
			case StopAt(b, len(b.Ops), bad.Span, bad.Err.Error()+values, nil):
				return nil, nil
			case check != nil: // the block around it may end
				return bad, nil
			}
			in.broken = true
			sub, _, err = in.body(op)
			if in.broken = false; err != nil {
				return nil, err
			}
		}
		b.Ops = append(b.Ops, sub.Ops...)
	}
	return nil, nil
}

// body is what takes the place of a call, with the operation that breaks a rule for the values of its shape parameters,
// before which it ends.
func (in *callInliner) body(op *ir.Op) (*ir.Block, *Unfit, error) {
	callee, call := in.funcs[op.Str("callee")], op.Span
	if in.size += len(callee.Body.Ops); in.size > maxDerived {
		return nil, nil, tooLong(call)
	}
	c := ir.NewCloner()
	c.Call, c.Dims = &call, dimsOf(callee, op)
	for i, p := range callee.Params() {
		c.Values[p] = op.Args[i]
	}
	sub := &ir.Block{}
	if err := c.Append(sub, callee.Body); err != nil {
		return nil, nil, err
	}
	values := ir.With(c.Dims)
	bad, err := in.block(sub, func(op *ir.Op) *Unfit {
		return Recheck(&ir.Block{Ops: []*ir.Op{op}}, func(err error) (string, types.Shape) {
			return err.Error() + values, nil
		})
	})
	for i, y := range callee.Body.Yields {
		in.with[op.Results[i]] = c.Value(y)
	}
	return sub, bad, err
}

// dimsOf are the values of the shape parameters of a function in a call.
func dimsOf(callee *ir.Func, call *ir.Op) map[string]types.Dim {
	dims := map[string]types.Dim{}
	for i, d := range callee.Dims {
		dims[d] = call.Dims("dims")[i]
	}
	return dims
}

// recursive reports whether calls lead from the function called name back to it. Each function is gone through once
// (Tarjan, "Depth-first search and linear graph algorithms", 1972).
func (in *callInliner) recursive(name string) bool {
	if in.number[name] == 0 {
		in.follow(name)
	}
	return in.loops[name]
}

// follow goes through the calls of a function, and gives the number of the first function that they lead back to.
func (in *callInliner) follow(name string) int {
	n := len(in.number) + 1
	in.number[name], in.open[name] = n, true
	in.stack = append(in.stack, name)
	first, itself := n, false
	if f := in.funcs[name]; f != nil {
		ir.Walk(f.Body, func(op *ir.Op) {
			if op.Def != Call {
				return
			}
			callee := op.Str("callee")
			itself = itself || callee == name
			switch known := in.number[callee]; {
			case known == 0:
				first = min(first, in.follow(callee))
			case in.open[callee]:
				first = min(first, known)
			}
		})
	}
	if first < n {
		return first
	}
	at := len(in.stack) - 1
	for in.stack[at] != name {
		at--
	}
	for _, f := range in.stack[at:] {
		in.open[f], in.loops[f] = false, itself || len(in.stack)-at > 1
	}
	in.stack = in.stack[:at]
	return first
}

// CheckGradients tries every derivative of the module and lists why some cannot be taken.
func CheckGradients(m *ir.Module) []*diag.Diagnostic {
	var out []*diag.Diagnostic
	for _, f := range m.Funcs {
		out = append(out, tryGradients(m, f.Body)...)
	}
	return out
}

// tryGradients expands the derivatives in b, a copy of each; those inside of others are part of these.
func tryGradients(m *ir.Module, b *ir.Block) (out []*diag.Diagnostic) {
	for _, op := range b.Ops {
		if op.Def != Vjp && op.Def != Jvp {
			for _, r := range op.Regions {
				out = append(out, tryGradients(m, r)...)
			}
			continue
		}
		if e := tryGradient(m, op); e != nil {
			out = append(out, e.Diagnostic)
		}
	}
	return out
}

func tryGradient(m *ir.Module, op *ir.Op) (failed *ir.GradientError) {
	defer func() {
		if e := recover(); e != nil {
			ge, ok := e.(*ir.GradientError)
			if !ok {
				panic(e)
			}
			failed = ge
		}
	}()
	cp, err := ir.NewCloner().Op(op)
	if err == nil {
		err = InlineRegionCalls(m, cp.Regions[0])
	}
	if errors.As(err, &failed) {
		return failed
	}
	if err != nil {
		return nil // the extents of the functions overflow together: the call itself is refused
	}
	// Regions of what is written hold derivatives themselves.
	var all func(b *ir.Block)
	all = func(b *ir.Block) {
		flatten(b)
		for _, o := range b.Ops {
			for _, r := range o.Regions {
				all(r)
			}
		}
	}
	all(&ir.Block{Ops: []*ir.Op{cp}})
	return nil
}

// A flow is what depends on the values that are differentiated: floats, which have cotangents; integers that are made
// of such floats, where the path of a gradient breaks; and floats that are made of such integers in a region.
type flow struct {
	varied map[*ir.Value]bool
	broken map[*ir.Value]*ir.Op // the operation that made integers of floats
	joined map[*ir.Value]*joint // what the value depends on by way of integers
}

// A joint is where a path of floats goes by way of integers: cut makes them, back makes floats of them.
type joint struct{ cut, back *ir.Op }

func newFlow() flow {
	return flow{varied: map[*ir.Value]bool{}, broken: map[*ir.Value]*ir.Op{}, joined: map[*ir.Value]*joint{}}
}

// block follows the operations of a block, in order.
func (f *flow) block(b *ir.Block) {
	for _, op := range b.Ops {
		f.op(op)
	}
}

// op finds what is true of the results of an operation.
func (f *flow) op(op *ir.Op) {
	if len(op.Regions) > 0 && op.Def != CustomVjp {
		f.regions(op)
		for i, r := range op.Results {
			f.take(r, f.union(sources(op, i)))
		}
		return
	}
	all := f.union(inputs(op))
	for _, r := range op.Results {
		switch {
		case r.Type.Elem.IsFloat() && op.Def.NoGrad == "":
			facts := all
			if (op.Def == Cast || op.Def == Bitcast) && all.broken != nil {
				facts.varied, facts.joined = true, &joint{all.broken, op}
			}
			f.take(r, facts)
		case cuts(r.Type.Elem) && all.broken != nil:
			f.broken[r] = all.broken
		case cuts(r.Type.Elem) && all.varied && (op.Def == Cast || op.Def == Bitcast):
			f.broken[r] = op
		}
	}
}

// cuts reports the types that a float becomes at the end of the path of derivatives.
func cuts(d types.DType) bool { return d.IsInt() || d.IsStored() }

// facts are what is true of one value.
type facts struct {
	varied bool
	broken *ir.Op
	joined *joint
}

// union is what is true of one of some values.
func (f *flow) union(of []*ir.Value) (out facts) {
	for _, v := range of {
		out.varied = out.varied || f.varied[v]
		if out.broken == nil {
			out.broken = f.broken[v]
		}
		if out.joined == nil {
			out.joined = f.joined[v]
		}
	}
	return out
}

// take adds facts to those of v, as far as they can hold of its type, and reports whether that changed something.
func (f *flow) take(v *ir.Value, x facts) (changed bool) {
	switch e := v.Type.Elem; {
	case e.IsFloat():
		changed = x.varied && !f.varied[v] || x.joined != nil && f.joined[v] == nil
		if f.joined[v] == nil && x.joined != nil {
			f.joined[v] = x.joined
		}
		f.varied[v] = f.varied[v] || x.varied
	case cuts(e) && x.broken != nil && f.broken[v] == nil:
		f.broken[v], changed = x.broken, true
	}
	return changed
}

// regions follows the regions of op, those that carry a state until nothing changes.
func (f *flow) regions(op *ir.Op) {
	for _, r := range op.Regions {
		first := 0 // the parameter for the first part of a state
		if op.IsLoop() {
			first = 1
		}
		for i, p := range r.Params[first:] {
			if n := len(op.Args); n > 0 { // the elements of a fold without a start are both
				f.take(p, f.union(op.Args[min(first+i, n-1):][:1]))
			}
		}
		for changed := true; changed; {
			f.block(r)
			changed = false
			if !op.IsLoop() && op.Def != Fold && op.Def != Scan {
				break
			}
			for i, y := range r.Yields[:len(op.Results)] {
				changed = f.take(r.Params[first+i], f.union([]*ir.Value{y})) || changed
			}
		}
	}
}

// sources are what result i of an operation with regions comes from.
func sources(op *ir.Op, i int) (of []*ir.Value) {
	for _, r := range op.Regions {
		switch {
		case op.Def.VJP == nil: // a derivative inside of another region, which is not expanded yet
			of = append(append(of, inputs(op)...), r.Yields...)
		case op.IsLoop():
			of = append(of, r.Yields[i], r.Params[1+i])
		case op.Def == Fold || op.Def == Scan:
			of = append(of, r.Yields[i], r.Params[i])
		default:
			of = append(of, r.Yields[i])
		}
	}
	return of
}
