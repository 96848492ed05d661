
; 0 is x86-64, 1 is x86-64-v3 (AVX2, FMA), 2 is x86-64-v4 (AVX-512), 3 has the multiply-adds of 52 bits, too (IFMA), 4 the
; sums of products of bytes (VNNI), 5 is AMD's with intersections of vectors (VP2INTERSECT), 6 Intel's with half floats
; (AVX512-FP16), and 7 has tile registers (AMX).
define internal void @heal.detect() {
entry:
  %c0 = call { i32, i32, i32, i32 } @heal.cpuid(i32 0)
  %max = extractvalue { i32, i32, i32, i32 } %c0, 0
  %old = icmp ult i32 %max, 7
  br i1 %old, label %plain, label %leaf1
leaf1:
  %c1 = call { i32, i32, i32, i32 } @heal.cpuid(i32 1)
  %ecx1 = extractvalue { i32, i32, i32, i32 } %c1, 2
  ; FMA 12, MOVBE 22, OSXSAVE 27, AVX 28, F16C 29.
  %need1 = and i32 %ecx1, 943722496
  %has1 = icmp eq i32 %need1, 943722496
  br i1 %has1, label %leaf7, label %plain
leaf7:
  %c7 = call { i32, i32, i32, i32 } @heal.cpuid(i32 7)
  %ebx7 = extractvalue { i32, i32, i32, i32 } %c7, 1
  %ce = call { i32, i32, i32, i32 } @heal.cpuid(i32 -2147483647)
  %ecxe = extractvalue { i32, i32, i32, i32 } %ce, 2
  ; LZCNT 5; BMI1 3, AVX2 5, BMI2 8.
  %lz = and i32 %ecxe, 32
  %haslz = icmp ne i32 %lz, 0
  %need7 = and i32 %ebx7, 296
  %has7 = icmp eq i32 %need7, 296
  ; The system saves the registers: SSE and AVX, bits 1 and 2 of XCR0; masks and the rest of ZMM, 5 to 7.
  %xcr = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %xlow = extractvalue { i32, i32 } %xcr, 0
  %x6 = and i32 %xlow, 6
  %ymm = icmp eq i32 %x6, 6
  %a = and i1 %haslz, %has7
  %v3 = and i1 %a, %ymm
  br i1 %v3, label %leaf512, label %plain
leaf512:
  ; AVX-512 F 16, DQ 17, CD 28, BW 30, VL 31.
  %need5 = and i32 %ebx7, -805109760
  %has5 = icmp eq i32 %need5, -805109760
  %x230 = and i32 %xlow, 230
  %zmm = icmp eq i32 %x230, 230
  %v4 = and i1 %has5, %zmm
  ; AVX-512 IFMA 21.
  %need52 = and i32 %ebx7, 2097152
  %has52 = icmp ne i32 %need52, 0
  %wide = select i1 %has52, i32 3, i32 2
  ; AVX-512 VNNI 11.
  %ecx7 = extractvalue { i32, i32, i32, i32 } %c7, 2
  %need8 = and i32 %ecx7, 2048
  %has8 = icmp ne i32 %need8, 0
  %both = and i1 %has52, %has8
  %wider = select i1 %both, i32 4, i32 %wide
  %best = select i1 %v4, i32 %wider, i32 1
  %most = icmp eq i32 %best, 4
  br i1 %most, label %more, label %found
more:
  ; AVX512-FP16 23, of GenuineIntel; VP2INTERSECT 8, of AuthenticAMD.
  %edx7 = extractvalue { i32, i32, i32, i32 } %c7, 3
  %need16 = and i32 %edx7, 8388608
  %has16 = icmp ne i32 %need16, 0
  %genu = extractvalue { i32, i32, i32, i32 } %c0, 1
  %intel = icmp eq i32 %genu, 1970169159
  %half = and i1 %has16, %intel
  %need2 = and i32 %edx7, 256
  %has2 = icmp ne i32 %need2, 0
  %amd = icmp eq i32 %genu, 1752462657
  %vp2 = and i1 %has2, %amd
  %meets = select i1 %vp2, i32 5, i32 4
  %halves = select i1 %half, i32 6, i32 %meets
  %tiles = HEAL_TILES
  %tiled = icmp ne i32 %tiles, 0
  %last = select i1 %tiled, i32 7, i32 %halves
  br label %found
found:
  %level = phi i32 [ %best, %leaf512 ], [ %last, %more ]
  store i32 %level, ptr @heal.best, align 4
  store i32 %level, ptr @heal.level, align 4
  ret void
plain:
  ret void
}
