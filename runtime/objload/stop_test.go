package objload_test

import (
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"healc/runtime/abi"
	"healc/runtime/objload"
)

// endless has a kernel that ends when somebody writes its buffer, with all registers in use that a caller expects to
// find again, and one that adds 1 to its buffer.
var endless = strings.Replace(`
define void @endless(i8** %bufs, i64* %dims, i64 %begin, i64 %end, i8* %err) {
entry:
  %args = bitcast i8** %bufs to i64**
  %p = load i64*, i64** %args
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %x = load volatile i64, i64* %p
  call void asm sideeffect CLEAR()
  %more = icmp eq i64 %x, 0
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @once(i8** %bufs, i64* %dims, i64 %begin, i64 %end, i8* %err) {
  %args = bitcast i8** %bufs to i64**
  %p = load i64*, i64** %args
  %x = load i64, i64* %p
  %y = add i64 %x, 1
  store i64 %y, i64* %p
  ret void
}
`, "CLEAR", clear[goruntime.GOARCH], 1)

// clear clears the registers that a caller expects to find again.
var clear = map[string]string{
	"amd64": `"xor %ebx, %ebx; xor %ebp, %ebp; xor %r12d, %r12d; xor %r13d, %r13d; xor %r14d, %r14d; xor %r15d, %r15d",
    "~{rbx},~{rbp},~{r12},~{r13},~{r14},~{r15},~{flags}"`,
	"arm64": `"mov x19, #0; mov x20, #0; mov x21, #0; mov x22, #0; mov x23, #0; mov x24, #0; mov x25, #0; mov x26, #0;
    mov x27, #0; mov x28, #0; fmov d8, xzr; fmov d9, xzr; fmov d10, xzr; fmov d11, xzr; fmov d12, xzr; fmov d13, xzr;
    fmov d14, xzr; fmov d15, xzr", "~{x19},~{x20},~{x21},~{x22},~{x23},~{x24},~{x25},~{x26},~{x27},~{x28},~{d8},~{d9},` +
		`~{d10},~{d11},~{d12},~{d13},~{d14},~{d15}"`,
}

// TestStop: kernels on several threads end when they are stopped, those of others go on, and none begins afterwards.
func TestStop(t *testing.T) {
	img := load(t, endless, objload.Options{})
	fn, once := symbol(t, img, "endless"), symbol(t, img, "once")
	cell := new(int64)
	bufs := &[1]unsafe.Pointer{unsafe.Pointer(cell)}
	var other objload.Stop
	defer other.Close()
	ended := make(chan bool)
	go func() { ended <- other.CallKernel(img, fn, &bufs[0], nil, 0, 1, new(abi.Error)) }()
	for range 20 {
		var stop objload.Stop
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if stop.CallKernel(img, fn, &bufs[0], nil, 0, 1, new(abi.Error)) {
					t.Error("a kernel without an end came to its end")
				}
			})
		}
		time.Sleep(time.Millisecond)
		stop.Now()
		stop.Now()
		all.Wait()
		if stop.CallKernel(img, once, &bufs[0], nil, 0, 1, new(abi.Error)) || *cell != 0 {
			t.Error("a kernel began after the stop")
		}
		stop.Close()
	}
	select {
	case <-ended:
		t.Error("the kernel of another call was stopped")
	default:
	}
	if !other.CallKernel(img, once, &bufs[0], nil, 0, 1, new(abi.Error)) || *cell != 1 { // which ends the other
		t.Error("a kernel did not run to its end")
	}
	if finished := <-ended; !finished {
		t.Error("a kernel that came to its end was stopped")
	}
}
