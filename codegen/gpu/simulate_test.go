package gpu_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/gpu/ptxsim"
	"healc/codegen/gpu/ptxsim/machine"
	"healc/codegen/llvm/libllvm"
	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// errSteps says that a plan has steps that this test does not take: calls, loops, branches, what the host does.
var errSteps = errors.New("steps of the host")

// simulated is a plan on the PTX interpreter. Every buffer is an allocation of its own, so that accesses beside one are
// seen.
type simulated struct {
	km      *kernel.Module
	fn      *abi.Function
	dims    map[string]int64
	dev     *machine.Device
	mod     *machine.Module
	mem     []uint64
	shapes  [][]int64
	err     uint64
	ptx     string
	smaller bool // grids have at most two blocks
}

// simulate compiles km and runs its plan; the failure has a Site that is not 0 when the program fails.
func simulate(km *kernel.Module, arch string, dims map[string]int64, args []*ir.Array, smaller bool) (out []*ir.Array,
	failure abi.Error, err error) {
	ptx, err := compiled(km, arch)
	if err != nil {
		return nil, failure, err
	}
	return execute(km, ptx, dims, args, smaller)
}

// compiled is the PTX of km.
func compiled(km *kernel.Module, arch string) (string, error) {
	ptx, err := gpu.Compile(km, codegen.Target{Kind: "gpu", CPU: arch}, libllvm.Assembly)
	return string(ptx), err
}

// frame is how much local memory a thread has, where no scalar function asks for more.
const frame = 8 << 10

// execute runs the plan of km with the PTX text that was compiled of it, or a changed one.
func execute(km *kernel.Module, ptx string, dims map[string]int64, args []*ir.Array, smaller bool) (out []*ir.Array,
	failure abi.Error, err error) {
	return executeOn(machine.Options{StackBytes: int(max(km.Plan.Device.Stack, frame))}, km, ptx, dims, args, smaller)
}

// executeOn is execute on a device with these limits.
func executeOn(opts machine.Options, km *kernel.Module, ptx string, dims map[string]int64, args []*ir.Array,
	smaller bool) (out []*ir.Array, failure abi.Error, err error) {
	opts.Instructions = 2e9
	s := &simulated{km: km, fn: km.Plan.Funcs[0], dims: dims, ptx: ptx, smaller: smaller, dev: machine.NewDevice(opts)}
	if s.mod, err = ptxsim.Parse("test.ptx", s.ptx); err != nil {
		return nil, failure, fmt.Errorf("%w\n%s", err, s.ptx)
	}
	if err := s.allocate(args); err != nil {
		return nil, failure, err
	}
	if s.err, err = s.dev.Alloc(abi.CellBytes); err != nil {
		return nil, failure, err
	}
	cell := make([]byte, abi.CellBytes)
	binary.LittleEndian.PutUint64(cell[abi.StackRoom:], uint64(max(int64(opts.StackBytes)-km.Plan.Device.Reserve, 1)))
	if err := s.dev.Write(s.err, cell); err != nil {
		return nil, failure, err
	}
	for _, step := range s.fn.Steps {
		if err := s.step(step); err != nil {
			return nil, failure, err
		}
	}
	record := make([]byte, abi.ErrorBytes)
	if err := s.dev.Read(s.err, record); err != nil {
		return nil, failure, err
	}
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(record[8*i:])) }
	failure.Site, failure.Info = word(0), [2]int64{word(1), word(2)}
	if failure.Site != 0 {
		return nil, failure, nil
	}
	for _, v := range s.fn.Results {
		a, err := s.array(v)
		if err != nil {
			return nil, failure, err
		}
		out = append(out, a)
	}
	return out, failure, nil
}

func (s *simulated) dim(d types.Dim) int64 {
	n, err := d.Eval(s.dims)
	if err != nil {
		panic(err)
	}
	return n
}

func (s *simulated) extent(e abi.Extent) int64 {
	return (s.dim(e.Dim) + max(e.Div, 1) - 1) / max(e.Div, 1)
}

