package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
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
func operandFits() map[*ir.OpDef]func(c *infer.Checker, in *operationCall) bool {
	return map[*ir.OpDef]func(c *infer.Checker, in *operationCall) bool{
		ops.TakeAlongAxis: fitTakeAlong,
		ops.ScatterAdd:    fitScatterAdd,
	}
}

// specialCalls are the operations whose calls cannot be read by their parameters alone, and why not.
func specialCalls() map[*ir.OpDef]infer.Build {
	return map[*ir.OpDef]infer.Build{
		// the call is no operation where it changes nothing
		ops.Broadcast: expandCall,
		ops.Permute:   permuteCall,
		// one extent may be -1, what the others leave over
		ops.Reshape: reshapeCall,
		// the operands are the elements of a tuple, which may be a value; one alone is itself
		ops.Concat: concatCall,
		// the element type stands in brackets
		ops.Iota:    iotaCall,
		ops.Bitcast: bitcastCall,
		ops.LoadNpy: loadCall,
		// a reduction takes tuples of tensors, too, and that of a scalar is the scalar
		ops.ReduceSum: reductionCall(ops.ReduceSum), ops.ReduceProd: reductionCall(ops.ReduceProd),
		ops.ReduceAnd: reductionCall(ops.ReduceAnd), ops.ReduceOr: reductionCall(ops.ReduceOr),
		ops.Mean: reductionCall(ops.Mean), ops.Var: reductionCall(ops.Var),
		// any value is printed, a tuple as one text
		ops.Print: printCall,
		// what is no tensor has a message of its own
		ops.SaveNpy: saveCall(ops.SaveNpy), ops.SavePng: saveCall(ops.SavePng), ops.SavePgm: saveCall(ops.SavePgm),
		// the length of a known string is known
		ops.StrLen: lenCall,
		// the message is the text of the call
		ops.Assert: assertCall,
		// the message is checked against the numbers that it shows
		ops.Require: requireCall,
		// functions, and states of any type
		ops.Iterate: iterateCall, ops.IterateUntil: untilCall,
		ops.Fold: foldCall, ops.Scan: scanCall, ops.Tabulate: tabulateCall,
		// factors broadcast, and the sum may be gathered or scattered on the way
		ops.ModMulAxisSum: modMulAxisSumCall,
		// narrower integers widen, and one number stands for all channels
		ops.Ntt: nttCall(ops.Ntt), ops.Intt: nttCall(ops.Intt),
	}
}

// operationBuiltin is the function of an operation that is not element-wise.
func operationBuiltin(op *ir.OpDef, special infer.Build,
	fit func(c *infer.Checker, in *operationCall) bool) *infer.Builtin {
	b := &infer.Builtin{Brackets: op.Brackets, Generic: op.Brackets != "", Build: special}
	for _, p := range op.Params {
		if p.Kind == ir.ParamRest {
			b.Variadic, b.Required = p.Name, int(p.Default)
			break
		}
		b.Params = append(b.Params, p.Name)
		if !p.Optional {
			b.Required = len(b.Params)
		}
	}
	if special == nil {
		b.Build = func(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
			in := &operationCall{op: op, at: e.Loc, args: args, want: want, attrs: ir.A{}}
			if !operands(c, in) || !callAttributes(c, in) || fit != nil && !fit(c, in) {
				return tree.Bad(e.Loc)
			}
			c.Sharded = c.Sharded || op == ops.Shard || op == ops.Replicate
			return c.ApplyCode(diag.CodeRule, e.Loc, op, in.attrs, nil, in.operands)
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
func operands(c *infer.Checker, in *operationCall) bool {
	shared := sharedOperands(c, in)
	ok := true
	for i, p := range in.op.Params {
		var x tree.Expr
		var fine bool
		switch p.Kind {
		case ir.ParamOperand:
			if p.Literals == ir.LiteralsOfFirst && !ok {
				return false
			}
			x, fine = operandOf(c, in, i, shared)
		case ir.ParamScalar:
			x = c.ScalarOf(in.args[i], p.Elem, p.What)
			fine = !tree.IsBad(x)
		case ir.ParamInt:
			in.attrs[attrOf(p)], fine = c.ConstInt(in.args[i], p.What)
		case ir.ParamFlag:
			in.attrs[attrOf(p)], fine = constFlag(c, in.args[i], p.What)
		case ir.ParamShape:
			in.attrs[attrOf(p)], _, fine = dimList(c, in.args[i])
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
func sharedOperands(c *infer.Checker, in *operationCall) map[int]tree.Expr {
	var at []int
	var es []ast.Expr
	for i, p := range in.op.Params {
		if p.Kind == ir.ParamOperand && p.Literals == ir.LiteralsShared && in.args[i] != nil {
			at, es = append(at, i), append(es, in.args[i])
		}
	}
	out := map[int]tree.Expr{}
	for k, x := range c.Together(es, types.ElemOf(in.want)) {
		out[at[k]] = x
	}
	return out
}

// operandOf types operand i.
func operandOf(c *infer.Checker, in *operationCall, i int, shared map[int]tree.Expr) (tree.Expr, bool) {
	p := in.op.Params[i]
	if x := shared[i]; x != nil {
		if p.What == "" {
			return x, !tree.IsBad(x)
		}
		_, ok := tensorOf(c, x, p.What)
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
	x, _, ok := c.Value(in.args[i], hint, what)
	return x, ok
}

// callAttributes reads the axes, which count those of the first operand.
func callAttributes(c *infer.Checker, in *operationCall) bool {
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
			v, ok = axisOr(c, in.args[i], rank, missing)
		case p.Kind == ir.ParamAxes:
			v, ok = axesOf(c, in.args[i], rank)
		case p.Kind == ir.ParamAnyAxis && in.args[i] != nil:
			v, ok = c.Axis(in.args[i], rank)
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
