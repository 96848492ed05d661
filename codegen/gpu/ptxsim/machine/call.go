package machine

// call makes f the first instruction of the function that o calls.
func (w *Warp) call(f *fragment, o *Op) {
	caller, k := f.fr, o.Call
	callee := w.enter(k.Function, caller, f.mask)
	callee.call = k
	copyArea(f.mask, k.Args, caller, callee)
	f.top = &join{pc: f.pc, fr: caller, mask: f.mask, parent: f.top, callee: callee}
	f.fr, f.pc = callee, 0
}

// results copies what a function gives to its caller.
func (w *Warp) results(f *fragment) {
	copyArea(f.mask, f.fr.call.Results, f.fr, f.fr.caller)
}

func copyArea(m uint32, list []Passed, from, to *frame) {
	for _, p := range list {
		EachLane(m, func(i int) {
			copy(to.area[i*to.fn.AreaBytes+p.To:][:p.Bytes], from.area[i*from.fn.AreaBytes+p.From:])
		})
	}
}

// Area is the parameters, results and variables for calls of a lane in the frame that runs.
func (w *Warp) Area(lane int) []byte { return w.frame.area[lane*w.frame.fn.AreaBytes:] }

// LaunchParams is the .param space of the launch.
func (w *Warp) LaunchParams() []byte { return w.block.params }
