package cudatest

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"healc/runtime/device"
)

// work is a piece of work on a stream: a kernel, a copy, several of them that a graph repeats.
type work struct {
	do      func() error
	kernels int              // that it starts
	module  device.Module    // of one
	device  []uint64         // words that may be addresses of the device
	host    []unsafe.Pointer // addresses of the host
	held    *Held            // of a kernel that does not end by itself
}

// uses are the memory and the code that work uses: an address each.
type uses map[any]bool

// allocation is memory of the device.
type allocation struct{ at, size uint64 }

// Held is a kernel that runs until the test ends it. Meanwhile what is on other streams is done.
type Held struct {
	Begun chan struct{} // closed when it runs: what was before it on its stream is done

	library *Library
	after   int // kernels that run before it
	begun   bool
	ended   bool
}

// Hold makes the kernel after so many others, that are put on streams from now on, one that does not end before End.
func (l *Library) Hold(after int) *Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.init()
	h := &Held{Begun: make(chan struct{}), library: l, after: after}
	l.holds = append(l.holds, h)
	return h
}

// End lets the kernel end. Where it has not been put on a stream yet, none is held.
func (h *Held) End() {
	h.library.mu.Lock()
	defer h.library.mu.Unlock()
	h.ended = true
	h.library.holds = slices.DeleteFunc(h.library.holds, func(o *Held) bool { return o == h })
	h.library.turn.Broadcast()
}

// Wait makes functions wait as long as a kernel is held. Those of which the driver says so wait always: what frees
// memory, unloads code, and waits for streams and events.
func (l *Library) Wait(names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.init()
	for _, name := range names {
		l.waits[name] = true
	}
}

// Conflicts are the uses of memory and code that was in use by work which waits for a kernel that is held: by work on
// another stream, other than to fill it, and by who freed or unloaded it.
func (l *Library) Conflicts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conflicts
}

// deepest is how many pieces of work a stream takes before who has more waits.
const deepest = 1024

// put queues work on a stream, or adds it to the graph that it captures.
func (l *Library) put(name string, s *stream, w work) int32 {
	if s.captures {
		s.capturing = append(s.capturing, w)
		return ok
	}
	for len(s.queue) >= deepest {
		if blocked, code := l.advance(s); code != ok {
			return code
		} else if blocked {
			l.turn.Wait()
		}
	}
	if w.kernels > 0 && len(l.holds) > 0 {
		if h := l.holds[0]; h.after < w.kernels {
			w.held, l.holds = h, l.holds[1:]
		} else {
			h.after -= w.kernels
		}
	}
	for _, other := range l.running {
		if other == s {
			l.note(s.uses, &w)
		} else if name != "cuMemsetD32Async" { // which may be meant for a kernel that runs
			mine := uses{}
			l.note(mine, &w)
			delete(mine, w.module)
			for at := range mine {
				if other.uses[at] {
					l.conflict("%s uses memory at %v, which a kernel that runs on another stream uses", name, at)
				}
			}
		}
	}
	s.queue, s.asked = append(s.queue, w), false
	return ok
}

func (l *Library) conflict(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.conflicts, text) {
		l.conflicts = append(l.conflicts, text)
	}
}

// held reports whether a kernel runs that does not end by itself.
func (l *Library) held() bool {
	return slices.ContainsFunc(l.running, func(s *stream) bool { return !s.queue[0].held.ended })
}

// freed notes a conflict where work that waits for a kernel which is held uses what is given back.
func (l *Library) freed(what any, text string) {
	for _, s := range l.running {
		if s.uses[what] {
			l.conflict("%s, which a kernel that runs uses", text)
		}
	}
}

// note adds what a piece of work uses.
func (l *Library) note(u uses, w *work) {
	if w.module != nil {
		u[w.module] = true
	}
	for _, at := range w.device {
		if a := l.allocationOf(at); a != nil {
			u[a.at] = true
		}
	}
	for _, at := range w.host {
		if from := l.pinned(at); from != nil {
			u[from] = true
		}
	}
}

func compareAt(a allocation, at uint64) int { return cmp.Compare(a.at, at) }

// allocated notes memory of the device.
func (l *Library) allocated(at, size uint64) {
	i, _ := slices.BinarySearchFunc(l.blocks, at, compareAt)
	l.blocks = slices.Insert(l.blocks, i, allocation{at, size})
}

// unallocated forgets it.
func (l *Library) unallocated(at uint64) {
	if i, is := slices.BinarySearchFunc(l.blocks, at, compareAt); is {
		l.blocks = slices.Delete(l.blocks, i, i+1)
	}
}

// allocationOf is the memory that an address of the device is in, nil for none.
func (l *Library) allocationOf(at uint64) *allocation {
	i, is := slices.BinarySearchFunc(l.blocks, at, compareAt)
	if !is {
		i--
	}
	if i < 0 || at-l.blocks[i].at >= l.blocks[i].size {
		return nil
	}
	return &l.blocks[i]
}

// pinned is where the memory of the host begins that an address is in, nil for none.
func (l *Library) pinned(at unsafe.Pointer) *byte {
	for from, mem := range l.host {
		if uintptr(at)-uintptr(unsafe.Pointer(from)) < uintptr(len(mem)) {
			return from
		}
	}
	return nil
}

// advance does what is queued up to a kernel that is held. It reports whether there is one.
func (l *Library) advance(s *stream) (blocked bool, code int32) {
	for len(s.queue) > 0 {
		w := s.queue[0]
		if h := w.held; h != nil && !h.ended {
			if !h.begun {
				h.begun = true
				close(h.Begun)
				l.running, s.uses = append(l.running, s), uses{}
				for i := range s.queue {
					l.note(s.uses, &s.queue[i])
				}
			}
			return true, ok
		} else if h != nil {
			l.running = slices.DeleteFunc(l.running, func(o *stream) bool { return o == s })
		}
		s.queue = s.queue[1:]
		if w.do() != nil {
			return false, launchFailed
		}
	}
	return false, ok
}

// drain does what is queued.
func (l *Library) drain(s *stream) int32 {
	for {
		blocked, code := l.advance(s)
		if code != ok {
			return code
		}
		if !blocked {
			break
		}
		l.turn.Wait()
	}
	if s.work.Sync() != nil {
		return launchFailed
	}
	return ok
}

// drainAll does what is queued anywhere, as calls do that wait for the device.
func (l *Library) drainAll() int32 {
	for _, o := range l.objects {
		if s, is := o.(*stream); is {
			if code := l.drain(s); code != ok {
				return code
			}
		}
	}
	return ok
}

// ask is a query of a stream: the first one after something was put there comes before any of it is done.
func (l *Library) ask(s *stream) int32 {
	if len(s.queue) > 0 && !s.asked {
		s.asked = true
		return notReady
	}
	blocked, code := l.advance(s)
	if blocked {
		return notReady
	}
	return code
}
