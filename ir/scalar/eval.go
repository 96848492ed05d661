package scalar

import (
	"fmt"
	"strings"
	"sync"

	"healc/lang/types"
)

// blockLen is how many elements an instruction handles at once: enough to hide the dispatch, and few
// enough that the live columns of a typical body (2 KiB each) stay in the first-level cache.
const blockLen = 256

// Program is a Func prepared for evaluation over columns. It is immutable, and safe for concurrent use.
type Program struct {
	params  []types.DType
	steps   []step
	results []int // columns
	columns int
	consts  []constant
	pool    sync.Pool // of *workspace
}

// step is one instruction with its operands' columns. Columns 0 to len(params)-1 are the arguments.
type step struct {
	run     kernel // nil for a check
	dst     int
	args    [3]int // columns; unused ones repeat a valid column
	instr   int    // position in the Func
	kind    CheckKind
	details []detail
}

type detail struct {
	column int
	dtype  types.DType
}

type constant struct {
	column int
	bits   uint64
}

// workspace holds the columns of one evaluation: arguments first, then constants and temporaries, which are as long as
// the blocks of what was evaluated so far. Most programs of an interpreter only ever see one element.
type workspace struct {
	columns [][]uint64
	length  int
}

// CheckError says which check failed, where, and with which details.
type CheckError struct {
	Kind        CheckKind
	Instr       int           // the position of the Check in the Func
	Element     int           // the first element for which it fails
	Details     []uint64      // raw bits
	DetailTypes []types.DType // parallel to Details
}

// Error implements error.
func (e *CheckError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at element %d", e.Kind, e.Element)
	for i, d := range e.Details {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(FormatBits(e.DetailTypes[i], d))
	}
	return b.String()
}

// Compile prepares f for Run. f must satisfy Verify.
func Compile(f *Func) *Program {
	p := &Program{params: f.Params, columns: len(f.Params)}
	last := lastUses(f)
	column := make([]int, len(f.Instrs))
	consts := map[uint64]int{} // the column of each, whatever its type
	var free []int
	release := func(i int, refs []Ref) {
		for k, r := range refs {
			seen := false
			for _, s := range refs[:k] {
				seen = seen || s == r
			}
			if !seen && last[r] == i && f.Instrs[r].Op != Const && f.Instrs[r].Op != Param {
				free = append(free, column[r])
			}
		}
	}
	for i, in := range f.Instrs {
		switch in.Op {
		case Nop:
			continue
		case Param:
			column[i] = int(in.Imm)
			continue
		case Const:
			c, ok := consts[in.Imm]
			if !ok {
				c = p.columns
				consts[in.Imm] = c
				p.consts = append(p.consts, constant{c, in.Imm})
				p.columns++
			}
			column[i] = c
			continue
		}
		s := step{instr: i}
		args := operands(in)
		for k, r := range args {
			s.args[k] = column[r]
		}
		for k := len(args); k < 3; k++ {
			s.args[k] = s.args[0]
		}
		// Every kernel reads element i of its operands before it writes element i, so a result may
		// take the column of an operand that dies here.
		release(i, args)
		if in.Op == Check {
			s.kind = CheckKind(in.Imm)
			for _, r := range args[1:] {
				s.details = append(s.details, detail{column[r], f.Instrs[r].Type})
			}
			p.steps = append(p.steps, s)
			continue
		}
		s.run = kernelOf(in.Op, in.Type, f.Instrs[args[len(args)-1]].Type)
		if n := len(free); n > 0 {
			s.dst, free = free[n-1], free[:n-1]
		} else {
			s.dst = p.columns
			p.columns++
		}
		column[i] = s.dst
		if last[i] < i { // never used
			free = append(free, s.dst)
		}
		p.steps = append(p.steps, s)
	}
	for _, r := range f.Results {
		p.results = append(p.results, column[r])
	}
	return p
}

// operands returns the used operands of in, in order.
func operands(in Instr) []Ref {
	args := make([]Ref, 0, 3)
	for _, a := range in.Args {
		if a != None {
			args = append(args, a)
		}
	}
	return args
}

