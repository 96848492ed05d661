package runtime

import (
	"encoding/binary"
	"errors"
	"slices"

	"healc/runtime/abi"
	"healc/runtime/device"
)

// Note [Loops on a device]
//
// A loop that ends when a kernel says so could wait for the device behind every step. Where the body of the loop only
// starts work on the device, the device ends the loop by itself: behind each step a kernel of one thread, the judge,
// looks at the condition. When the loop is over it writes abi.Stopped to the Site of the program's abi.Error, and
// everything that was started behind it does nothing, since every kernel looks there first (abi.Device.Stops). So steps
// can be started before anybody knows whether they are wanted, and the host asks after 2, 4, 8, ... of them. It finds
// the number of steps in the cell, from which it knows where the state is, and takes the mark away.
//
// Two steps are the unit, behind which the state lies where it was. They are a graph from the second time on, and where
// the driver has graphs that repeat their work (device.Stream.CaptureLoop), they are the body of one: another kernel of
// one thread keeps it going as long as the loop is not over, so that there is no limit to the steps of one start but
// patience: a context that is cancelled is looked at in between. The mark is needed there as well, for the second step
// of a body. A driver that cannot make such a graph is asked once, and the graphs are started one after the other from
// then on.
//
// A loop whose steps are small is one launch of one block, where code generation says so (abi.DeviceLoop).

const (
	unitSteps  = 2
	mostUnits  = 32      // started at once, one after the other
	mostRepeat = 1 << 14 // of the work of a graph
	mostSteps  = 1 << 14 // of a loop in one block, in one launch
)

// judgePTX looks behind each step whether the loop is over. Parameters: the cell, the address of the condition, that of
// the number of the step or 0.
const judgePTX = `.version 6.0
.target sm_70
.address_size 64

.visible .entry judge(
	.param .u64 judge_param_0,
	.param .u64 judge_param_1,
	.param .u64 judge_param_2
)
{
	.reg .pred %p<4>;
	.reg .b16 %h<2>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd0, [judge_param_0];
	ld.param.u64 %rd1, [judge_param_1];
	ld.param.u64 %rd2, [judge_param_2];
	cvta.to.global.u64 %rd0, %rd0;
	cvta.to.global.u64 %rd1, %rd1;
	ld.global.u64 %rd3, [%rd0];
	setp.ne.u64 %p0, %rd3, 0;
	@%p0 bra DONE;
	ld.global.u64 %rd4, [%rd0+32];
	add.s64 %rd4, %rd4, 1;
	st.global.u64 [%rd0+32], %rd4;
	setp.eq.u64 %p1, %rd2, 0;
	@%p1 bra ASK;
	cvta.to.global.u64 %rd2, %rd2;
	cvt.u32.u64 %r0, %rd4;
	st.global.u32 [%rd2], %r0;
ASK:
	ld.global.u8 %h0, [%rd1];
	setp.ne.u16 %p2, %h0, 0;
	ld.global.u64 %rd5, [%rd0+40];
	setp.ge.s64 %p3, %rd4, %rd5;
	or.pred %p2, %p2, %p3;
	@!%p2 bra DONE;
	mov.u64 %rd6, -1;
	st.global.u64 [%rd0], %rd6;
DONE:
	ret;
}
`

// repeatPTX keeps a graph repeating its work. Parameters: the handle of the graph's condition, the cell.
const repeatPTX = `.version 6.0
.target sm_70
.address_size 64

.extern .func cudaGraphSetConditional(
	.param .b64 cudaGraphSetConditional_param_0,
	.param .b32 cudaGraphSetConditional_param_1
);

.visible .entry repeat(
	.param .u64 repeat_param_0,
	.param .u64 repeat_param_1
)
{
	.reg .pred %p<3>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd0, [repeat_param_0];
	ld.param.u64 %rd1, [repeat_param_1];
	cvta.to.global.u64 %rd1, %rd1;
	ld.global.u64 %rd2, [%rd1];
	ld.global.u64 %rd3, [%rd1+48];
	add.s64 %rd3, %rd3, -1;
	st.global.u64 [%rd1+48], %rd3;
	setp.eq.u64 %p0, %rd2, 0;
	setp.gt.s64 %p1, %rd3, 0;
	and.pred %p2, %p0, %p1;
	selp.b32 %r0, 1, 0, %p2;
	{
	.param .b64 handle;
	st.param.b64 [handle+0], %rd0;
	.param .b32 value;
	st.param.b32 [value+0], %r0;
	call.uni cudaGraphSetConditional, (handle, value);
	}
	ret;
}
`

