package check

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// A call of an operation is read by the parameters in its entry of the table (ir.OpDef.Params): operands are typed in
// order, then attributes are read, and the type rule of the entry does the rest. What an operation takes beyond that
// has its code here in the front end, by one of these two tables.

// operandFits brings operands of an operation to the shapes that its type rule asks for.
func operandFits() map[*ir.OpDef]func(c *checker, in *operationCall) bool {
	return map[*ir.OpDef]func(c *checker, in *operationCall) bool{
		ops.TakeAlongAxis: (*checker).fitTakeAlong,
		ops.ScatterAdd:    (*checker).fitScatterAdd,
	}
}

// specialCalls are the operations whose calls cannot be read by their parameters alone, and why not.
func specialCalls() map[*ir.OpDef]buildFunc {
	return map[*ir.OpDef]buildFunc{
		// the call is no operation where it changes nothing
		ops.Broadcast: (*checker).expandCall,
		ops.Permute:   (*checker).permuteCall,
		// one extent may be -1, what the others leave over
		ops.Reshape: (*checker).reshapeCall,
		// the operands are the elements of a tuple, which may be a value; one alone is itself
		ops.Concat: (*checker).concatCall,
		// the element type stands in brackets
		ops.Iota:    (*checker).iotaCall,
		ops.LoadNpy: (*checker).loadCall,
		// a reduction takes tuples of tensors, too, and that of a scalar is the scalar
		ops.ReduceSum: reductionCall(ops.ReduceSum), ops.ReduceProd: reductionCall(ops.ReduceProd),
		ops.ReduceAnd: reductionCall(ops.ReduceAnd), ops.ReduceOr: reductionCall(ops.ReduceOr),
		ops.Mean: reductionCall(ops.Mean), ops.Var: reductionCall(ops.Var),
		// any value is printed, a tuple as one text
		ops.Print: (*checker).printCall,
		// what is no tensor has a message of its own
		ops.SaveNpy: (*checker).saveCall,
		// the length of a known string is known
		ops.StrLen: (*checker).lenCall,
		// the message is the text of the call
		ops.Assert: (*checker).assertCall,
		// the message is checked against the numbers that it shows
		ops.Require: (*checker).requireCall,
		// functions, and states of any type
		ops.Iterate: (*checker).iterateCall, ops.IterateUntil: (*checker).untilCall,
		ops.Fold: (*checker).foldCall, ops.Scan: (*checker).scanCall, ops.Tabulate: (*checker).tabulateCall,
		// factors broadcast, and the sum may be gathered or scattered on the way
		ops.ModMulAxisSum: (*checker).modMulAxisSumCall,
		// narrower integers widen, and one number stands for all channels
		ops.Ntt: nttCall(ops.Ntt), ops.Intt: nttCall(ops.Intt),
	}
}

// operationBuiltin is the function of an operation that is not element-wise.
func operationBuiltin(op *ir.OpDef, special buildFunc, fit func(c *checker, in *operationCall) bool) *builtin {
	b := &builtin{brackets: op.Brackets, generic: op.Brackets != "", build: special}
	for _, p := range op.Params {
		if p.Kind == ir.ParamRest {
			b.variadic, b.required = p.Name, int(p.Default)
			break
		}
		b.params = append(b.params, p.Name)
		if !p.Optional {
			b.required = len(b.params)
		}
	}
	if special == nil {
		b.build = func(c *checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
			in := &operationCall{op: op, at: e.Loc, args: args, want: want, attrs: ir.A{}}
			if !c.operands(in) || !c.callAttributes(in) || fit != nil && !fit(c, in) {
				return tree.Bad(e.Loc)
			}
			return c.applyCode(diag.CodeRule, e.Loc, op, in.attrs, nil, in.operands)
		}
	}
	return b
}

// operationCall is the call of an operation, as far as it has been read.
type operationCall struct {
	op   *ir.OpDef
	at   diag.Span
	args []ast.Expr // one for each parameter, nil where it is left out
	want types.Type // of the result

	operands []tree.Expr
	types    []types.Tensor // of the operands
	attrs    ir.A
}

