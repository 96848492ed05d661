package gpu

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/llir/llvm/ir/enum"

	"healc/ir/kernel"
	"healc/runtime/abi"
)

// Note [Frames on devices]: how many bytes a frame takes is decided by the driver's compiler, and differs between the
// entries that call a function. So calls end where they have taken what the stack has, less what frames take that are
// not counted (Note [Stack of a thread] in codegen/llvm/emit): those of the entry and of a function of a loop, the
// first one of a scalar function, the one that is active, and the next, whose check comes when it is there. A frame is
// taken to be as large as PTX allows: all of its registers at once, its variables and its parameters.
//
// As frames differ, the entry that reports a failure may go deeper than the one that failed, and not fail. Then it was
// the stack that failed.

// recursionStack is the stack of a thread for scalar functions: the most that a device allows. It is not enough for
// abi.MaxCallDepth calls of every function, see docs/gpu.md.
const recursionStack = 512<<10 - 1024

// unseenStack is a bound for what calls of the driver's own functions take, such as that of a division.
const unseenStack = 1024

// called is the first scalar function that k calls, nil when it calls none.
func (m *module) called(k *kernel.Kernel) *kernel.Func {
	var first *kernel.Func
	kernel.Each(k.Body, func(c *kernel.Call) {
		for _, f := range m.km.Funcs {
			if first == nil && f.Name == c.Func {
				first = f
			}
		}
	})
	return first
}

// noteStack writes down that the stack of a thread was too small, at the first function that the kernel calls.
func (m *module) noteStack(t *thread) {
	f := m.called(t.k)
	if f == nil {
		return
	}
	b := t.Block()
	b.NewStore(b.NewLoad(i64, t.word(abi.StackRoom/8)), t.word(1))
	b.NewStore(ci(i64, int64(f.Site)+1), t.word(0))
}

// outOfStack writes the entry that comes after a kernel whose checks came before it: what fails in it nevertheless is
// the stack.
func (m *module) outOfStack(k *kernel.Kernel) abi.DeviceKernel {
	t := m.entry(k, "stack", 1)
	rank := t.Block().NewLoad(i64, t.word(rankWord))
	t.returnUnless(t.Block().NewICmp(enum.IPredNE, rank, ci(i64, 0)))
	m.noteStack(t)
	t.Finish()
	return kernelOf(abi.DeviceLaunch{Entry: t.name, PerBlock: 1, Threads: 1}, 0)
}

// reserve is a bound for the bytes of stack that are taken and not counted: see Note [Frames on devices].
func reserve(ptx string) int64 {
	entry, loop, scalar := int64(0), int64(0), int64(0)
	for _, f := range frames(ptx) {
		switch {
		case f.entry:
			entry = max(entry, f.bytes)
		case strings.HasPrefix(f.name, "fn_$_"): // emit.Module.DeclareFunc, in the spelling of PTX
			scalar = max(scalar, f.bytes)
		default:
			loop = max(loop, f.bytes)
		}
	}
	return entry + loop + 3*scalar + unseenStack
}

// frame is a function in PTX, with a bound for the bytes of its frame.
type frame struct {
	name  string
	entry bool
	bytes int64
}

var (
	head     = pattern(`^(\.visible )?\.(entry|func) .*?([\w$%]+)\($`)
	register = pattern(`^\s*\.reg \.([a-z]+)(\d*)\s+%\w+(?:<(\d+)>)?;`)
	variable = pattern(`\.(param|local) (?:\.align (\d+) )?\.[a-z]+(\d+) [\w$%]+(?:\[(\d+)\])?`)
)

// pattern is compiled when it is first used: most processes write no PTX.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// frames reads the functions of a text as LLVM writes it.
func frames(ptx string) (out []frame) {
	number := func(s string) int64 { // 1 where there is none
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 1
		}
		return n
	}
	body := false
	for line := range strings.Lines(ptx) {
		line = strings.TrimRight(line, "\n")
		switch m := head().FindStringSubmatch(line); {
		case m != nil:
			out, body = append(out, frame{name: m[3], entry: m[2] == "entry"}), false
		case line == "{":
			body = true
		case line == "}" || line == ";":
			body = false
		}
		if len(out) == 0 {
			continue
		}
		f := &out[len(out)-1]
		if m := register().FindStringSubmatch(line); m != nil {
			f.bytes += max(number(m[2])/8, 4) * number(m[3])
		}
		for _, m := range variable().FindAllStringSubmatch(line, -1) {
			if m[1] == "local" || !body && !f.entry { // those in a body are the parameters of another function
				f.bytes += number(m[3])/8*number(m[4]) + number(m[2])
			}
		}
	}
	return out
}
