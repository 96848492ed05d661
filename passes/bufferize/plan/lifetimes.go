package plan

import "healc/runtime/abi"

// lifetimes fills in First and Last of the arena's buffers; steps are numbered in pre-order.
//
// A loop runs its steps again and again: a buffer that is in use before the loop and in it is alive until
// the loop ends. Buffers that change places are alive together, because each is now in the one place, now
// in the other.
func lifetimes(f *abi.Function) {
	l := &lives{f: f, seen: make([]bool, len(f.Buffers))}
	l.walk(f.Steps)
	for changed := true; changed; { // a buffer changes places with others in other loops
		changed = false
		for _, p := range l.swaps {
			a, b := &f.Buffers[p[0]], &f.Buffers[p[1]]
			first, last := min(a.First, b.First), max(a.Last, b.Last)
			changed = changed || a.First != b.First || a.Last != b.Last
			a.First, a.Last, b.First, b.Last = first, last, first, last
		}
	}
}

type lives struct {
	f     *abi.Function
	seen  []bool
	next  int // the number of the next step
	swaps [][2]int
}

// touch notes that step number uses a buffer.
func (l *lives) touch(buffer, number int) {
	if buffer < 0 {
		return
	}
	b := &l.f.Buffers[buffer]
	if b.Kind != abi.Temp {
		return
	}
	if !l.seen[buffer] {
		b.First, b.Last, l.seen[buffer] = number, number, true
	}
	b.Last = max(b.Last, number)
}

func (l *lives) walk(steps []abi.Step) {
	for _, s := range steps {
		number := l.next
		touch := func(buffers ...int) {
			for _, b := range buffers {
				l.touch(b, number)
			}
		}
		views := func(vs []abi.View) {
			for _, v := range vs {
				touch(v.Buffer)
			}
		}
		l.next++
		switch {
		case s.Launch != nil:
			touch(s.Launch.Args...)
		case s.Host != nil:
			views(s.Host.Args)
			touch(s.Host.Out...)
		case s.Call != nil:
			views(s.Call.Args)
			touch(s.Call.Out...)
		case s.Copy != nil:
			touch(s.Copy.From.Buffer, s.Copy.To)
		case s.If != nil:
			touch(s.If.Cond)
			l.walk(s.If.Then)
			l.walk(s.If.Else)
		case s.Loop != nil:
			l.loop(s.Loop, number)
		}
	}
}

func (l *lives) loop(loop *abi.Loop, number int) {
	across := []int{loop.Count, loop.Index, loop.Until}
	for _, p := range loop.Swap {
		across = append(across, p[0], p[1])
	}
	for _, b := range across {
		l.touch(b, number)
	}
	l.walk(loop.Body)
	end := l.next - 1
	for _, b := range across {
		l.touch(b, end)
	}
	for i := range l.f.Buffers {
		if b := &l.f.Buffers[i]; b.Kind == abi.Temp && l.seen[i] && b.First <= number && b.Last > number {
			b.Last = max(b.Last, end)
		}
	}
	l.swaps = append(l.swaps, loop.Swap...)
}
