
; ---- The processor: heal.best is the best level that it and the system have, heal.level the one in use.
@heal.best = internal global i32 0
@heal.level = internal global i32 0

declare void @llvm.x86.sse2.pause()
define internal void @heal.pause() alwaysinline {
  call void @llvm.x86.sse2.pause()
  ret void
}

define internal { i32, i32, i32, i32 } @heal.cpuid(i32 %leaf) {
  %r = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}"(i32 %leaf, i32 0)
  ret { i32, i32, i32, i32 } %r
}

; 1 where the processor has tile registers with products of bytes and of bf16, and the system leaves them to this process, which
; asks for them here, as package runtime/amx does.
define internal i32 @heal.tiles() {
entry:
  %c0 = call { i32, i32, i32, i32 } @heal.cpuid(i32 0)
  %max = extractvalue { i32, i32, i32, i32 } %c0, 0
  %old = icmp ult i32 %max, 7
  br i1 %old, label %no, label %leaf7
leaf7:
  %c7 = call { i32, i32, i32, i32 } @heal.cpuid(i32 7)
  %edx7 = extractvalue { i32, i32, i32, i32 } %c7, 3
  ; AMX-BF16 22, AMX-TILE 24, AMX-INT8 25.
  %need = and i32 %edx7, 54525952
  %has = icmp eq i32 %need, 54525952
  br i1 %has, label %more, label %no
more:
  ; The code counts on what came before them, too: AVX-512 VBMI 1 and, in the second part of the leaf, AVX-512 BF16 5.
  %ecx7 = extractvalue { i32, i32, i32, i32 } %c7, 2
  %vbmi = and i32 %ecx7, 2
  %c71 = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}"(i32 7, i32 1)
  %eax71 = extractvalue { i32, i32, i32, i32 } %c71, 0
  %bf16 = and i32 %eax71, 32
  %vectors = or i32 %vbmi, %bf16
  %all = icmp eq i32 %vectors, 34
  br i1 %all, label %ask, label %no
ask:
  ; arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
  %r = call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"(i64 158, i64 4131, i64 18)
  %leave = icmp eq i64 %r, 0
  %yes = zext i1 %leave to i32
  ret i32 %yes
no:
  ret i32 0
}
