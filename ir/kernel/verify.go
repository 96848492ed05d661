package kernel

import (
	"bufio"
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scan"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Verify checks everything that the back ends rely on:
//
//   - functions have different names, and kernels too; the buffers of a kernel have different names,
//     each one word;
//   - every Ref has one definition and a type, and is used after it, in its block or in one below it;
//   - instructions have the operands and types of ir/scalar, and none is a Param;
//   - loop variables, dims and the variables of accesses are i64; begins are not negative;
//   - loads and stores name a buffer of the kernel, of the type of the value; an output that is no work
//     memory is never read, an input never written, and strides are as many as the extents;
//   - a buffer in place is written once, and read before that at the same place only;
//   - a loop carries as many values, of the same types, from Init through Vars and Next to IDs; a
//     parallel loop carries none;
//   - an iterate carries values in the same way, its count is i64, and what ends it a bool of its body;
//   - an if gives the same values in both arms, of the types of its IDs, and its condition is a bool;
//   - a reduction has axes, combines a value of its Type (and, or: bool; the others: a number) that is
//     defined in its body, gives that type (argmax, argmin: i64), and has an order that fits: Lanes or
//     Columns for sums and products of floats, Any for others; a chunk is i64;
//   - calls name a function of the module and have its types; functions end with their results;
//   - a transform works on i64: work memory, a table that it reads, and a modulus; its size is a power of two;
//   - a contract is true of the kernel's loops;
//   - directives of a schedule have the arguments of their kinds, and speak of a loop, a condition or a buffer;
//   - sites are in range; shape parameters are those of the module.
//
// It collects all errors; the result is a *ir.VerifyError that shows each under its line.
func Verify(m *Module) error {
	v := &verifier{module: m, notes: map[any][]string{}, funcs: map[string]*Func{}, kernels: map[string]bool{},
		dims: map[string]bool{}}
	for _, d := range m.Dims {
		v.dims[d] = true
	}
	for _, f := range m.Funcs {
		v.funcs[f.Name] = f // a second one of that name shows below
	}
	bad := &ir.VerifyError{}
	for _, f := range m.Funcs {
		v.run(bad, func() { v.fn(f) }, func(p *printer) { p.fn(f) })
	}
	for _, k := range m.Kernels {
		v.run(bad, func() { v.kernel(k) }, func(p *printer) { p.kernel(k) })
	}
	if bad.Count > 0 {
		return bad
	}
	return nil
}

type verifier struct {
	module  *Module
	funcs   map[string]*Func
	kernels map[string]bool // those seen so far
	dims    map[string]bool
	notes   map[any][]string
	count   int
	owner   any // the kernel or function at hand
	types   []types.DType
	defined []bool         // of every Ref: has it a definition
	reads   map[int]string // of every parameter that is in place: where it is read
	written map[int]bool   // those that are in place and have been written
	visible []bool
	params  []Param
}

// run checks one kernel or function and adds its text to bad when something is wrong with it.
func (v *verifier) run(bad *ir.VerifyError, check func(), print func(*printer)) {
	before := bad.Count
	check()
	bad.Count = v.count
	if bad.Count > before {
		var b strings.Builder
		w := bufio.NewWriter(&b)
		print(&printer{w: w, note: func(at any) []string { return v.notes[at] }})
		_ = w.Flush()
		bad.Text += b.String()
	}
}

func (v *verifier) note(at any, format string, args ...any) {
	v.notes[at] = append(v.notes[at], fmt.Sprintf(format, args...))
	v.count++
}

func (v *verifier) start(owner any, ts []types.DType, params []Param) {
	v.owner, v.types, v.params = owner, ts, params
	v.reads, v.written = map[int]string{}, map[int]bool{}
	v.defined, v.visible = make([]bool, len(ts)), make([]bool, len(ts))
	for r, t := range ts {
		if !t.Converts() {
			v.note(owner, "value %d has the type %s", r, t)
		}
	}
}

func (v *verifier) fn(f *Func) {
	v.start(f, f.Types, nil)
	if v.funcs[f.Name] != f {
		v.note(f, "function %s is defined twice", ir.FormatSym(f.Name))
	}
	for i, t := range f.Params {
		v.define(f, Ref(i), t)
	}
	if f.Site >= len(v.module.Sites) {
		v.note(f, "there is no site %d", f.Site)
	}
	vals := v.body(f.Body, f, f.Vals)
	if !sameDTypes(vals, f.Results) {
		v.note(f, "returns %v, not %v", vals, f.Results)
	}
}

func (v *verifier) kernel(k *Kernel) {
	v.start(k, k.Types, k.Params)
	if v.kernels[k.Name] {
		v.note(k, "kernel %s is defined twice", ir.FormatSym(k.Name))
	}
	v.kernels[k.Name] = true
	names := map[string]bool{}
	for i, b := range k.Params {
		if b.Local && (!b.Out || b.InPlace || b.Elems != nil || !isLiteral(b.Shape)) {
			v.note(k, "buffer %s is local, and something else or of no fixed length", b.Name)
		}
		if i > 0 && k.Params[i-1].Local && !b.Local {
			v.note(k, "buffer %s stands behind a local one", b.Name)
		}
		if !scan.IsWord(b.Name) || names[b.Name] {
			v.note(k, "%q is no name of a buffer, or is there twice", b.Name)
		}
		names[b.Name] = true
		if (b.Work || b.InPlace) && !b.Out {
			v.note(k, "buffer %s is work memory and no output", b.Name)
		}
		if b.Work && b.InPlace {
			v.note(k, "buffer %s is both work memory and in place", b.Name)
		}
		if b.Stream && !b.OnlyWritten() {
			v.note(k, "buffer %s is streamed and no plain output", b.Name)
		}
		if b.Elems != nil && len(b.Elems) != len(b.Shape) {
			v.note(k, "buffer %s has %d strides for %d axes", b.Name, len(b.Elems), len(b.Shape))
		}
		for _, e := range b.Shape {
			v.dim(k, e.Dim)
		}
		for _, d := range b.Elems {
			v.dim(k, d)
		}
	}
	v.axes(k, k.Axes)
	before := v.count
	v.body(k.Body, k)
	if k.Contract != nil && v.count == before {
		if what := k.Contract.Wrong(k); what != "" {
			v.note(k.Contract, "%s", what)
		}
	}
	if k.Schedule != nil {
		v.schedule(k)
	}
}

// isLiteral reports that a shape is one literal extent.
func isLiteral(shape []abi.Extent) bool {
	if len(shape) != 1 || shape[0].Div > 1 {
		return false
	}
	n, ok := shape[0].Dim.Const()
	return ok && n > 0
}

// define marks r as defined and visible, and checks its type unless want is Invalid.
func (v *verifier) define(at any, r Ref, want types.DType) {
	switch {
	case r < 0 || int(r) >= len(v.types):
		v.note(at, "there is no value %d", r)
		return
	case v.defined[r]:
		v.note(at, "a value is defined twice")
	case want != types.Invalid && v.types[r] != want:
		v.note(at, "the result is %s, not %s", v.types[r], want)
	}
	v.defined[r], v.visible[r] = true, true
}

// use checks that r is visible and returns its type.
func (v *verifier) use(at any, r Ref) types.DType {
	if r < 0 || int(r) >= len(v.types) || !v.visible[r] {
		v.note(at, "a value is not defined here")
		return types.Invalid
	}
	return v.types[r]
}

// want checks that r is visible and of type t.
func (v *verifier) want(at any, r Ref, t types.DType, what string) {
	if got := v.use(at, r); got != t && got != types.Invalid {
		v.note(at, "%s is %s, not %s", what, got, t)
	}
}

func (v *verifier) dim(at any, d types.Dim) {
	for _, name := range d.Params() {
		if !v.dims[name] {
			v.note(at, "%s is no shape parameter of the module", name)
		}
	}
}

func (v *verifier) axes(at any, as []Axis) {
	for _, a := range as {
		v.define(at, a.Var, types.I64)
		v.dim(at, a.Extent.Dim)
		if a.Begin < 0 || a.Extent.Div < 0 {
			v.note(at, "an axis begins at %d and is divided by %d", a.Begin, a.Extent.Div)
		}
	}
}

func (v *verifier) hideAxes(as []Axis) {
	for _, a := range as {
		v.hide(a.Var)
	}
}

func (v *verifier) hide(r Ref) {
	if r >= 0 && int(r) < len(v.visible) {
		v.visible[r] = false
	}
}

// body checks the statements of b, then that vals are visible at its end, and returns the types of those.
func (v *verifier) body(b *Block, at any, vals ...[]Ref) []types.DType {
	if b != nil {
		for _, s := range b.Stmts {
			v.stmt(s)
		}
	}
	ts := []types.DType{}
	for _, list := range vals {
		for _, r := range list {
			ts = append(ts, v.use(at, r))
		}
	}
	if b != nil {
		for _, s := range b.Stmts {
			for _, r := range results(s) {
				v.hide(r)
			}
		}
	}
	return ts
}

// results lists the values that s defines for the statements after it.
func results(s Stmt) []Ref {
	switch s := s.(type) {
	case *Let:
		if s.In.Op == scalar.Check {
			return nil
		}
		return []Ref{s.ID}
	case *DimValue:
		return []Ref{s.ID}
	case *Load:
		return []Ref{s.ID}
	case *Loop:
		return s.IDs
	case *Iterate:
		return s.IDs
	case *Reduce:
		return []Ref{s.ID}
	case *If:
		return s.IDs
	case *Call:
		return s.IDs
	case *Transform:
		return []Ref{s.ID}
	}
	return nil
}

// inPlaceRead checks a load from a buffer that the kernel works on in place.
func (v *verifier) inPlaceRead(s Stmt, param int, at Access) {
	key := fmt.Sprint(at)
	if v.written[param] {
		v.note(s, "buffer %s is read after it was written in place", v.params[param].Name)
	}
	if old, there := v.reads[param]; there && old != key {
		v.note(s, "buffer %s is in place and read at two places", v.params[param].Name)
	}
	v.reads[param] = key
}

// inPlaceWrite checks a store to such a buffer.
func (v *verifier) inPlaceWrite(s Stmt, param int, at Access) {
	if v.written[param] {
		v.note(s, "buffer %s is in place and written twice", v.params[param].Name)
	}
	v.written[param] = true
	if old, there := v.reads[param]; there && old != fmt.Sprint(at) {
		v.note(s, "buffer %s is in place and written elsewhere than it is read", v.params[param].Name)
	}
}

func (v *verifier) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		v.let(s)
	case *DimValue:
		v.dim(s, s.Dim)
		v.define(s, s.ID, types.I64)
	case *Load:
		b, ok := v.buffer(s, s.Param, s.At)
		if ok && b.InPlace {
			v.inPlaceRead(s, s.Param, s.At)
		}
		if ok && b.Out && !b.Work && !b.InPlace && !b.Local {
			v.note(s, "output %s is read", b.Name)
		}
		v.define(s, s.ID, b.DType)
	case *Store:
		b, ok := v.buffer(s, s.Param, s.At)
		if ok && !b.Out {
			v.note(s, "input %s is written", b.Name)
		}
		if ok && b.InPlace {
			v.inPlaceWrite(s, s.Param, s.At)
		}
		if ok {
			v.want(s, s.Val, b.DType, "the stored value")
		}
	case *Loop:
		v.loop(s)
	case *Iterate:
		v.iterate(s)
	case *Reduce:
		v.reduce(s)
	case *If:
		v.want(s, s.Cond, types.Bool, "the condition")
		yes := v.body(s.Then, s, s.ThenVals)
		no := v.body(s.Else, s, s.ElseVals)
		v.defineAll(s, s.IDs, yes)
		if !sameDTypes(yes, no) {
			v.note(s, "one arm gives %v, the other %v", yes, no)
		}
	case *Call:
		v.call(s)
	case *Transform:
		v.transform(s)
	case *Sort:
		v.sort(s)
	default:
		panic(fmt.Sprintf("BUG: statement %T", s))
	}
}