// loop runs a Loop step.
func (r *deviceRun) loop(fr *deviceFrame, s *boundStep, depth int) error {
	l := s.def.Loop
	raw, err := r.value(fr, l.Count, 4)
	if err != nil {
		return err
	}
	count := int32(binary.LittleEndian.Uint32(raw))
	if l.Device != nil {
		return r.loopInBlock(fr, l, int64(count))
	}
	if count > 0 && l.Until >= 0 && fr.f.endsThere(r.x, s) {
		return r.loopThere(fr, s, count)
	}
	for i := int32(0); i < count; i++ {
		if l.Index >= 0 {
			if err := r.q.Fill(fr.addrs[l.Index], uint32(i), 1); err != nil {
				return err
			}
		}
		if err := r.steps(fr, s.then, depth); err != nil {
			return err
		}
		fr.swap(l)
		if l.Until < 0 {
			continue
		}
		over, err := r.value(fr, l.Until, 1)
		if err != nil {
			return err
		}
		if over[0] != 0 {
			break
		}
	}
	return nil
}

// swap makes the state that a run of a loop wrote the one that the next run reads.
func (fr *deviceFrame) swap(l *abi.Loop) {
	for _, p := range l.Swap {
		fr.addrs[p[0]], fr.addrs[p[1]] = fr.addrs[p[1]], fr.addrs[p[0]]
		fr.strs[p[0]], fr.strs[p[1]] = fr.strs[p[1]], fr.strs[p[0]]
	}
}

// endsThere reports whether the device can end a loop by itself: its steps start work that looks whether it is wanted.
func (f *boundFunc) endsThere(x *Executable, s *boundStep) bool {
	if x.plan.Device == nil || !x.plan.Device.Stops || slices.ContainsFunc(s.def.Loop.Swap, func(p [2]int) bool {
		return f.bufs[p[0]].dtype.Bytes() == 0
	}) {
		return false
	}
	for i := range s.then {
		if !f.capturable(&s.then[i]) {
			return false
		}
	}
	return len(s.then) > 0
}

// loopThere runs a loop that the device ends.
func (r *deviceRun) loopThere(fr *deviceFrame, s *boundStep, count int32) error {
	l := s.def.Loop
	judge, err := r.q.Function("judge", func() string { return judgePTX })
	if err != nil {
		return err
	}
	if err := r.set(abi.LoopRuns, 0); err != nil {
		return err
	}
	if err := r.set(abi.LoopCount, uint32(count)); err != nil {
		return err
	}
	index := uint64(0)
	if l.Index >= 0 {
		index = uint64(fr.addrs[l.Index])
		if err := r.q.Fill(fr.addrs[l.Index], 0, 1); err != nil {
			return err
		}
	}
	unit := func() error {
		for range unitSteps {
			for i := range s.then {
				if err := r.stepUnlessOver(fr, &s.then[i]); err != nil {
					return err
				}
			}
			if err := r.q.Launch(judge, 1, 1, 0, []uint64{uint64(r.cell), uint64(fr.addrs[l.Until]), index}); err !=
				nil {
				return err
			}
			fr.swap(l)
		}
		return nil
	}
	for units := 1; ; units *= 2 {
		if err := r.count(); err != nil {
			return err
		}
		if err := r.startUnits(fr, s, units, unit); err != nil {
			return err
		}
		r.unsettled = true
		raw, err := r.read(r.cell+abi.LoopRuns, 8)
		if err != nil {
			return err
		}
		if int64(binary.LittleEndian.Uint64(r.q.Small)) != abi.Stopped {
			continue
		}
		if binary.LittleEndian.Uint64(raw)%unitSteps != 0 {
			fr.swap(l)
		}
		return r.set(0, 0) // of the Site
	}
}

// set writes a word of the cell.
func (r *deviceRun) set(offset device.Ptr, word uint32) error {
	if err := r.q.Fill(r.cell+offset, word, 1); err != nil {
		return err
	}
	return r.q.Fill(r.cell+offset+4, 0, 1)
}