func (s *simulated) allocate(args []*ir.Array) error {
	s.mem = make([]uint64, len(s.fn.Buffers))
	for i, b := range s.fn.Buffers {
		n := int64(max(b.DType.Bytes(), 1))
		var shape []int64
		for _, e := range b.Shape {
			shape = append(shape, s.extent(e))
			n *= s.extent(e)
		}
		s.shapes = append(s.shapes, shape)
		if b.DType == types.String || b.Strides != nil {
			return errSteps
		}
		addr, err := s.dev.Alloc(n)
		if err != nil {
			return err
		}
		s.mem[i] = addr
		raw := b.Bytes
		for k, p := range s.fn.Params {
			if p == i {
				raw = nil
				for _, bits := range args[k].Bits {
					var w [8]byte
					binary.LittleEndian.PutUint64(w[:], bits)
					raw = append(raw, w[:b.DType.Bytes()]...)
				}
			}
		}
		if len(raw) > 0 {
			if err := s.dev.Write(addr, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *simulated) step(step abi.Step) error {
	if step.Launch == nil {
		return errSteps
	}
	k := s.km.Plan.Device.Kernels[step.Launch.Kernel]
	var params []byte
	word := func(x uint64) { params = binary.LittleEndian.AppendUint64(params, x) }
	for _, b := range step.Launch.Args {
		word(s.mem[b])
	}
	for _, name := range s.km.Plan.Dims {
		word(uint64(s.dims[name]))
	}
	scratch := uint64(0)
	if n := k.ScratchBytes(s.extent); n > 0 {
		var err error
		if scratch, err = s.dev.Alloc(n); err != nil {
			return err
		}
		defer s.dev.Free(scratch)
	}
	word(scratch)
	word(s.err)
	for _, l := range k.Launches {
		blocks := l.Blocks(s.extent)
		if s.smaller {
			blocks = min(blocks, 2)
		}
		if blocks == 0 {
			continue
		}
		if err := s.dev.Launch(s.mod, l.Entry, [3]int{int(blocks), 1, 1}, [3]int{l.Threads, 1, 1}, int(l.Shared),
			params); err != nil {
			lines := strings.Split(s.ptx, "\n")
			var f *machine.Fault
			near := ""
			if errors.As(err, &f) && f.Line > 0 {
				near = strings.Join(lines[max(f.Line-12, 0):min(f.Line+4, len(lines))], "\n")
			}
			return fmt.Errorf("%w\n%s", err, near)
		}
	}
	return nil
}

func (s *simulated) array(v abi.View) (*ir.Array, error) {
	b := s.fn.Buffers[v.Buffer]
	a := &ir.Array{DType: b.DType, Shape: []int64{}}
	n := int64(1)
	var strides []int64
	for k, d := range v.Shape {
		a.Shape = append(a.Shape, s.dim(d))
		strides = append(strides, s.dim(v.Strides[k]))
		n *= s.dim(d)
	}
	size := int64(b.DType.Bytes())
	for i := range n {
		at, rest := s.dim(v.Offset), i
		for k := len(a.Shape) - 1; k >= 0; k-- {
			at += rest % a.Shape[k] * strides[k]
			rest /= a.Shape[k]
		}
		var w [8]byte
		if err := s.dev.Read(s.mem[v.Buffer]+uint64(at*size), w[:size]); err != nil {
			return nil, err
		}
		a.Bits = append(a.Bits, binary.LittleEndian.Uint64(w[:]))
	}
	return a, nil
}

// errSkipped says that agree compared nothing.
var errSkipped = errors.New("skipped")

// agree runs km on the PTX interpreter, and m, which it was made of, on the interpreter, and wants the same bits, or a
// failure of the same kind: which of several it is depends on the order of the iterations, which kernels may have of
// their own.
func agree(m *ir.Module, km *kernel.Module, arch string, bind, free map[string]int64, args []*ir.Array) error {
	ptx, err := compiled(km, arch)
	if err != nil {
		return err
	}
	return agreeOn(m, km, ptx, bind, free, args)
}

// agreeOn is agree where km was compiled before.
func agreeOn(m *ir.Module, km *kernel.Module, ptx string, bind, free map[string]int64, args []*ir.Array) error {
	want, wrong := interp.RunDims(m, "f", bind, args, &interp.MemSystem{})
	var failed *interp.RuntimeError
	if wrong != nil && !errors.As(wrong, &failed) {
		return wrong
	}
	for _, smaller := range []bool{false, true} {
		got, failure, err := execute(km, ptx, free, args, smaller)
		switch {
		case errors.Is(err, errSteps):
			return errSkipped
		case err != nil:
			return err
		case failed != nil && failure.Site == 0:
			return fmt.Errorf("it does not fail: %v", failed)
		case failed != nil:
			if site := km.Sites[failure.Site-1]; site.Kind != failed.Kind.String() {
				return fmt.Errorf("it fails: %s, want %s", abi.Message(site, failure.Info), failed.Message)
			}
			continue
		case failure.Site != 0:
			return fmt.Errorf("it fails: %s", abi.Message(km.Sites[failure.Site-1], failure.Info))
		}
		for i := range got {
			if at := differ(got[i], want[i]); at != "" {
				return fmt.Errorf("result %d: %s", i, at)
			}
		}
	}
	return nil
}

// differ says where arrays differ; "" is nowhere. All NaNs are one.
func differ(got, want *ir.Array) string {
	if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Sprintf("shape %v, want %v", got.Shape, want.Shape)
	}
	for i := range want.Bits {
		x, y := got.Bits[i], want.Bits[i]
		if x != y && !(isNaN(want.DType, x) && isNaN(want.DType, y)) {
			return fmt.Sprintf("element %d of %v: %#x, want %#x", i, got.Shape, x, y)
		}
	}
	return ""
}

func isNaN(d types.DType, x uint64) bool {
	return d.IsFloat() && scalar.EvalInstr(scalar.Ne, types.Bool, d, x, x) != 0
}

// draw makes an array of numbers that are hard: half of them the ends of the range, special values or small ones.
func draw(r *rand.Rand, d types.DType, shape ...int64) *ir.Array {
	n := int64(1)
	for _, e := range shape {
		n *= e
	}
	a := &ir.Array{DType: d, Shape: append([]int64{}, shape...)}
	for range n {
		switch {
		case d == types.Bool:
			a.Bits = append(a.Bits, r.Uint64()&1)
		case d.IsFloat():
			a.Bits = append(a.Bits, scalar.FloatBits(d, r.NormFloat64()*float64(int64(1)<<r.IntN(8))))
		default:
			a.Bits = append(a.Bits, scalar.IntBits(d, r.Int64N(200)-100))
		}
	}
	return a
}
