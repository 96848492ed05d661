package ir

import (
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Tape is a function that is being differentiated backwards. VJP rules write the operations of the derivative with
// it. Contributions to the gradient of a value are added in the order in which the rules give them, from the last use
// of the value to the first: that order is part of the language, as that of every sum.
type Tape struct {
	b *Builder // the operations of the function, and behind them those of its derivative
	flow
	cotangents map[*Value]*Value // the gradients so far
	with       map[*Value]*Value // values that are replaced in the end
}

// A GradientError says why a function has no derivative, or none that this version finds. Rules panic with it.
type GradientError struct{ Diagnostic *diag.Diagnostic }

func (e *GradientError) Error() string { return e.Diagnostic.Message }

// Unwrap gives the *diag.List that reports it.
func (e *GradientError) Unwrap() error { return &diag.List{Items: []*diag.Diagnostic{e.Diagnostic}} }

// noGradient stops the derivation of a function.
func noGradient(d diag.Diagnostic) { panic(&GradientError{&d}) }

// brokenPath stops it where cut makes integers of what is differentiated and back makes floats of these.
func brokenPath(cut, back *Op) {
	noGradient(diag.Diagnostic{
		Code: diag.CodeIntegerPath, Primary: diag.Label{Span: cut.Span, Text: "here it becomes an integer"},
		Message: "the path of the gradient breaks: integers have no derivative",
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

func newTape(at diag.Span) *Tape {
	return &Tape{
		b: &Builder{Block: &Block{}, Span: at}, flow: newFlow(),
		cotangents: map[*Value]*Value{}, with: map[*Value]*Value{},
	}
}

// flatten replaces the operations of b, not those of its regions, that are defined by simpler ones and have no rule
// of their own. It gives false when an extent that decides one of these is symbolic.
func flatten(b *Block) bool {
	with := map[*Value]*Value{}
	ok := true
	var out []*Op
	var add func(op *Op)
	add = func(op *Op) {
		if op.Def.Expand == nil || op.Def.VJP != nil || op.Def.NoGrad != "" {
			out = append(out, op)
			return
		}
		sub := &Block{}
		vals := op.Def.Expand(&Builder{Block: sub, Span: op.Span}, op)
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
		Replace(b, with)
	}
	return ok
}

// expandAll is flatten, for what cannot wait until the extents are known.
func expandAll(b *Block, at diag.Span) {
	if !flatten(b) {
		unsupportedGradient(at, "a function of a lambda or loop that depends on an unknown extent")
	}
}

// tidy expands what stands in b and in regions of it, and removes what nothing uses.
func tidy(b *Block, at diag.Span) {
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
func prune(b *Block) {
	used := map[*Value]bool{}
	for _, y := range b.Yields {
		used[y] = true
	}
	kept := make([]*Op, 0, len(b.Ops))
	for k := len(b.Ops) - 1; k >= 0; k-- {
		op := b.Ops[k]
		live := op.Def.Traits.Has(Effect)
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
func inputs(op *Op) []*Value {
	out := op.Args
	for _, r := range op.Regions {
		out = append(out[:len(out):len(out)], Captures(r)...)
	}
	return out
}

// backward walks the function from its end.
func (t *Tape) backward() {
	ops := t.b.Block.Ops
	for k := len(ops) - 1; k >= 0; k-- {
		op := ops[k]
		cts := make([]*Value, len(op.Results))
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
func (t *Tape) Needs(v *Value) bool { return t.varied[v] }

// Add adds g to the gradient of v.
func (t *Tape) Add(v, g *Value) {
	if !t.varied[v] {
		return
	}
	if old := t.cotangents[v]; old != nil {
		g = t.b.Emit(OpAdd, nil, old, g)
	}
	t.cotangents[v] = g
}

// AddInto is Add for a gradient that is zero almost everywhere: into gives the sum of it and another tensor.
func (t *Tape) AddInto(v *Value, into func(sum *Value) *Value) {
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
func (t *Tape) Emit(d *OpDef, attrs A, args ...*Value) *Value { return t.b.Emit(d, attrs, args...) }

// Zeros is a tensor of zeros.
func (t *Tape) Zeros(of types.Tensor) *Value { return emitZeros(t.b, of) }

func emitZeros(b *Builder, of types.Tensor) *Value { return emitFill(b, of, 0) }

// emitFill is a tensor whose elements are all x.
func emitFill(b *Builder, of types.Tensor, x float64) *Value {
	a := NewArray(of.Elem)
	switch {
	case of.Elem.IsFloat():
		a.Bits[0] = scalar.FloatBits(of.Elem, x)
	default:
		a.Bits[0] = scalar.IntBits(of.Elem, int64(x))
	}
	v := b.Emit(OpConst, A{"value": a})
	if of.IsScalar() {
		return v
	}
	return b.Emit(OpBroadcast, A{"shape": of.Shape}, v)
}

// Fill is a tensor like v whose elements are all x.
func (t *Tape) Fill(v *Value, x float64) *Value { return emitFill(t.b, v.Type, x) }

// Arithmetic of tensors of one type.
func (t *Tape) add(x, y *Value) *Value            { return t.Emit(OpAdd, nil, x, y) }
func (t *Tape) sub(x, y *Value) *Value            { return t.Emit(OpSub, nil, x, y) }
func (t *Tape) mul(x, y *Value) *Value            { return t.Emit(OpMul, nil, x, y) }
func (t *Tape) div(x, y *Value) *Value            { return t.Emit(OpDiv, nil, x, y) }
func (t *Tape) square(x *Value) *Value            { return t.mul(x, x) }
func (t *Tape) neg(x *Value) *Value               { return t.Emit(OpNeg, nil, x) }
func (t *Tape) scale(x *Value, by float64) *Value { return t.mul(x, t.Fill(x, by)) }

// where is x where c holds, else y.
func (t *Tape) where(c, x, y *Value) *Value { return t.Emit(OpSelect, nil, c, x, y) }

// InlineRegionCalls puts the bodies of functions in the place of their calls in b and below it, but those that
// recurse: what is differentiated has to be seen as a whole.
func (m *Module) InlineRegionCalls(b *Block) error {
	with := map[*Value]*Value{}
	if err := m.inlineCalls(b, with); err != nil {
		return err
	}
	Replace(b, with)
	return nil
}

func (m *Module) inlineCalls(b *Block, with map[*Value]*Value) error {
	ops := b.Ops
	b.Ops = make([]*Op, 0, len(ops))
	for _, op := range ops {
		for _, r := range op.Regions {
			if err := m.inlineCalls(r, with); err != nil {
				return err
			}
		}
		if op.Def != OpCall || m.recursive(op.Str("callee")) {
			b.Ops = append(b.Ops, op)
			continue
		}
		callee, call := m.Func(op.Str("callee")), op.Span
		c := NewCloner()
		c.Call = &call
		c.Dims = map[string]types.Dim{}
		for i, d := range callee.Dims {
			c.Dims[d] = op.Dims("dims")[i]
		}
		for i, p := range callee.Params() {
			c.Values[p] = op.Args[i]
		}
		sub := &Block{}
		if err := c.Append(sub, callee.Body); err != nil {
			return err
		}
		if err := m.inlineCalls(sub, with); err != nil {
			return err
		}
		b.Ops = append(b.Ops, sub.Ops...)
		for i, y := range callee.Body.Yields {
			with[op.Results[i]] = c.Value(y)
		}
	}
	return nil
}

// recursive reports whether calls lead from the function called name back to it.
func (m *Module) recursive(name string) bool {
	seen := map[string]bool{}
	var reaches func(from string) bool
	reaches = func(from string) bool {
		f := m.Func(from)
		if f == nil || seen[from] {
			return false
		}
		seen[from] = true
		found := false
		Walk(f.Body, func(op *Op) {
			if op.Def == OpCall && !found {
				found = op.Str("callee") == name || reaches(op.Str("callee"))
			}
		})
		return found
	}
	return reaches(name)
}

// CheckGradients tries every derivative of the module and lists why some cannot be taken.
func CheckGradients(m *Module) []*diag.Diagnostic {
	var out []*diag.Diagnostic
	for _, f := range m.Funcs {
		out = append(out, m.tryGradients(f.Body)...)
	}
	return out
}

// tryGradients expands the derivatives in b, a copy of each; those inside of others are part of these.
func (m *Module) tryGradients(b *Block) (out []*diag.Diagnostic) {
	for _, op := range b.Ops {
		if op.Def != OpVjp && op.Def != OpJvp {
			for _, r := range op.Regions {
				out = append(out, m.tryGradients(r)...)
			}
			continue
		}
		if e := m.tryGradient(op); e != nil {
			out = append(out, e.Diagnostic)
		}
	}
	return out
}

func (m *Module) tryGradient(op *Op) (failed *GradientError) {
	defer func() {
		if e := recover(); e != nil {
			ge, ok := e.(*GradientError)
			if !ok {
				panic(e)
			}
			failed = ge
		}
	}()
	cp, err := NewCloner().Op(op)
	if err == nil {
		err = m.InlineRegionCalls(cp.Regions[0])
	}
	if err != nil {
		return nil // the extents of the functions overflow together: the call itself is refused
	}
	// Regions of what is written hold derivatives themselves.
	var all func(b *Block)
	all = func(b *Block) {
		flatten(b)
		for _, o := range b.Ops {
			for _, r := range o.Regions {
				all(r)
			}
		}
	}
	all(&Block{Ops: []*Op{cp}})
	return nil
}