func (v *verifier) let(s *Let) {
	ok := s.In.Op != scalar.Param
	for _, a := range s.In.Args {
		if a != scalar.None && v.use(s, a) == types.Invalid {
			ok = false
		}
	}
	if ok {
		if err := scalar.VerifyInstr(s.In, func(r Ref) types.DType { return v.types[r] }); err != nil {
			v.note(s, "%s", err)
		}
	} else if s.In.Op == scalar.Param {
		v.note(s, "a kernel has no parameters that are scalars")
	}
	if s.In.Op == scalar.Check {
		if s.Site < 0 || s.Site >= len(v.module.Sites) {
			v.note(s, "there is no site %d", s.Site)
		}
		return
	}
	v.define(s, s.ID, s.In.Type)
}

func (v *verifier) buffer(s Stmt, i int, at Access) (Param, bool) {
	v.dim(s, at.Offset)
	for _, t := range at.Terms {
		v.dim(s, t.Coef)
		v.want(s, t.Var, types.I64, "the variable of an access")
	}
	if i < 0 || i >= len(v.params) {
		v.note(s, "there is no buffer %d", i)
		return Param{}, false
	}
	return v.params[i], true
}

func (v *verifier) loop(s *Loop) {
	init := []types.DType{}
	for _, r := range s.Init {
		init = append(init, v.use(s, r))
	}
	v.axes(s, []Axis{s.Axis})
	v.defineAll(s, s.Vars, init)
	next := v.body(s.Body, s, s.Next)
	if !sameDTypes(next, init) {
		v.note(s, "carries %v and the next values are %v", init, next)
	}
	if s.Parallel && len(init)+len(s.Vars)+len(s.Next)+len(s.IDs) > 0 {
		v.note(s, "a parallel loop carries values")
	}
	for _, r := range s.Vars {
		v.hide(r)
	}
	v.hide(s.Axis.Var)
	v.defineAll(s, s.IDs, init)
}

