
; ---- heal.enter(slot, fn, bufs, dims, begin, end, err) calls a kernel that may be left: what a caller expects to find
; again lies on the stack where the slot says. heal.left is where the kernel returns to, and where who leaves it goes on.
module asm ".text"
module asm ".p2align 4"
module asm ".type heal.enter,@function"
module asm "heal.enter:"
module asm "pushq %rbx"
module asm "pushq %rbp"
module asm "pushq %r12"
module asm "pushq %r13"
module asm "pushq %r14"
module asm "pushq %r15"
module asm "pushq %rdi"
module asm "movq %rdi, %rbx"
module asm "movq %rsi, %rax"
module asm "movq %rdx, %rdi"
module asm "movq %rcx, %rsi"
module asm "movq %r8, %rdx"
module asm "movq %r9, %rcx"
module asm "movq 64(%rsp), %r8"
module asm "movq %rsp, 8(%rbx)"
module asm "callq *%rax"
module asm ".type heal.left,@function"
module asm "heal.left:"
module asm "movq 0(%rsp), %rdi"
module asm "movq $0, 8(%rdi)"
module asm "sfence"
module asm "addq $8, %rsp"
module asm "popq %r15"
module asm "popq %r14"
module asm "popq %r13"
module asm "popq %r12"
module asm "popq %rbp"
module asm "popq %rbx"
module asm "retq"

; The direction of string instructions is what a caller expects.
define internal void @heal.flags(ptr %context) alwaysinline {
  %p = getelementptr i8, ptr %context, i64 176
  %f = load i64, ptr %p, align 8
  %g = and i64 %f, -1025
  store i64 %g, ptr %p, align 8
  ret void
}