// loopInBlock runs a loop that is one launch of one block: see abi.DeviceLoop. A long one is several, so that a context
// that is cancelled is looked at.
func (r *deviceRun) loopInBlock(fr *deviceFrame, l *abi.Loop, count int64) error {
	if err := r.set(abi.LoopRuns, 0); err != nil {
		return err
	}
	for done := int64(0); done < count; {
		if err := r.count(); err != nil {
			return err
		}
		end := min(done+mostSteps, count)
		if err := r.set(abi.LoopCount, uint32(end)); err != nil {
			return err
		}
		if err := r.q.Launch(r.x.entries[l.Device.Entry], 1, l.Device.Threads, 0, r.words(fr, l.Device.Args)); err !=
			nil {
			return err
		}
		r.unsettled = true
		runs, over := end, false
		if l.Until >= 0 {
			raw, err := r.read(r.cell+abi.LoopRuns, 8)
			if err != nil {
				return err
			}
			runs = int64(binary.LittleEndian.Uint64(raw))
			over = int64(binary.LittleEndian.Uint64(r.q.Small)) == abi.Stopped
		}
		if (runs-done)%2 != 0 {
			fr.swap(l)
		}
		if done = runs; over {
			return r.set(0, 0) // of the Site
		}
	}
	return nil
}

// stepUnlessOver starts a step of a loop, which does nothing when the loop is over.
func (r *deviceRun) stepUnlessOver(fr *deviceFrame, s *boundStep) error {
	if s.def.Launch != nil {
		return r.launch(fr, s)
	}
	return r.d.CopyUnless(r.q, fr.buffer(s.def.Copy.To), fr.remote(&s.views[0]), r.cell)
}

// startUnits starts two steps of a loop so many times, or fewer.
func (r *deviceRun) startUnits(fr *deviceFrame, s *boundStep, units int, unit func() error) error {
	if !r.d.Graphs() || units == 1 {
		for range min(units, mostUnits) {
			if err := unit(); err != nil {
				return err
			}
		}
		return nil
	}
	g := &fr.graphs
	repeats := r.repeats()
	g.key = binary.LittleEndian.AppendUint64(g.key[:0], uint64(s.number))
	g.key = binary.LittleEndian.AppendUint64(g.key, uint64(r.cell))
	if repeats != nil {
		g.key = append(g.key, 1)
	}
	for _, at := range fr.addrs {
		g.key = binary.LittleEndian.AppendUint64(g.key, uint64(at))
	}
	made := g.made[string(g.key)]
	if made == nil {
		var err error
		before := slices.Clone(fr.addrs)
		if repeats != nil {
			made, err = r.q.CaptureLoop(func(handle uint64) error {
				if err := unit(); err != nil {
					return err
				}
				return r.q.Launch(repeats, 1, 1, 0, []uint64{handle, uint64(r.cell)})
			})
			if r.cannotRepeat(err) {
				copy(fr.addrs, before) // an error may have come between two steps
				return r.startUnits(fr, s, units, unit)
			}
		} else {
			made, err = r.q.Capture(unit)
		}
		if err != nil {
			return err
		}
		if err := g.note(r, made); err != nil {
			_ = made.Close() // the error that is returned tells more
			return err
		}
	}
	if repeats != nil {
		if err := r.set(abi.LoopBudget, uint32(min(units, mostRepeat))); err != nil {
			return err
		}
		return r.q.LaunchGraph(made)
	}
	for range min(units, mostUnits) {
		if err := r.q.LaunchGraph(made); err != nil {
			return err
		}
	}
	return nil
}

// repeats is the kernel that keeps a graph repeating its work, nil where there are no such graphs.
func (r *deviceRun) repeats() device.Function {
	if !r.d.Repeats() {
		return nil
	}
	f, err := r.q.Function("repeat", func() string { return repeatPTX })
	if err != nil { // a driver that does not know the function of the device
		r.d.CannotRepeat()
		return nil
	}
	return f
}

// cannotRepeat reports whether an error says that there are no graphs that repeat their work. Then none is made again.
func (r *deviceRun) cannotRepeat(err error) bool {
	var e *device.Error
	if !errors.Is(err, device.ErrNoLoops) && (!errors.As(err, &e) || e.Lost) {
		return false
	}
	r.d.CannotRepeat()
	return true
}
