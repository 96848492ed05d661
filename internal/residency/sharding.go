package residency

import (
	"healc/ir"
	"healc/lang/types"
)

// shardings are those of the parameters of a function and of its results, of which the last are what it updates. nil is
// that all are replicated.
type shardings struct{ params, results []types.Sharding }

// shardingsOf are the shardings of a function, from the types of its parameters and results as declared.
func shardingsOf(of *ir.Func, params, results []types.Tensor) shardings {
	var out shardings
	sharded := false
	for _, t := range params {
		out.params = append(out.params, t.Sharding)
		sharded = sharded || t.Sharding != types.Replicated
	}
	for _, t := range results {
		out.results = append(out.results, t.Sharding)
		sharded = sharded || t.Sharding != types.Replicated
	}
	if !sharded {
		return shardings{}
	}
	for _, k := range of.Updates {
		out.results = append(out.results, out.params[k])
	}
	return out
}

// ofGradient are the shardings of a derivative by the parameters at by, which is code: a gradient is sharded as its
// parameter is, and so is what it is added to.
func (s shardings) ofGradient(code *ir.Func, by []int64) shardings {
	if s.params == nil {
		return s
	}
	out := shardings{params: append([]types.Sharding(nil), s.params...), results: []types.Sharding{types.Replicated}}
	for _, k := range by {
		out.results = append(out.results, s.params[k])
		if len(code.Updates) > 0 {
			out.params = append(out.params, s.params[k])
		}
	}
	return out
}

// turnedOver are the shardings where the axes of some results are turned over.
func (s shardings) turnedOver(results []types.Tensor, columns []bool) shardings {
	if s.results == nil {
		return s
	}
	out := shardings{params: s.params, results: append([]types.Sharding(nil), s.results...)}
	for i, t := range results {
		if axis := t.Sharding.Axis(); columns[i] && axis >= 0 {
			out.results[i] = types.ShardedAlong(t.Rank() - 1 - axis)
		}
	}
	return out
}

func (s shardings) param(i int) types.Sharding  { return numbered(s.params, i) }
func (s shardings) result(i int) types.Sharding { return numbered(s.results, i) }

func numbered(list []types.Sharding, i int) types.Sharding {
	if list == nil {
		return types.Replicated
	}
	return list[i]
}

// IsSharded reports whether a rank has a part of an argument or of a result.
func (m *Memory) IsSharded() bool { return m.shards.params != nil || m.shards.results != nil }

// ParamAxis is the axis along which parameter i is sharded, -1 where each rank has the whole.
func (m *Memory) ParamAxis(i int) int { return m.shards.param(i).Axis() }

// ResultAxis is ParamAxis for result i of the IR; the last ones are the new values of what the function updates.
func (m *Memory) ResultAxis(i int) int { return m.shards.result(i).Axis() }
