package check

import (
	"sort"

	"healc/lang/check/report"
	"healc/lang/diag"
	"healc/lang/types"
)

// recursion marks the functions that call themselves, perhaps through others, and checks that they are
// on scalars. The components of the call graph are found by Tarjan's algorithm, with a stack of our own.
func (c *checker) recursion() {
	index := map[*funcInfo]int{} // order of discovery, from 1
	low := map[*funcInfo]int{}
	onStack := map[*funcInfo]bool{}
	var stack []*funcInfo
	type frame struct {
		f    *funcInfo
		next int
	}
	for _, root := range c.order {
		if index[root] != 0 {
			continue
		}
		work := []frame{{f: root}}
		for len(work) > 0 {
			top := &work[len(work)-1]
			f := top.f
			if top.next == 0 {
				index[f] = len(index) + 1
				low[f] = index[f]
				stack = append(stack, f)
				onStack[f] = true
			}
			if top.next < len(f.calls) {
				g := f.calls[top.next].callee
				top.next++
				if index[g] == 0 {
					work = append(work, frame{f: g})
				} else if onStack[g] {
					low[f] = min(low[f], index[g])
				}
				continue
			}
			work = work[:len(work)-1]
			if len(work) > 0 {
				up := work[len(work)-1].f
				low[up] = min(low[up], low[f])
			}
			if low[f] != index[f] {
				continue
			}
			var component []*funcInfo
			for {
				g := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onStack[g] = false
				component = append(component, g)
				if g == f {
					break
				}
			}
			c.component(component)
		}
	}
}

// component handles functions that all reach each other.
func (c *checker) component(fs []*funcInfo) {
	sort.Slice(fs, func(i, j int) bool { return fs[i].pos < fs[j].pos })
	member := make(map[*funcInfo]bool, len(fs))
	for _, f := range fs {
		member[f] = true
	}
	for _, f := range fs {
		for _, s := range f.calls {
			if member[s.callee] {
				f.fn.Recursive = true
				c.guarded(f, func() { c.recursive(f, s.at) })
				break
			}
		}
	}
}

// recursive checks a function that calls itself at the given place.
func (c *checker) recursive(f *funcInfo, at diag.Span) {
	c.cur = &owner{name: f.ownerName(), fn: f}
	why := ""
	var place diag.Span
	switch results := types.Flatten(f.fn.Result); {
	case len(f.fn.Muts) > 0:
		why, place = "it has a `&mut` parameter", f.fn.Loc
	case len(f.fn.Dims) > 0:
		why, place = "it has shape parameters", f.fn.Loc
	case len(results) == 0 && !f.fn.IO:
		why, place = "it returns no value", f.fn.Loc
	default:
		for _, t := range results {
			if !isScalar(t) {
				why, place = "it returns "+f.fn.Result.String(), f.fn.Loc
				if f.decl.Result != nil {
					place = f.decl.Result.Span()
				}
			}
		}
		for _, p := range f.fn.Params {
			if t, ok := p.T.(types.Tensor); !ok || !isScalar(t) {
				why, place = "parameter "+report.Quote(p.Name)+" is "+p.T.String(), p.Loc
				break
			}
		}
	}
	if why == "" || types.IsError(f.fn.Result) {
		return
	}
	c.errorf(diag.CodeRecursion, at, "%s calls itself, but %s: recursion is on scalars only",
		report.Quote(f.ownerName()),
		why).
		Related(place, "recursion is on functions of scalars")
	f.failed = true
}

func isScalar(t types.Tensor) bool {
	return t.IsScalar() && (t.Elem.Converts() || t.Elem == types.Invalid)
}
