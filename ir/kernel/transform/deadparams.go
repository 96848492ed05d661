package transform

import "healc/ir/kernel"

// DeadParams removes the parameters that no statement accesses, and puts local ones behind those that are buffers. The
// others keep their names and their order.
func DeadParams(k *kernel.Kernel) {
	used := make([]bool, len(k.Params))
	k.Body.EachParam(func(p *int) { used[*p] = true })
	now := make([]int, len(k.Params))
	var params []kernel.Param
	for _, local := range []bool{false, true} {
		for i, p := range k.Params {
			if used[i] && p.Local == local {
				now[i] = len(params)
				params = append(params, p)
			}
		}
	}
	k.Body.EachParam(func(p *int) { *p = now[*p] })
	k.Params = params
}
