package measure

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"healc/codegen/llvm/libllvm"
	"healc/runtime/abi"
	"healc/runtime/memory"
	"healc/runtime/objload"
	"healc/runtime/pool"
)

// The limit of a program is what no program can go below: it moves the bytes that cannot be avoided, each input read
// once and each output written once, or does its arithmetic from registers. The kernels that do just that are
// written here as LLVM IR, apart from the generator whose code they judge, and run on the same pool of threads.
// Moving has two forms, with plain stores and with non-temporal ones, which do not read what they overwrite:
// the faster of both is the limit, the plain one in a cache, the other beyond.

// Machine runs the kernels of this machine's limits, one at a time.
type Machine struct {
	image    *objload.Image
	features string
	pools    map[int]*pool.Pool

	memory [4]*memory.Storage // source and target of Move, as large as any needs; what is read ends; constants
}

// The memory of a Machine.
const (
	source = iota
	target
	sink
	constants
)

// Arithmetic is what a compute-bound kernel does.
type Arithmetic string

// The kinds of arithmetic: fused multiply-add of floats, multiplication and addition of integers.
const (
	F32 Arithmetic = "f32"
	F64 Arithmetic = "f64"
	I32 Arithmetic = "i32"
)

// chains is how many independent multiply-adds are in flight: two units of latency 4 need 8, and 12 fit the
// registers of every processor with vectors.
const chains = 12

// NewMachine compiles the kernels.
func NewMachine() (*Machine, error) {
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	m := &Machine{pools: map[int]*pool.Pool{}}
	_, m.features = lib.HostCPU()
	obj, err := lib.Compile(m.text(), libllvm.Options{OptLevel: 2, Passes: "function(simplifycfg)"})
	if err != nil {
		return nil, fmt.Errorf("BUG: libLLVM refuses the kernels of the limits: %w", err)
	}
	if m.image, err = objload.Load(obj, objload.Options{}); err != nil {
		return nil, err
	}
	for _, i := range []int{sink, constants} {
		if m.memory[i], err = memory.New(16 << 10); err != nil {
			m.Close()
			return nil, err
		}
	}
	half := unsafe.Slice((*uint32)(m.memory[constants].Ptr()), 128)
	for i := range half {
		half[i] = math.Float32bits(0.5) // as an f64 a normal number, too
	}
	return m, nil
}

// Close frees everything.
func (m *Machine) Close() {
	for _, p := range m.pools {
		p.Close()
	}
	for _, s := range m.memory {
		if s != nil {
			s.Release()
		}
	}
	m.image.Close()
}

// text is the LLVM IR of the kernels, which are called as package abi describes.
func (m *Machine) text() string {
	var b strings.Builder
	b.WriteString(moveSource("move", ""))
	b.WriteString(moveSource("stream", ", !nontemporal !0"))
	b.WriteString(copySource("copy", ""))
	b.WriteString(copySource("copystream", ", !nontemporal !0"))
	for _, k := range []Arithmetic{F32, F64, I32} {
		b.WriteString(m.arithmeticSource(k))
	}
	b.WriteString(
		"attributes #0 = { nounwind \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" }\n" +
			"!0 = !{i32 1}\n")
	return b.String()
}

// lineBlock is what one iteration moves: four vectors.
const lineBlock = 256