func (v *verifier) iterate(s *Iterate) {
	v.want(s, s.Count, types.I64, "the count")
	init := []types.DType{}
	for _, r := range s.Init {
		init = append(init, v.use(s, r))
	}
	v.define(s, s.Var, types.I64)
	v.defineAll(s, s.Vars, init)
	ends := s.Next
	if s.Until != scalar.None {
		ends = append(append([]Ref{}, ends...), s.Until)
	}
	next := v.body(s.Body, s, ends)
	if s.Until != scalar.None {
		if t := next[len(next)-1]; t != types.Bool && t != types.Invalid {
			v.note(s, "what ends the loop is %s, not bool", t)
		}
		next = next[:len(next)-1]
	}
	if !sameDTypes(next, init) {
		v.note(s, "carries %v and the next values are %v", init, next)
	}
	for _, r := range s.Vars {
		v.hide(r)
	}
	v.hide(s.Var)
	v.defineAll(s, s.IDs, init)
}

func (v *verifier) reduce(s *Reduce) {
	if s.Chunk != scalar.None {
		v.want(s, s.Chunk, types.I64, "the chunk")
	}
	if len(s.Axes) == 0 {
		v.note(s, "a reduction has at least one axis")
	}
	v.axes(s, s.Axes)
	got := v.body(s.Body, s, []Ref{s.Val})[0]
	v.hideAxes(s.Axes)
	result := s.Type
	if s.Kind == ir.ReduceArgMax || s.Kind == ir.ReduceArgMin {
		result = types.I64
	}
	ordered := s.Type.IsFloat() && (s.Kind == ir.ReduceSum || s.Kind == ir.ReduceProd)
	logical := s.Kind == ir.ReduceAnd || s.Kind == ir.ReduceOr
	switch {
	case got != s.Type && got != types.Invalid:
		v.note(s, "the body gives %s, the reduction is of %s", got, s.Type)
	case logical != (s.Type == types.Bool):
		v.note(s, "there is no reduction %s of %s", s.Kind, s.Type)
	case ordered == (s.Order == Any):
		v.note(s, "the order %s does not fit a %s of %s", s.Order, s.Kind, s.Type)
	}
	v.define(s, s.ID, result)
}