// operands types the operands, and what can be read without them: integers, flags and shapes.
func (c *checker) operands(in *operationCall) bool {
	shared := c.sharedOperands(in)
	ok := true
	for i, p := range in.op.Params {
		var x tree.Expr
		var fine bool
		switch p.Kind {
		case ir.ParamOperand:
			if p.Literals == ir.LiteralsOfFirst && !ok {
				return false
			}
			x, fine = c.operandOf(in, i, shared)
		case ir.ParamScalar:
			x = c.scalarOf(in.args[i], p.Elem, p.What)
			fine = !tree.IsBad(x)
		case ir.ParamInt:
			in.attrs[attrOf(p)], fine = c.constInt(in.args[i], p.What)
		case ir.ParamFlag:
			in.attrs[attrOf(p)], fine = c.constFlag(in.args[i], p.What)
		case ir.ParamShape:
			in.attrs[attrOf(p)], _, fine = c.dimList(in.args[i])
		case ir.ParamAxis, ir.ParamAnyAxis, ir.ParamAxes:
			continue
		default:
			panic("BUG: nothing reads the argument " + p.Name + " of " + in.op.Name)
		}
		if x != nil {
			t, _ := x.Type().(types.Tensor)
			in.operands, in.types = append(in.operands, x), append(in.types, t)
		}
		ok = ok && fine
	}
	return ok
}

// sharedOperands types the operands that share one element type, by their parameters.
func (c *checker) sharedOperands(in *operationCall) map[int]tree.Expr {
	var at []int
	var es []ast.Expr
	for i, p := range in.op.Params {
		if p.Kind == ir.ParamOperand && p.Literals == ir.LiteralsShared && in.args[i] != nil {
			at, es = append(at, i), append(es, in.args[i])
		}
	}
	out := map[int]tree.Expr{}
	for k, x := range c.together(es, types.ElemOf(in.want)) {
		out[at[k]] = x
	}
	return out
}

// operandOf types operand i.
func (c *checker) operandOf(in *operationCall, i int, shared map[int]tree.Expr) (tree.Expr, bool) {
	p := in.op.Params[i]
	if x := shared[i]; x != nil {
		if p.What == "" {
			return x, !tree.IsBad(x)
		}
		_, ok := c.tensorOf(x, p.What)
		return x, ok
	}
	var hint types.Type
	switch {
	case p.Elem != types.Invalid:
		hint = types.Scalar(p.Elem)
	case p.Literals == ir.LiteralsOfFirst:
		hint = literal.Want(in.types[0].Elem)
	case p.Literals == ir.LiteralsOfResult:
		hint = literal.Want(types.ElemOf(in.want))
	}
	what := p.What
	if what == "" {
		what = "the first argument of " + report.Quote(in.op.FunctionName())
	}
	x, _, ok := c.value(in.args[i], hint, what)
	return x, ok
}

// callAttributes reads the axes, which count those of the first operand.
func (c *checker) callAttributes(in *operationCall) bool {
	for i, p := range in.op.Params {
		var rank int
		if len(in.types) > 0 {
			rank = in.types[0].Rank()
		}
		var v any
		ok := true
		switch {
		case p.Kind == ir.ParamAxis:
			missing := p.Default
			if missing < 0 {
				missing += int64(rank)
			}
			v, ok = c.axisOr(in.args[i], rank, missing)
		case p.Kind == ir.ParamAxes:
			v, ok = c.axes(in.args[i], rank)
		case p.Kind == ir.ParamAnyAxis && in.args[i] != nil:
			v, ok = c.axis(in.args[i], rank)
		default:
			continue
		}
		if !ok {
			return false
		}
		in.attrs[attrOf(p)] = v
	}
	return true
}

// attrOf is the attribute that an argument becomes.
func attrOf(p ir.Param) string {
	if p.Attr != "" {
		return p.Attr
	}
	return p.Name
}