// lastUses returns, for each instruction, the last one that reads it; results are read at the end, and
// -1 stands for never.
func lastUses(f *Func) []int {
	last := make([]int, len(f.Instrs))
	for i := range last {
		last[i] = -1
	}
	for i, in := range f.Instrs {
		for _, a := range in.Args {
			if a != None {
				last[a] = i
			}
		}
	}
	for _, r := range f.Results {
		last[r] = len(f.Instrs)
	}
	return last
}

// workspaceFor returns a workspace for blocks of m elements, or none longer than it has to be.
func (p *Program) workspaceFor(m int) *workspace {
	if w, _ := p.pool.Get().(*workspace); w != nil && w.length >= m {
		return w
	}
	w := &workspace{columns: make([][]uint64, p.columns), length: m}
	store := make([]uint64, (p.columns-len(p.params))*m)
	for i := len(p.params); i < p.columns; i++ {
		w.columns[i], store = store[:m:m], store[m:]
	}
	for _, c := range p.consts {
		col := w.columns[c.column]
		for i := range col {
			col[i] = c.bits
		}
	}
	return w
}

// Run evaluates n elements: args[p][i] holds the raw bits of parameter p, zero-extended (bool is 0 or
// 1), and out[r][i] receives those of result r. Both have at least n elements per column, and out may
// not share memory with args, but that the only result of a program without checks may be written over an argument.
//
// When a check fails, Run returns the first check in instruction order that fails for any element,
// with the first such element, and out is unspecified.
func (p *Program) Run(args, out [][]uint64, n int) *CheckError {
	w := p.workspaceFor(min(n, blockLen))
	defer p.pool.Put(w)
	var failed *CheckError
	steps := p.steps
	for lo := 0; lo < n; lo += blockLen {
		m := min(blockLen, n-lo)
		for i := range p.params {
			w.columns[i] = args[i][lo : lo+m]
		}
		for i := range steps {
			s := &steps[i]
			x := w.columns[s.args[0]][:m]
			if s.run != nil {
				s.run(w.columns[s.dst][:m], x, w.columns[s.args[1]][:m], w.columns[s.args[2]][:m])
				continue
			}
			if at := firstFalse(x); at >= 0 {
				failed = s.failure(w, lo, at)
				// The blocks that follow matter only for the checks before this one.
				steps = steps[:i]
				break
			}
		}
		if failed != nil {
			continue
		}
		for r, c := range p.results {
			copy(out[r][lo:lo+m], w.columns[c])
		}
	}
	for i := range p.params {
		w.columns[i] = nil // the pool must not keep the caller's memory alive
	}
	return failed
}

func (s *step) failure(w *workspace, lo, at int) *CheckError {
	e := &CheckError{Kind: s.kind, Instr: s.instr, Element: lo + at}
	for _, d := range s.details {
		e.Details = append(e.Details, w.columns[d.column][at])
		e.DetailTypes = append(e.DetailTypes, d.dtype)
	}
	return e
}

func firstFalse(x []uint64) int {
	for i, v := range x {
		if v == 0 {
			return i
		}
	}
	return -1
}

// RunOne evaluates a single element: args and the results are raw bits.
func (p *Program) RunOne(args ...uint64) ([]uint64, *CheckError) {
	in, out := make([][]uint64, len(args)), make([][]uint64, len(p.results))
	for i := range args {
		in[i] = args[i : i+1]
	}
	results := make([]uint64, len(p.results))
	for i := range results {
		out[i] = results[i : i+1]
	}
	if err := p.Run(in, out, 1); err != nil {
		return nil, err
	}
	return results, nil
}

// Eval evaluates f for one element. Use Compile and Run for more than a few.
func Eval(f *Func, args ...uint64) ([]uint64, *CheckError) { return Compile(f).RunOne(args...) }

// EvalInstr evaluates one instruction on raw bits, for constant folding. t is the type of the result;
// src that of the operands (for Select, of the last two). Const, Param and Check are not evaluated.
func EvalInstr(op Op, t, src types.DType, args ...uint64) uint64 {
	a := new([4]uint64) // the operands and the result: kernels are called by pointers, so it lies on the heap
	copy(a[:3], args)
	kernelOf(op, t, src)(a[3:], a[:1], a[1:2], a[2:3])
	return a[3]
}
