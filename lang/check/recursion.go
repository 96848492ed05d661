package check

import (
	"sort"

	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/diag"
	"healc/lang/types"
)

// recursion marks the functions that call themselves, perhaps through others, and checks that they are
// on scalars. The components of the call graph are found by Tarjan's algorithm, with a stack of our own.
func (c *run) recursion() {
	index := map[*scope.Func]int{} // order of discovery, from 1
	low := map[*scope.Func]int{}
	onStack := map[*scope.Func]bool{}
	var stack []*scope.Func
	type frame struct {
		f    *scope.Func
		next int
	}
	for _, root := range c.Order {
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
			if top.next < len(f.Calls) {
				g := f.Calls[top.next].Callee
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
			var component []*scope.Func
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
func (c *run) component(fs []*scope.Func) {
	sort.Slice(fs, func(i, j int) bool { return fs[i].Pos < fs[j].Pos })
	member := make(map[*scope.Func]bool, len(fs))
	for _, f := range fs {
		member[f] = true
	}
	for _, f := range fs {
		for _, s := range f.Calls {
			if member[s.Callee] {
				f.Tree.Recursive = true
				c.Guarded(f, func() { c.recursive(f, s.At) })
				break
			}
		}
	}
}

// recursive checks a function that calls itself at the given place.
func (c *run) recursive(f *scope.Func, at diag.Span) {
	c.Cur = &scope.Owner{Name: f.OwnerName(), Fn: f}
	why := ""
	var place diag.Span
	switch results := types.Flatten(f.Tree.Result); {
	case len(f.Tree.Muts) > 0:
		why, place = "it has a `&mut` parameter", f.Tree.Loc
	case len(f.Tree.Dims) > 0:
		why, place = "it has shape parameters", f.Tree.Loc
	case len(results) == 0 && !f.Tree.IO:
		why, place = "it returns no value", f.Tree.Loc
	default:
		for _, t := range results {
			if !isScalar(t) {
				why, place = "it returns "+f.Tree.Result.String(), f.Tree.Loc
				if f.Decl.Result != nil {
					place = f.Decl.Result.Span()
				}
			}
		}
		for _, p := range f.Tree.Params {
			if t, ok := p.T.(types.Tensor); !ok || !isScalar(t) {
				why, place = "parameter "+report.Quote(p.Name)+" is "+p.T.String(), p.Loc
				break
			}
		}
	}
	if why == "" || types.IsError(f.Tree.Result) {
		return
	}
	c.Errorf(diag.CodeRecursion, at, "%s calls itself, but %s: recursion is on scalars only",
		report.Quote(f.OwnerName()), why).
		Related(place, "recursion is on functions of scalars")
	f.Failed = true
}

func isScalar(t types.Tensor) bool {
	return t.IsScalar() && (t.Elem.Converts() || t.Elem == types.Invalid)
}
