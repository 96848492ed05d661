package cudatest

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ebitengine/purego"

	"healc/runtime/device"
)

// Library is a libcuda. The fields are set before it is opened.
type Library struct {
	Version int32 // as cuDriverGetVersion tells; 0 is 12040
	Devices []device.Device
	Missing map[string]bool // functions that the library lacks

	mu      sync.Mutex
	fail    map[string][]int32 // results of the next calls, by function
	calls   map[string]int
	current map[int]uintptr // context by thread
	next    uintptr
	objects map[uintptr]any // contexts, streams, events, modules, ... by handle
	host    map[*byte][]byte
	limits  map[uintptr]uintptr
	shared  map[string]uintptr // cuFuncSetAttribute, by entry
	symbols map[string]uintptr
	arrays  [][]uintptr // that the library wrote the address of

	turn      *sync.Cond // a kernel that was held has ended
	holds     []*Held    // that are waiting for their kernel
	running   []*stream  // those whose first work is a kernel that is held
	waits     map[string]bool
	blocks    []allocation // by address
	conflicts []string
}

// The objects behind handles.
type (
	context struct{ dev device.Device }
	stream  struct {
		dev       device.Device
		work      device.Stream
		queue     []work
		capturing []work
		captures  bool
		asked     bool    // since something was put on it, whether it is done
		uses      uses    // of what is queued, while a kernel of it is held
		into      uintptr // the graph that the capture goes on with, 0 for a new one
	}
	event struct {
		stream *stream
		at     device.Event // when it was reached
	}
	graph struct {
		work   []work
		dev    device.Device
		loops  []loop    // conditions that were made for nodes of it
		bodies []uintptr // graphs of its nodes, which go with it
		node   *graph    // the body of its node, nil for none
		owned  bool      // by a node
		exec   bool      // a CUgraphExec
	}
	loop struct {
		handle uint64 // of its condition
		while  func(body func() error) error
		used   bool
	}
	function struct {
		fn     device.Function
		module device.Module
		name   string
	}
)

// The codes that the library returns by itself.
const (
	ok                 = 0
	invalidValue       = 1
	outOfMemory        = 2
	notInitialized     = 3
	noDevice           = 100
	invalidDevice      = 101
	invalidContext     = 201
	invalidPTX         = 218
	invalidHandle      = 400
	notReady           = 600
	notFound           = 500
	launchFailed       = 719
	notSupported       = 801
	captureUnjoined    = 900
	captureUnsupported = 900
	captureUnmatched   = 903
)

// Fail makes the next calls of a function return these codes, one after the other, and do nothing.
func (l *Library) Fail(name string, codes ...int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.init()
	l.fail[name] = append(l.fail[name], codes...)
}

// Unfail takes back what Fail has said and no call has met.
func (l *Library) Unfail() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.fail)
}

// Called are the functions that were called, sorted.
func (l *Library) Called() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.calls))
}

// Calls is how often a function was called.
func (l *Library) Calls(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[name]
}

// Limit is what cuCtxSetLimit was told, 0 when it was not called.
func (l *Library) Limit(limit uintptr) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits[limit]
}

// Shared is the dynamic shared memory that an entry was allowed.
func (l *Library) Shared(entry string) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shared[entry]
}

// Alive counts the objects that were created and not yet destroyed: everything but contexts and functions.
func (l *Library) Alive() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.host)
	for _, o := range l.objects {
		switch o.(type) {
		case *context, *function, *node:
		default:
			n++
		}
	}
	return n
}

func (l *Library) init() {
	if l.calls != nil {
		return
	}
	l.fail, l.calls, l.current = map[string][]int32{}, map[string]int{}, map[int]uintptr{}
	l.objects, l.host, l.limits, l.shared = map[uintptr]any{}, map[*byte][]byte{}, map[uintptr]uintptr{},
		map[string]uintptr{}
	l.next = 0x1000
	l.symbols, l.waits = map[string]uintptr{}, map[string]bool{}
	l.turn = sync.NewCond(&l.mu)
	if l.Version == 0 {
		l.Version = 12040
	}
}

// Symbol is the address of a function, as dlsym gives it.
func (l *Library) Symbol(name string) (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.init()
	f, known := l.functions()[name]
	if !known || l.Missing[name] {
		return 0, fmt.Errorf("undefined symbol: %s", name)
	}
	if l.symbols[name] == 0 {
		l.symbols[name] = purego.NewCallback(f)
	}
	return l.symbols[name], nil
}

// begin is the start of every call; do it is told to go on with. It unlocks with end.
func (l *Library) begin(name string) (code int32, failed bool) {
	l.mu.Lock()
	l.calls[name]++
	for l.waits[name] && l.held() {
		l.turn.Wait()
	}
	if codes := l.fail[name]; len(codes) > 0 {
		l.fail[name] = codes[1:]
		return codes[0], true
	}
	return ok, false
}

// plain runs a call that needs no context.
func (l *Library) plain(name string, call func() int32) uintptr {
	code, failed := l.begin(name)
	defer l.mu.Unlock()
	if !failed {
		code = call()
	}
	return uintptr(code)
}

// in runs a call that needs a context.
func (l *Library) in(name string, call func(c *context) int32) uintptr {
	return l.plain(name, func() int32 {
		c, _ := l.objects[l.current[thread()]].(*context)
		if c == nil {
			return invalidContext
		}
		return call(c)
	})
}

// add gives an object a handle.
func (l *Library) add(o any) uintptr {
	l.next += 8
	l.objects[l.next] = o
	return l.next
}

// object is what a handle stands for.
func object[T any](l *Library, handle uintptr) (T, bool) {
	o, ok := l.objects[handle].(T)
	return o, ok
}
