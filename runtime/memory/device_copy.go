package memory

import (
	"fmt"
	"strconv"
	"strings"

	"healc/runtime/device"
)

// Elements are copied between tensors of any strides by a kernel that is written here as PTX, since the runtime has no
// compiler: a thread takes an element, finds its index along each axis by division from the last axis to the first, and
// copies it. Axes of extent 1 are dropped and neighbours merged before, so that most copies have few axes; a copy of
// more than copyAxes is several, one for each index of the axes that are too many. A copy of one piece is a copy of the
// driver, but in a loop that the device ends by itself (Note [Loops on a device]), where a copy has to look at the Site
// of the program's abi.Error as kernels do.

const (
	copyAxes    = 8
	copyThreads = 256
	copyBlocks  = 1 << 16 // the largest grid; threads go on with what is left
)

// copyParams is the number of parameters of the kernel: two addresses, the number of elements, extents and strides, and
// the address of a word: where that is not 0, nothing is copied. The address 0 is no such word.
const copyParams = 4 + 3*copyAxes

// copyEntry names the kernel for elements of so many bytes.
func copyEntry(elem int64) string { return "copy" + strconv.FormatInt(elem, 10) }

// copyPTX is the kernel for elements of so many bytes: addresses of both sides, the number of elements, the extents of
// the axes from the outermost, the strides in bytes of the destination, those of the source, the word that says no.
func copyPTX(elem int64) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	entry := copyEntry(elem)
	param := func(i int) string { return fmt.Sprintf("[%s_param_%d]", entry, i) }
	line(".version 6.0\n.target sm_70\n.address_size 64\n")
	line(".visible .entry %s(", entry)
	for i := range copyParams {
		comma := ","
		if i == copyParams-1 {
			comma = ""
		}
		line("\t.param .u64 %s_param_%d%s", entry, i, comma)
	}
	line(")\n{")
	line("\t.reg .pred %%p<3>;\n\t.reg .b32 %%r<6>;\n\t.reg .b64 %%rd<%d>;\n\t.reg .b16 %%h<2>;", 16+3*copyAxes)
	line("\tld.param.u64 %%rd0, %s;", param(0))
	line("\tld.param.u64 %%rd1, %s;", param(1))
	line("\tld.param.u64 %%rd2, %s;", param(2))
	for i := range 3 * copyAxes {
		line("\tld.param.u64 %%rd%d, %s;", 16+i, param(3+i))
	}
	line("\tld.param.u64 %%rd12, %s;\n\tsetp.eq.u64 %%p2, %%rd12, 0;\n\t@%%p2 bra START;", param(copyParams-1))
	line(
		"\tcvta.to.global.u64 %%rd12, %%rd12;\n\tld.global.u64 %%rd13, [%%rd12];\n\tsetp.ne.u64 %%p2, %%rd13, 0;\n" +
			"\t@%%p2 bra DONE;\nSTART:")
	line("\tcvta.to.global.u64 %%rd0, %%rd0;\n\tcvta.to.global.u64 %%rd1, %%rd1;")
	line("\tmov.u32 %%r0, %%ctaid.x;\n\tmov.u32 %%r1, %%ntid.x;\n\tmov.u32 %%r2, %%tid.x;\n\tmov.u32 %%r3, %%nctaid.x;")
	line("\tmul.wide.u32 %%rd3, %%r0, %%r1;\n\tcvt.u64.u32 %%rd4, %%r2;\n\tadd.s64 %%rd3, %%rd3, %%rd4;") // the element
	// the threads of the grid
	line("\tmul.wide.u32 %%rd5, %%r3, %%r1;")
	line("LOOP:\n\tsetp.ge.u64 %%p0, %%rd3, %%rd2;\n\t@%%p0 bra DONE;")
	line("\tmov.u64 %%rd6, %%rd3;\n\tmov.u64 %%rd7, %%rd0;\n\tmov.u64 %%rd8, %%rd1;")
	for axis := copyAxes - 1; axis >= 0; axis-- {
		extent, dst, src := 16+axis, 16+copyAxes+axis, 16+2*copyAxes+axis
		line("\tsetp.eq.u64 %%p1, %%rd%d, 1;\n\t@%%p1 bra AXIS%d;", extent, axis)
		line("\tdiv.u64 %%rd9, %%rd6, %%rd%d;\n\tmul.lo.u64 %%rd10, %%rd9, %%rd%d;\n\tsub.s64 %%rd10, %%rd6, %%rd10;",
			extent, extent)
		line("\tmul.lo.u64 %%rd11, %%rd10, %%rd%d;\n\tadd.s64 %%rd7, %%rd7, %%rd11;", dst)
		line("\tmul.lo.u64 %%rd11, %%rd10, %%rd%d;\n\tadd.s64 %%rd8, %%rd8, %%rd11;", src)
		line("\tmov.u64 %%rd6, %%rd9;")
		line("AXIS%d:", axis)
	}
	kind, reg := map[int64]string{1: "u8", 2: "u16", 4: "u32", 8: "u64"}[elem],
		map[int64]string{1: "%h0", 2: "%h0", 4: "%r4", 8: "%rd12"}[elem]
	line("\tld.global.%s %s, [%%rd8];\n\tst.global.%s [%%rd7], %s;", kind, reg, kind, reg)
	line("\tadd.s64 %%rd3, %%rd3, %%rd5;\n\tbra LOOP;\nDONE:\n\tret;\n}")
	return b.String()
}

// copyStrided starts a copy of elements between places on the device: the first elements are at dst and src, axes has
// the strides in elements. No destination is written twice. Nothing is copied when the word at unless is not 0 by then;
// the address 0 is none.
func (d *Device) copyStrided(q *Queue, elem int64, dst, src device.Ptr, axes []copyAxis,
	unless device.Ptr) error {
	n := int64(1)
	for _, a := range axes {
		n *= a.n
	}
	switch {
	case n == 0:
		return nil
	case len(axes) == 0 || len(axes) == 1 && axes[0].dst == 1 && axes[0].src == 1:
		if unless == 0 {
			return q.Stream.Copy(dst, src, n*elem)
		}
		n, elem = widest(n, elem, dst, src)
		axes = []copyAxis{{n: n, dst: 1, src: 1}}
	case len(axes) > copyAxes:
		a := axes[0]
		for i := range a.n {
			if err := d.copyStrided(q, elem, dst+device.Ptr(i*a.dst*elem), src+device.Ptr(i*a.src*elem), axes[1:],
				unless); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := q.Function(copyEntry(elem), func() string { return copyPTX(elem) })
	if err != nil {
		return err
	}
	params := make([]uint64, copyParams)
	params[0], params[1], params[2] = uint64(dst), uint64(src), uint64(n)
	params[copyParams-1] = uint64(unless)
	for i := range copyAxes {
		params[3+i] = 1
	}
	for i, a := range axes {
		at := 3 + copyAxes - len(axes) + i
		params[at], params[at+copyAxes], params[at+2*copyAxes] = uint64(a.n), uint64(a.dst*elem), uint64(a.src*elem)
	}
	return q.Launch(f, min((n+copyThreads-1)/copyThreads, copyBlocks), copyThreads, 0, params)
}

// widest is n elements as fewer, larger ones.
func widest(n, elem int64, dst, src device.Ptr) (int64, int64) {
	for elem < 8 && n%2 == 0 && (int64(dst)|int64(src))%(2*elem) == 0 {
		n, elem = n/2, 2*elem
	}
	return n, elem
}
