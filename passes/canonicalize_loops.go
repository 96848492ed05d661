package passes

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// addLoopRules registers what makes loops smaller.
func addLoopRules() {
	addRule("no step", noStep, ops.Iterate, ops.IterateUntil)
	addRule("no step changes it", unchangedState, ops.Iterate, ops.IterateUntil)
}

// noStep: a loop whose count is a constant below 1 gives its start.
func noStep(_ *canonicalizer, op *ir.Op) []*ir.Value {
	n, ok := array(op.Args[0])
	if !ok || int32(n.Bits[0]) > 0 {
		return nil
	}
	return append([]*ir.Value{}, op.Args[1:]...)
}

// unchangedState: a part of the state that every step hands on as it is stands for its start, in the steps and
// after the loop.
func unchangedState(c *canonicalizer, op *ir.Op) []*ir.Value {
	region := op.Regions[0]
	drop := map[int]bool{}
	with := map[*ir.Value]*ir.Value{}
	for k := range op.Results {
		if p := region.Params[k+1]; region.Yields[k] == p {
			drop[k], with[p] = true, op.Args[k+1]
		}
	}
	if len(drop) == 0 {
		return nil
	}
	small := &ir.Op{Def: op.Def, Attrs: op.Attrs, Span: op.Span, Args: op.Args[:1:1]}
	body := &ir.Block{Ops: region.Ops, Params: region.Params[:1:1]}
	var ts []types.Tensor
	for k, r := range op.Results {
		if drop[k] {
			continue
		}
		p := region.Params[k+1]
		p.Index = len(body.Params)
		body.Params = append(body.Params, p)
		body.Yields = append(body.Yields, region.Yields[k])
		small.Args, ts = append(small.Args, op.Args[k+1]), append(ts, r.Type)
	}
	body.Yields = append(body.Yields, region.Yields[len(op.Results):]...) // whether it ends
	ir.Replace(body, with)
	small.Regions = []*ir.Block{body}
	small.SetResults(ts)
	c.out = append(c.out, small)
	out, next := make([]*ir.Value, len(op.Results)), 0
	for k := range op.Results {
		if drop[k] {
			out[k] = op.Args[k+1]
			continue
		}
		small.Results[next].Span = op.Results[k].Span
		out[k] = small.Results[next]
		next++
	}
	return out
}
