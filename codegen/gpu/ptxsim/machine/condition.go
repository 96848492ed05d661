package machine

// Note [Conditions]: a node of a CUDA graph whose body is repeated has a condition, a number with a handle. Kernels set
// it by a call of cudaGraphSetConditional, which PTX declares as an external function and the driver links. What
// repeats the body is not part of the simulator: it begins a condition when the graph starts, looks at it behind each
// run of the body, and ends it. A kernel that sets a condition at another time faults, as on hardware.

// SetConditional is the function of the driver.
const SetConditional = "cudaGraphSetConditional"

// BeginCondition makes a handle known, with a value.
func (d *Device) BeginCondition(handle uint64, value uint32) {
	d.conditionMu.Lock()
	defer d.conditionMu.Unlock()
	d.conditions[handle] = value
}

// Condition is the value of a condition, 0 when the handle is not known.
func (d *Device) Condition(handle uint64) uint32 {
	d.conditionMu.Lock()
	defer d.conditionMu.Unlock()
	return d.conditions[handle]
}

// EndCondition forgets a handle.
func (d *Device) EndCondition(handle uint64) {
	d.conditionMu.Lock()
	defer d.conditionMu.Unlock()
	delete(d.conditions, handle)
}

// SetCondition sets a condition for a lane, and stops if the handle is not known.
func (w *Warp) SetCondition(lane int, handle uint64, value uint32) {
	d := w.block.dev
	d.conditionMu.Lock()
	_, known := d.conditions[handle]
	if known {
		d.conditions[handle] = value
	}
	d.conditionMu.Unlock()
	if !known {
		w.Fault(Undefined, lane, "%s: %#x is no condition of a graph that runs", SetConditional, handle)
	}
}
