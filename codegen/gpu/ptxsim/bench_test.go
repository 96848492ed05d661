package ptxsim

import (
	"syscall"
	"testing"
	"time"

	"healc/codegen/gpu/ptxsim/machine"
)

// cpuSeconds is the time that this process had a processor, which other processes do not change.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// countInstructions is how many instructions the threads of a launch execute.
func countInstructions(t testing.TB, d *machine.Device, launch func() error) int64 {
	t.Helper()
	if err := launch(); err != nil {
		t.Fatal(err)
	}
	return d.Executed()
}

// BenchmarkInstructions measures instructions of threads in a second of one processor, in kernels of three kinds.
func BenchmarkInstructions(b *testing.B) {
	arithmetic := header + `
.visible .entry f(.param .u64 p) {
	.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	cvt.rn.f32.u32 %f1, %r1;
	mov.f32 %f2, 0f3F000000;
	mov.f32 %f3, 0f00000000;
	mov.u32 %r2, 0;
loop:
	fma.rn.f32 %f3, %f3, %f2, %f1;
	add.f32 %f3, %f3, %f1;
	mul.lo.s32 %r3, %r2, 77;
	xor.b32 %r4, %r3, %r1;
	shl.b32 %r5, %r4, 2;
	mul.wide.u32 %rd2, %r5, 4;
	add.s64 %rd3, %rd2, %rd1;
	add.s32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, 1000;
	@%p1 bra loop;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd2, %rd2, %rd1;
	st.global.f32 [%rd2], %f3;
	ret;
}`
	memory := header + `
.visible .entry f(.param .u64 p) {
	.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
	.shared .align 16 .b8 s[512];
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	mov.u64 %rd4, s;
	add.s64 %rd5, %rd4, %rd2;
	mov.u32 %r2, 0;
	mov.f32 %f1, 0f3F000000;
	st.global.f32 [%rd3], %f1;
	st.shared.f32 [%rd5], %f1;
loop:
	ld.global.f32 %f1, [%rd3];
	ld.shared.f32 %f2, [%rd5];
	add.f32 %f3, %f2, %f1;
	st.shared.f32 [%rd5], %f3;
	st.global.f32 [%rd3], %f3;
	add.s32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, 300;
	@%p1 bra loop;
	ret;
}`
	divergent := header + `
.visible .entry f(.param .u64 p) {
	.reg .b32 %r<9>; .reg .pred %p<2>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, 0;
loop:
	and.b32 %r3, %r1, 1;
	setp.eq.u32 %p1, %r3, 0;
	@%p1 bra even;
	mad.lo.s32 %r1, %r1, 3, 1;
	bra join;
even:
	shr.u32 %r1, %r1, 1;
join:
	add.s32 %r2, %r2, 1;
	setp.lt.u32 %p1, %r2, 300;
	@%p1 bra loop;
	ret;
}`
	for _, k := range []struct {
		name, text string
	}{{"arithmetic", arithmetic}, {"memory", memory}, {"divergent", divergent}} {
		b.Run(k.name, func(b *testing.B) {
			m := parse(b, k.text)
			d := machine.NewDevice(machine.Options{})
			p := alloc(b, d, 512)
			total, start := int64(0), cpuSeconds()
			for b.Loop() {
				total += countInstructions(b, d, func() error {
					return d.Launch(m, "f", dim(1), dim(128), 0, words(p))
				})
			}
			b.ReportMetric(float64(total)/(cpuSeconds()-start)/1e6, "Minstr/cpu-s")
		})
	}
}