// moveSource is a kernel that for each index reads dims[0] bytes of its first buffer and writes dims[1] of its
// second, both multiples of lineBlock. Each stored vector depends on what was read, and what is read ends in the
// third buffer, so that nothing can be left out.
func moveSource(name, hint string) string {
	var loads, xors, stores, phis, last strings.Builder
	for i := range 4 {
		fmt.Fprintf(&phis, "  %%acc%d = phi <16 x i32> [ %%keep%d, %%outer ], [ %%x%d, %%read ]\n", i, i, i)
		fmt.Fprintf(&last, "  %%next%d = phi <16 x i32> [ %%keep%d, %%outer ], [ %%x%d, %%read ]\n", i, i, i)
		fmt.Fprintf(&loads,
			"  %%pa%d = getelementptr i8, ptr %%ra, i64 %d\n  %%v%d = load <16 x i32>, ptr %%pa%d, align 64\n", i, 64*i,
			i, i)
		fmt.Fprintf(&xors, "  %%x%d = xor <16 x i32> %%acc%d, %%v%d\n", i, i, i)
		fmt.Fprintf(&stores,
			"  %%pb%d = getelementptr i8, ptr %%wa, i64 %d\n  store <16 x i32> %%next%d, ptr %%pb%d, align 64%s\n", i,
			64*i, i, i, hint)
	}
	var keeps strings.Builder
	for i := range 4 {
		fmt.Fprintf(&keeps, "  %%keep%d = phi <16 x i32> [ zeroinitializer, %%entry ], [ %%next%d, %%done ]\n", i, i)
	}
	return fmt.Sprintf(`define void @%s(ptr %%bufs, ptr %%dims, i64 %%begin, i64 %%end, ptr %%err) #0 {
entry:
  %%src = load ptr, ptr %%bufs
  %%pdst = getelementptr ptr, ptr %%bufs, i64 1
  %%dst = load ptr, ptr %%pdst
  %%psink = getelementptr ptr, ptr %%bufs, i64 2
  %%sink = load ptr, ptr %%psink
  %%r = load i64, ptr %%dims
  %%pw = getelementptr i64, ptr %%dims, i64 1
  %%w = load i64, ptr %%pw
  br label %%outer
outer:
  %%b = phi i64 [ %%begin, %%entry ], [ %%b1, %%done ]
%s  %%ro = mul i64 %%b, %%r
  %%rp = getelementptr i8, ptr %%src, i64 %%ro
  %%wo = mul i64 %%b, %%w
  %%wp = getelementptr i8, ptr %%dst, i64 %%wo
  %%reads = icmp sgt i64 %%r, 0
  br i1 %%reads, label %%read, label %%readdone
read:
  %%i = phi i64 [ 0, %%outer ], [ %%i1, %%read ]
%s  %%ra = getelementptr i8, ptr %%rp, i64 %%i
%s%s  %%i1 = add i64 %%i, 256
  %%more = icmp slt i64 %%i1, %%r
  br i1 %%more, label %%read, label %%readdone
readdone:
%s  %%writes = icmp sgt i64 %%w, 0
  br i1 %%writes, label %%write, label %%done
write:
  %%j = phi i64 [ 0, %%readdone ], [ %%j1, %%write ]
  %%wa = getelementptr i8, ptr %%wp, i64 %%j
%s  %%j1 = add i64 %%j, 256
  %%morew = icmp slt i64 %%j1, %%w
  br i1 %%morew, label %%write, label %%done
done:
  %%b1 = add i64 %%b, 1
  %%again = icmp slt i64 %%b1, %%end
  br i1 %%again, label %%outer, label %%exit
exit:
  %%s0 = xor <16 x i32> %%next0, %%next1
  %%s1 = xor <16 x i32> %%next2, %%next3
  %%s2 = xor <16 x i32> %%s0, %%s1
  %%slot = and i64 %%begin, 255
  %%slotp = getelementptr <16 x i32>, ptr %%sink, i64 %%slot
  store <16 x i32> %%s2, ptr %%slotp, align 64
  fence seq_cst
  ret void
}
`, name, keeps.String(), phis.String(), loads.String(), xors.String(), last.String(), stores.String())
}

// copySource is moveSource where as much is read as is written: each vector is stored as it was read.
func copySource(name, hint string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `define void @%s(ptr %%bufs, ptr %%dims, i64 %%begin, i64 %%end, ptr %%err) #0 {
entry:
  %%src = load ptr, ptr %%bufs
  %%pdst = getelementptr ptr, ptr %%bufs, i64 1
  %%dst = load ptr, ptr %%pdst
  %%n = load i64, ptr %%dims
  %%from = mul i64 %%begin, %%n
  %%to = mul i64 %%end, %%n
  %%any = icmp slt i64 %%from, %%to
  br i1 %%any, label %%loop, label %%exit
loop:
  %%i = phi i64 [ %%from, %%entry ], [ %%i1, %%loop ]
  %%ra = getelementptr i8, ptr %%src, i64 %%i
  %%wa = getelementptr i8, ptr %%dst, i64 %%i
`, name)
	for i := range 4 {
		fmt.Fprintf(&b,
			"  %%pa%d = getelementptr i8, ptr %%ra, i64 %d\n  %%v%d = load <16 x i32>, ptr %%pa%d, align 64\n", i, 64*i,
			i, i)
		fmt.Fprintf(&b,
			"  %%pb%d = getelementptr i8, ptr %%wa, i64 %d\n  store <16 x i32> %%v%d, ptr %%pb%d, align 64%s\n", i,
			64*i, i, i, hint)
	}
	b.WriteString(
		"  %i1 = add i64 %i, 256\n  %more = icmp slt i64 %i1, %to\n  br i1 %more, label %loop, label %exit\nexit:\n" +
			"  fence seq_cst\n  ret void\n}\n")
	return b.String()
}

// lanes is how many numbers of a kind a vector register of this machine holds.
func (m *Machine) lanes(k Arithmetic) int {
	bytes := 16
	switch {
	case strings.Contains(m.features, "+avx512f"):
		bytes = 64
	case strings.Contains(m.features, "+avx,"):
		bytes = 32
	}
	if k == F64 {
		return bytes / 8
	}
	return bytes / 4
}

