package gpu

import (
	"fmt"
	"strings"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen"
	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Note [Failures on devices]: a program reports the first failure in the order of the iterations. Threads find theirs
// in any order. So a thread whose check fails leaves the number of its iteration in the fourth word of the program's
// abi.Error, where the smallest number stays, and ends. (The word is the complement of the number, whose maximum is
// kept, so that 0 is none.) A last launch then repeats that one iteration in one thread, and records the check that
// fails there. Only that launch fills in the site. So the kernels after it, which read the site when they begin, see
// the failure, and the other blocks of the kernel that fails do not.
//
// Calls of scalar functions fail, too, where the stack ends: Note [Frames on devices].
//
// A kernel that works in place cannot repeat an iteration that has stored something before the check. So it is done
// twice: first without its stores, for the checks alone.

// rankWord is the word of abi.Error with the number of the first iteration that failed.
const rankWord = 3

// maxParams is the most words of parameters of an entry. Before PTX 8.1 (drivers for CUDA 12.1) it is plainParams.
const (
	maxParams   = 32764 / 8
	plainParams = 4096 / 8
)

// paramsPTX is the version of PTX that an entry with more than plainParams needs, paramsLLVM the first version of LLVM
// that writes it.
const (
	paramsPTX  = "ptx81"
	paramsLLVM = 17
)

// module is a program on its way to a device.
type module struct {
	km            *kernel.Module
	tune          *profile.GPU
	code          *device.DeviceModule
	device        *abi.Device
	inLoop        string      // the entry of the loop whose functions are written; "" for entries
	calls         []blockCall // of these functions, in order
	entries       int         // of loops
	wide          bool        // whether an entry has more than plainParams
	mma           bool        // the processor has matrix instructions for bytes
	checksStopped bool        // whether every entry first looks for a failure or the end of its loop
}

var (
	i1  = lt.I1
	i8  = lt.I8
	i32 = lt.I32
	i64 = lt.I64
)

func ci(t *lt.IntType, n int64) constant.Constant { return constant.NewInt(t, n) }

// kernel writes the entries of k.
func (m *module) kernel(k *kernel.Kernel) error {
	n := m.paramWords(k.Buffers())
	m.wide = m.wide || n > plainParams
	if n > maxParams {
		return &codegen.Unsupported{What: fmt.Sprintf("kernel %s with %d parameters", k.Name, n), Target: "gpu",
			Why: fmt.Sprintf("an entry has at most %d; a program in smaller functions has smaller kernels", maxParams)}
	}
	m.device.Kernels[k.Name] = m.form(k)
	return nil
}

// paramWords is the number of parameters of an entry with so many buffers: their addresses, the extents, scratch memory
// and the error.
func (m *module) paramWords(buffers int) int { return buffers + len(m.km.Dims) + 2 }

// form writes k in the first form that fits, with what reports its failures. The launches are in the order in which the
// entries are written.
func (m *module) form(k *kernel.Kernel) abi.DeviceKernel {
	fails := checks(k.Body)
	again := fails && m.overwrites(k)
	var parts []abi.DeviceKernel
	if again {
		parts = append(parts, m.checksAlone(k), m.report(k, 1))
	}
	_, p := formOf(k, m.tune, m.inLoop != "")
	parts = append(parts, p.emit(m))
	if fails && !again {
		parts = append(parts, m.report(k, p.batch))
	}
	if again && m.called(k) != nil {
		parts = append(parts, m.outOfStack(k))
	}
	return inOrder(parts...)
}

// overwrites reports whether k may have overwritten an input in the iteration in which a check fails.
func (m *module) overwrites(k *kernel.Kernel) bool {
	inPlace := map[int]bool{}
	for i, p := range k.Params {
		inPlace[i] = p.InPlace && !p.Work
	}
	stored, found := false, false
	var walk func(stmts []kernel.Stmt)
	again := func(b *kernel.Block) { // the stores of one iteration come before the checks of the next
		walk(b.Stmts)
		walk(b.Stmts)
	}
	walk = func(stmts []kernel.Stmt) {
		for _, s := range stmts {
			switch s := s.(type) {
			case *kernel.Let, *kernel.Call:
				found = found || stored && checks(&kernel.Block{Stmts: []kernel.Stmt{s}})
			case *kernel.Store:
				stored = stored || inPlace[s.Param]
			case *kernel.Loop:
				again(s.Body)
			case *kernel.Iterate:
				again(s.Body)
			case *kernel.Reduce:
				again(s.Body)
			case *kernel.If:
				walk(s.Then.Stmts)
				walk(s.Else.Stmts)
			}
		}
	}
	walk(k.Body.Stmts)
	return found
}

// checks reports whether b can fail.
func checks(b *kernel.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return true
			}
		case *kernel.Loop:
			if checks(s.Body) {
				return true
			}
		case *kernel.Iterate:
			if checks(s.Body) {
				return true
			}
		case *kernel.Reduce:
			if checks(s.Body) {
				return true
			}
		case *kernel.If:
			if checks(s.Then) || checks(s.Else) {
				return true
			}
		case *kernel.Call:
			return true // at least the check of its depth
		}
	}
	return false
}

// entryName is the name of an entry, with dollars for the points that PTX does not allow.
func entryName(k *kernel.Kernel, part string) string {
	name := k.Name
	if part != "" {
		name += "." + part
	}
	return strings.ReplaceAll(name, ".", "$")
}

// entry begins an entry of k. It does nothing when the program has failed or the loop around it has ended
// (abi.Stopped).
func (m *module) entry(k *kernel.Kernel, part string, threads int) *thread {
	name := entryName(k, part)
	t := &thread{k: k, name: name, size: threads, tune: m.tune}
	if m.inLoop != "" {
		t.name = m.inLoop + "$" + name
		t.Thread = m.code.Function(t.name, k)
		m.calls = append(m.calls, blockCall{function: t.Function(), alone: threads == 1})
	} else {
		t.Thread = m.code.Entry(name, k, threads)
	}
	if m.checksStopped {
		site := t.Block().NewLoad(i64, t.Err)
		t.returnUnless(t.Block().NewICmp(enum.IPredEQ, site, ci(i64, 0)))
	}
	return t
}

// thread is the code of one thread of an entry of k.
type thread struct {
	*device.Thread
	k    *kernel.Kernel
	name string
	size int // threads of a block
	tune *profile.GPU

	iteration value.Value // the number of the current iteration
	splits    bool        // divide gets numbers below that of the kernel's iterations
}

// returnUnless ends the thread where ok is false.
func (t *thread) returnUnless(ok value.Value) {
	go_, leave := t.NewBlock(), t.NewBlock()
	t.Block().NewCondBr(ok, go_, leave)
	leave.NewRet(nil)
	t.SetBlock(go_)
}

// register reads a special register, such as tid.x.
func (t *thread) register(name string) value.Value {
	return t.Block().NewCall(t.Intrinsic("llvm.nvvm.read.ptx.sreg."+name, i32))
}

// zext is a number that is not negative, as an i64.
func (t *thread) zext(x value.Value) value.Value { return t.Block().NewZExt(x, i64) }

// word is the address of a word of the program's abi.Error.
func (t *thread) word(n int64) value.Value { return t.Block().NewGetElementPtr(i64, t.Err, ci(i64, n)) }