func (v *verifier) call(s *Call) {
	args := []types.DType{}
	for _, r := range s.Args {
		args = append(args, v.use(s, r))
	}
	f := v.funcs[s.Func]
	if f == nil {
		v.note(s, "there is no function %s", ir.FormatSym(s.Func))
		for _, r := range s.IDs {
			v.define(s, r, types.Invalid)
		}
		return
	}
	if !sameDTypes(args, f.Params) {
		v.note(s, "%s takes %v, not %v", ir.FormatSym(f.Name), f.Params, args)
	}
	v.defineAll(s, s.IDs, f.Results)
}

func (v *verifier) transform(s *Transform) {
	for _, l := range s.Lines() {
		b, ok := v.buffer(s, l.Param, l.At)
		switch {
		case !ok:
		case b.DType != types.I64:
			v.note(s, "buffer %s is %s, not i64", b.Name, b.DType)
		case (l == &s.Data || l == &s.Spare) && !b.Work:
			v.note(s, "buffer %s is no work memory", b.Name)
		case b.Out && !b.Work:
			v.note(s, "output %s is read", b.Name)
		}
	}
	if s.Size < MinTransform || s.Size&(s.Size-1) != 0 {
		v.note(s, "there is no transform of %d elements", s.Size)
	}
	v.want(s, s.P, types.I64, "the modulus")
	if (s.Scale != scalar.None) != s.Inverse {
		v.note(s, "only an inverse transform is scaled")
	}
	if s.Inverse {
		v.want(s, s.Scale, types.I64, "the scale")
	}
	v.define(s, s.ID, types.Bool)
}

