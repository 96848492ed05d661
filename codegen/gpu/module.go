package gpu

import (
	"fmt"
	"strings"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Note [Failures on devices]: which failure a program reports is part of its meaning: the first one in the order of the
// iterations. Threads find theirs in any order, so a thread whose check fails leaves the number of its iteration in the
// program's abi.Error, in the fourth word, where the smallest number stays, and ends. (The word is the complement of
// the number, whose maximum is kept, so that 0 is none.) A last launch then does that one iteration again, in one
// thread, and writes down the check that fails there. The site is filled in by that launch alone, so the kernels after
// it, which look at the site when they begin, see the failure, and the other blocks of the kernel that fails do not.

// A kernel that works in place cannot do an iteration again that has stored something before the check. So it is done
// twice: first without its stores, for the checks alone.

// rankWord is the word of abi.Error that has the number of the first iteration that failed.
const rankWord = 3

// recursionStack is the stack that a thread gets for scalar functions: the most that a device can have. It is not
// enough for abi.MaxCallDepth calls of any function, see docs/gpu.md.
const recursionStack = 512<<10 - 1024

// maxParams is how many words of parameters an entry can have, plainParams before PTX 8.1, which drivers for CUDA 12.1
// know.
const (
	maxParams   = 32764 / 8
	plainParams = 4096 / 8
)

// paramsPTX is the version of PTX that a module needs that has an entry with more than plainParams, and the first
// version of LLVM that writes it.
const (
	paramsPTX  = "ptx81"
	paramsLLVM = 17
)

// module is a program on its way to a device.
type module struct {
	km      *kernel.Module
	code    *llvm.DeviceModule
	device  *abi.Device
	inLoop  string     // the entry of the loop whose functions are written; "" for entries
	calls   []loopCall // of these functions, in order
	entries int        // of loops
	wide    bool       // an entry has more than plainParams
	looks   bool       // every entry looks whether the program has failed or a loop has ended
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
	n := m.words(k.Buffers())
	m.wide = m.wide || n > plainParams
	if n > maxParams {
		return &codegen.Unsupported{What: fmt.Sprintf("kernel %s with %d parameters", k.Name, n), Target: "gpu",
			Why: fmt.Sprintf("an entry has at most %d; a program in smaller functions has smaller kernels", maxParams)}
	}
	m.device.Kernels[k.Name] = m.parts(k, m.form)
	return nil
}

// words is how many parameters an entry with so many buffers has: their addresses, the extents, scratch memory and the
// error.
func (m *module) words(buffers int) int { return buffers + len(m.km.Dims) + 2 }

// form writes k in the first form that fits. A failure names the first of `piece` iterations.
func (m *module) form(k *kernel.Kernel) (dk abi.DeviceKernel, piece int) {
	if p := planTurn(k); p != nil {
		return m.turned(k, p), 1
	}
	if p := planFlat(k); p != nil {
		return m.flat(k, p), p.width
	}
	if p := planProduct(k); p != nil {
		return m.products(k, p), 1
	}
	if kept := cacheRows(k); planTeam(k) != nil && planTeam(kept) != nil {
		return m.teams(kept, planTeam(kept)), 1
	}
	if p := planTeam(k); p != nil {
		return m.teams(k, p), 1
	}
	if p := planChains(k); p != nil {
		return m.chains(k, p), 1
	}
	return m.general(k), 1
}

// parts writes k in a form, with what reports its failures. The launches are in the order in which the entries are
// written.
func (m *module) parts(k *kernel.Kernel, form func(*kernel.Kernel) (abi.DeviceKernel, int)) abi.DeviceKernel {
	fails := checks(k.Body)
	var before []abi.DeviceLaunch
	if fails && m.overwrites(k) {
		before = append(before, m.checksAlone(k), m.report(k, 1))
	}
	dk, piece := form(k)
	if before != nil {
		dk.Launches = append(before, dk.Launches...)
	} else if fails {
		dk.Launches = append(dk.Launches, m.report(k, piece))
	}
	return dk
}

// overwrites reports whether k may have overwritten an input in the iteration in which a check fails.
func (m *module) overwrites(k *kernel.Kernel) bool {
	inPlace := map[int]bool{}
	for i, p := range k.Params {
		inPlace[i] = p.InPlace && !p.Work
	}
	stored, found := false, false
	var walk func(stmts []kernel.Stmt)
	again := func(b *kernel.Block) { // what a loop does comes before what it does next
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
			return true // at least that it is too deep
		}
	}
	return false
}

// entryName is a name for PTX, in which points are not allowed and dollars are.
func entryName(k *kernel.Kernel, part string) string {
	name := k.Name
	if part != "" {
		name += "." + part
	}
	return strings.ReplaceAll(name, ".", "$")
}

// entry begins an entry of k, which does nothing when the program has failed or what it is in has ended (abi.Stopped).
func (m *module) entry(k *kernel.Kernel, part string, threads int) *thread {
	name := entryName(k, part)
	t := &thread{k: k, name: name, size: threads}
	if m.inLoop != "" {
		t.name = m.inLoop + "$" + name
		t.Thread = m.code.Function(t.name, k)
		m.calls = append(m.calls, loopCall{function: t.Function(), alone: threads == 1})
	} else {
		t.Thread = m.code.Entry(name, k, threads)
	}
	if m.looks {
		site := t.Block().NewLoad(i64, t.Err)
		t.leaveUnless(t.Block().NewICmp(enum.IPredEQ, site, ci(i64, 0)))
	}
	return t
}

// thread is the code of one thread of an entry of k.
type thread struct {
	*llvm.Thread
	k    *kernel.Kernel
	name string
	size int // threads of a block

	iteration value.Value // the number of what is done
	splits    bool        // numbers that are divided are less than the kernel's iterations
}

// leaveUnless ends the thread where ok is false.
func (t *thread) leaveUnless(ok value.Value) {
	go_, leave := t.NewBlock(), t.NewBlock()
	t.Block().NewCondBr(ok, go_, leave)
	leave.NewRet(nil)
	t.SetBlock(go_)
}

// register reads a special register, such as tid.x.
func (t *thread) register(name string) value.Value {
	return t.Block().NewCall(t.Intrinsic("llvm.nvvm.read.ptx.sreg."+name, i32))
}

// wide is a number that is not negative as an i64.
func (t *thread) wide(x value.Value) value.Value { return t.Block().NewZExt(x, i64) }

// word is the address of a word of the program's abi.Error.
func (t *thread) word(n int64) value.Value { return t.Block().NewGetElementPtr(i64, t.Err, ci(i64, n)) }
