package machine

// Special is what fills a special register, or nil.
func Special(name string) func(w *Warp, v *Lanes) { return specials[name] }

var specials = map[string]func(w *Warp, v *Lanes){
	"%laneid":      func(w *Warp, v *Lanes) { v.number(func(i int) uint64 { return uint64(i) }) },
	"%warpid":      func(w *Warp, v *Lanes) { fillLanes(v, uint64(w.index)) },
	"%nwarpid":     func(w *Warp, v *Lanes) { fillLanes(v, uint64(len(w.block.warps))) },
	"%lanemask_eq": func(w *Warp, v *Lanes) { v.number(func(i int) uint64 { return 1 << i }) },
	"%lanemask_lt": func(w *Warp, v *Lanes) { v.number(func(i int) uint64 { return 1<<i - 1 }) },
	"%lanemask_le": func(w *Warp, v *Lanes) { v.number(func(i int) uint64 { return 2<<i - 1 }) },
	"%lanemask_gt": func(w *Warp, v *Lanes) { v.number(func(i int) uint64 { return uint64(^uint32(2<<i - 1)) }) },
	"%lanemask_ge": func(w *Warp, v *Lanes) { v.number(func(i int) uint64 { return uint64(^uint32(1<<i - 1)) }) },
	"%smid":        func(w *Warp, v *Lanes) { fillLanes(v, 0) },
	"%nsmid":       func(w *Warp, v *Lanes) { fillLanes(v, 1) },
	"%gridid":      func(w *Warp, v *Lanes) { fillLanes(v, uint64(w.block.firstRun)) },
}

func init() {
	for axis, name := range []string{"x", "y", "z"} {
		specials["%tid."+name] = func(w *Warp, v *Lanes) {
			v.number(func(i int) uint64 { return uint64(w.block.threadID(w.index*32 + i)[axis]) })
		}
		specials["%ntid."+name] = func(w *Warp, v *Lanes) { fillLanes(v, uint64(w.block.size[axis])) }
		specials["%ctaid."+name] = func(w *Warp, v *Lanes) { fillLanes(v, uint64(w.block.id[axis])) }
		specials["%nctaid."+name] = func(w *Warp, v *Lanes) { fillLanes(v, uint64(w.block.grid[axis])) }
	}
}

// number sets each lane to a function of its number.
func (v *Lanes) number(f func(i int) uint64) {
	for i := range v {
		v[i] = f(i)
	}
}

// fillLanes sets all lanes to one value.
func fillLanes(v *Lanes, x uint64) {
	for i := range v {
		v[i] = x
	}
}