// arithmeticSource is a kernel that for each index does one multiply-add in each of the chains.
func (m *Machine) arithmeticSource(k Arithmetic) string {
	w := m.lanes(k)
	elem := map[Arithmetic]string{F32: "float", F64: "double", I32: "i32"}[k]
	t := fmt.Sprintf("<%d x %s>", w, elem)
	var b, sum strings.Builder
	if k != I32 {
		fmt.Fprintf(&b, "declare %s @llvm.fma.v%d%s(%s, %s, %s)\n", t, w, k, t, t, t)
	}
	fmt.Fprintf(&b, `define void @madd_%s(ptr %%bufs, ptr %%dims, i64 %%begin, i64 %%end, ptr %%err) #0 {
entry:
  %%psink = getelementptr ptr, ptr %%bufs, i64 3
  %%sink = load ptr, ptr %%psink
  %%m = load %s, ptr %%sink, align 64
  %%pa = getelementptr i8, ptr %%sink, i64 64
  %%a = load %s, ptr %%pa, align 64
  br label %%loop
loop:
  %%i = phi i64 [ %%begin, %%entry ], [ %%i1, %%loop ]
`, k, t, t)
	for c := range chains {
		fmt.Fprintf(&b, "  %%acc%d = phi %s [ %%a, %%entry ], [ %%n%d, %%loop ]\n", c, t, c)
	}
	for c := range chains {
		if k == I32 {
			fmt.Fprintf(&b, "  %%p%d = mul %s %%acc%d, %%m\n  %%n%d = add %s %%p%d, %%a\n", c, t, c, c, t, c)
		} else {
			fmt.Fprintf(&b, "  %%n%d = call %s @llvm.fma.v%d%s(%s %%acc%d, %s %%m, %s %%a)\n", c, t, w, k, t, c, t, t)
		}
	}
	b.WriteString(
		"  %i1 = add i64 %i, 1\n  %more = icmp slt i64 %i1, %end\n  br i1 %more, label %loop, label %exit\nexit:\n")
	// Every chain ends in memory, each in a place of its own, behind the constants.
	for c := range chains {
		fmt.Fprintf(&sum, "  %%o%d = getelementptr i8, ptr %%sink, i64 %d\n  store %s %%n%d, ptr %%o%d, align 64\n", c,
			64*(c+2), t, c, c)
	}
	b.WriteString(sum.String() + "  ret void\n}\n")
	return b.String()
}

// pool is the pool of so many threads; nil for one.
func (m *Machine) pool(threads int) (*pool.Pool, error) {
	if threads <= 1 {
		return nil, nil
	}
	if p := m.pools[threads]; p != nil {
		return p, nil
	}
	p, err := pool.New(threads)
	if err == nil {
		m.pools[threads] = p
	}
	return p, err
}

// kernel is one of the kernels, ready to run n indices of which grain are worth a thread, as package abi has it for
// generated code.
func (m *Machine) kernel(name string, n, grain int64, dims [2]int64, threads int) (func() error, error) {
	fn, ok := m.image.Symbol(name)
	if !ok {
		return nil, fmt.Errorf("BUG: the limits have no kernel %s", name)
	}
	pool, err := m.pool(threads)
	if err != nil {
		return nil, err
	}
	var bufs [len(m.memory)]unsafe.Pointer
	piece := func(begin, end int64) {
		var e abi.Error
		objload.CallKernel(fn, &bufs[0], &dims[0], begin, end, &e)
	}
	return func() error {
		for i, s := range m.memory { // which a larger Move may have replaced
			if s != nil {
				bufs[i] = s.Ptr()
			}
		}
		return pool.Run(n, grain, 1, true, piece)
	}, nil
}

// Move returns a function that reads so many bytes and writes so many, on so many threads. It gives the one with
// plain stores and the one with non-temporal stores.
func (m *Machine) Move(read, write int64, threads int) (plain, stream func() error, err error) {
	const block = 16 << 10
	const grain = 5 // blocks of 0.6 microseconds
	n := max(max(read, write)/block, 1)
	round := func(bytes int64) int64 { return (bytes/n + lineBlock/2) / lineBlock * lineBlock }
	dims := [2]int64{round(read), round(write)}
	for i, bytes := range []int64{n * dims[0], n * dims[1]} {
		if m.memory[i] != nil && m.memory[i].Bytes() >= bytes {
			continue
		}
		s, err := memory.New(max(bytes, lineBlock))
		if err != nil {
			return nil, nil, err
		}
		clear(unsafe.Slice((*byte)(s.Ptr()), bytes)) // so that it has memory of its own
		if m.memory[i] != nil {
			m.memory[i].Release()
		}
		m.memory[i] = s
	}
	plainName, streamName := "move", "stream"
	if dims[0] == dims[1] {
		plainName, streamName = "copy", "copystream"
	}
	if plain, err = m.kernel(plainName, n, grain, dims, threads); err != nil {
		return nil, nil, err
	}
	stream, err = m.kernel(streamName, n, grain, dims, threads)
	return plain, stream, err
}

// Compute returns a function that does so many operations, a multiplication and an addition being two, from
// registers on so many threads.
func (m *Machine) Compute(k Arithmetic, ops float64, threads int) (func() error, error) {
	each := float64(2 * chains * m.lanes(k))
	n := max(int64(ops/each+0.5), 1)
	const grain = 1300 // six cycles each
	return m.kernel("madd_"+string(k), n, grain, [2]int64{}, threads)
}