func (v *verifier) sort(s *Sort) {
	v.dim(s, s.Size)
	for _, r := range s.Ranks {
		v.want(s, r.First, types.I64, "a rank")
		v.want(s, r.End, types.I64, "a rank")
	}
	var lines []Param
	for _, l := range s.Lines() {
		b, ok := v.buffer(s, l.Param, l.At)
		switch {
		case !ok:
			return
		case l != &s.Source && !b.Work:
			v.note(s, "buffer %s is no work memory", b.Name)
		case b.Out && !b.Work:
			v.note(s, "output %s is read", b.Name)
		case b.DType.Bytes() < 4:
			v.note(s, "elements of %s are too narrow", b.DType)
		}
		lines = append(lines, b)
	}
	if data, source, spare := lines[0], lines[1], lines[2]; data.DType != source.DType ||
		data.DType.Bytes() != spare.DType.Bytes() {
		v.note(s, "%s is %s, %s is %s and %s is %s", data.Name, data.DType, source.Name, source.DType,
			spare.Name, spare.DType)
	} else if s.Positions && (data.DType != types.U64 || s.Data.Param == s.Source.Param) {
		v.note(s, "positions of %s go to %s, which is %s", source.Name, data.Name, data.DType)
	}
}

// defineAll defines values of the given types.
func (v *verifier) defineAll(s Stmt, rs []Ref, ts []types.DType) {
	if len(rs) != len(ts) {
		v.note(s, "%d values are defined, of %d", len(rs), len(ts))
	}
	for i, r := range rs {
		t := types.Invalid
		if i < len(ts) {
			t = ts[i]
		}
		v.define(s, r, t)
	}
}

func sameDTypes(a, b []types.DType) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
