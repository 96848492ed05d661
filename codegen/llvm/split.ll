; What instructions of AVX-512 compute, see Note [Emulated vectors]. Masks have all lanes, and rounding is to the nearest.

define internal <8 x i64> @heal.x86.avx512.vpmadd52l.uq.512(<8 x i64> %z, <8 x i64> %x, <8 x i64> %y) alwaysinline {
  %a = and <8 x i64> %x, splat (i64 4503599627370495)
  %b = and <8 x i64> %y, splat (i64 4503599627370495)
  %p = mul <8 x i64> %a, %b
  %l = and <8 x i64> %p, splat (i64 4503599627370495)
  %r = add <8 x i64> %z, %l
  ret <8 x i64> %r
}
define internal <8 x i64> @heal.x86.avx512.vpmadd52h.uq.512(<8 x i64> %z, <8 x i64> %x, <8 x i64> %y) alwaysinline {
  %a = and <8 x i64> %x, splat (i64 4503599627370495)
  %b = and <8 x i64> %y, splat (i64 4503599627370495)
  %u = zext <8 x i64> %a to <8 x i128>
  %v = zext <8 x i64> %b to <8 x i128>
  %p = mul <8 x i128> %u, %v
  %q = lshr <8 x i128> %p, splat (i128 52)
  %h = trunc <8 x i128> %q to <8 x i64>
  %r = add <8 x i64> %z, %h
  ret <8 x i64> %r
}
define internal <16 x i32> @heal.x86.avx512.pmaddw.d.512(<32 x i16> %x, <32 x i16> %y) alwaysinline {
  %a = sext <32 x i16> %x to <32 x i32>
  %b = sext <32 x i16> %y to <32 x i32>
  %p = mul <32 x i32> %a, %b
  %even = shufflevector <32 x i32> %p, <32 x i32> undef, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 8, i32 10, i32 12, i32 14, i32 16, i32 18, i32 20, i32 22, i32 24, i32 26, i32 28, i32 30>
  %odd = shufflevector <32 x i32> %p, <32 x i32> undef, <16 x i32> <i32 1, i32 3, i32 5, i32 7, i32 9, i32 11, i32 13, i32 15, i32 17, i32 19, i32 21, i32 23, i32 25, i32 27, i32 29, i32 31>
  %r = add <16 x i32> %even, %odd
  ret <16 x i32> %r
}
; Four products of bytes, of x without a sign and of y with one, in each element.
define internal <16 x i32> @heal.x86.avx512.vpdpbusd.512(<16 x i32> %z, <16 x i32> %x, <16 x i32> %y) alwaysinline {
  %a0 = and <16 x i32> %x, splat (i32 255)
  %n0 = shl <16 x i32> %y, splat (i32 24)
  %b0 = ashr <16 x i32> %n0, splat (i32 24)
  %p0 = mul <16 x i32> %a0, %b0
  %r0 = add <16 x i32> %z, %p0
  %m1 = lshr <16 x i32> %x, splat (i32 8)
  %a1 = and <16 x i32> %m1, splat (i32 255)
  %n1 = shl <16 x i32> %y, splat (i32 16)
  %b1 = ashr <16 x i32> %n1, splat (i32 24)
  %p1 = mul <16 x i32> %a1, %b1
  %r1 = add <16 x i32> %r0, %p1
  %m2 = lshr <16 x i32> %x, splat (i32 16)
  %a2 = and <16 x i32> %m2, splat (i32 255)
  %n2 = shl <16 x i32> %y, splat (i32 8)
  %b2 = ashr <16 x i32> %n2, splat (i32 24)
  %p2 = mul <16 x i32> %a2, %b2
  %r2 = add <16 x i32> %r1, %p2
  %m3 = lshr <16 x i32> %x, splat (i32 24)
  %a3 = and <16 x i32> %m3, splat (i32 255)
  %b3 = ashr <16 x i32> %y, splat (i32 24)
  %p3 = mul <16 x i32> %a3, %b3
  %r3 = add <16 x i32> %r2, %p3
  ret <16 x i32> %r3
}
; The elements of x and y by four bits of each index: the highest chooses between the two.
define internal <8 x i64> @heal.x86.avx512.vpermi2var.q.512(<8 x i64> %x, <8 x i64> %index, <8 x i64> %y) alwaysinline {
  %both = shufflevector <8 x i64> %x, <8 x i64> %y, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %i = and <8 x i64> %index, splat (i64 15)
  %i0 = extractelement <8 x i64> %i, i32 0
  %e0 = extractelement <16 x i64> %both, i64 %i0
  %r0 = insertelement <8 x i64> undef, i64 %e0, i32 0
  %i1 = extractelement <8 x i64> %i, i32 1
  %e1 = extractelement <16 x i64> %both, i64 %i1
  %r1 = insertelement <8 x i64> %r0, i64 %e1, i32 1
  %i2 = extractelement <8 x i64> %i, i32 2
  %e2 = extractelement <16 x i64> %both, i64 %i2
  %r2 = insertelement <8 x i64> %r1, i64 %e2, i32 2
  %i3 = extractelement <8 x i64> %i, i32 3
  %e3 = extractelement <16 x i64> %both, i64 %i3
  %r3 = insertelement <8 x i64> %r2, i64 %e3, i32 3
  %i4 = extractelement <8 x i64> %i, i32 4
  %e4 = extractelement <16 x i64> %both, i64 %i4
  %r4 = insertelement <8 x i64> %r3, i64 %e4, i32 4
  %i5 = extractelement <8 x i64> %i, i32 5
  %e5 = extractelement <16 x i64> %both, i64 %i5
  %r5 = insertelement <8 x i64> %r4, i64 %e5, i32 5
  %i6 = extractelement <8 x i64> %i, i32 6
  %e6 = extractelement <16 x i64> %both, i64 %i6
  %r6 = insertelement <8 x i64> %r5, i64 %e6, i32 6
  %i7 = extractelement <8 x i64> %i, i32 7
  %e7 = extractelement <16 x i64> %both, i64 %i7
  %r7 = insertelement <8 x i64> %r6, i64 %e7, i32 7
  ret <8 x i64> %r7
}
; The exponent of a number, of the least ones as if they were normal: of 0 it is -inf, of an infinity inf.
define internal <16 x float> @heal.x86.avx512.mask.getexp.ps.512(<16 x float> %x, <16 x float> %old, i16 %mask, i32 %rounding) alwaysinline {
  %bits = bitcast <16 x float> %x to <16 x i32>
  %size = and <16 x i32> %bits, splat (i32 2147483647)
  %tiny = icmp ult <16 x i32> %size, splat (i32 8388608)
  %whole = uitofp <16 x i32> %size to <16 x float>
  %normal = bitcast <16 x float> %whole to <16 x i32>
  %e0 = lshr <16 x i32> %size, splat (i32 23)
  %e1 = lshr <16 x i32> %normal, splat (i32 23)
  %k0 = sub <16 x i32> %e0, splat (i32 127)
  %k1 = sub <16 x i32> %e1, splat (i32 276)
  %k = select <16 x i1> %tiny, <16 x i32> %k1, <16 x i32> %k0
  %f = sitofp <16 x i32> %k to <16 x float>
  %zero = icmp eq <16 x i32> %size, zeroinitializer
  %f1 = select <16 x i1> %zero, <16 x float> splat (float 0xFFF0000000000000), <16 x float> %f
  %inf = icmp eq <16 x i32> %size, splat (i32 2139095040)
  %f2 = select <16 x i1> %inf, <16 x float> splat (float 0x7FF0000000000000), <16 x float> %f1
  %nan = fcmp uno <16 x float> %x, %x
  %quiet = fadd <16 x float> %x, %x
  %r = select <16 x i1> %nan, <16 x float> %quiet, <16 x float> %f2
  ret <16 x float> %r
}
; The significand of a number in [3/4, 3/2), with its sign; of zeros and infinities it is 1.
define internal <16 x float> @heal.x86.avx512.mask.getmant.ps.512(<16 x float> %x, i32 %interval, <16 x float> %old, i16 %mask, i32 %rounding) alwaysinline {
  %bits = bitcast <16 x float> %x to <16 x i32>
  %sign = and <16 x i32> %bits, splat (i32 -2147483648)
  %size = and <16 x i32> %bits, splat (i32 2147483647)
  %tiny = icmp ult <16 x i32> %size, splat (i32 8388608)
  %whole = uitofp <16 x i32> %size to <16 x float>
  %normal = bitcast <16 x float> %whole to <16 x i32>
  %n = select <16 x i1> %tiny, <16 x i32> %normal, <16 x i32> %size
  %m = and <16 x i32> %n, splat (i32 8388607)
  %large = icmp uge <16 x i32> %m, splat (i32 4194304)
  %exponent = select <16 x i1> %large, <16 x i32> splat (i32 1056964608), <16 x i32> splat (i32 1065353216)
  %s = or <16 x i32> %m, %exponent
  %zero = icmp eq <16 x i32> %size, zeroinitializer
  %inf = icmp eq <16 x i32> %size, splat (i32 2139095040)
  %none = or <16 x i1> %zero, %inf
  %s1 = select <16 x i1> %none, <16 x i32> splat (i32 1065353216), <16 x i32> %s
  %s2 = or <16 x i32> %s1, %sign
  %f = bitcast <16 x i32> %s2 to <16 x float>
  %nan = fcmp uno <16 x float> %x, %x
  %quiet = fadd <16 x float> %x, %x
  %r = select <16 x i1> %nan, <16 x float> %quiet, <16 x float> %f
  ret <16 x float> %r
}
; For each class of x (NaN, signalling NaN, zero, 1, -inf, inf, below 0, above 0) four bits of the table, from the lowest on: 0 is the old
; result, 2 a NaN, 3 a NaN, 4 -inf and 5 inf; others are x here, and the generator has none.
define internal <16 x float> @heal.x86.avx512.mask.fixupimm.ps.512(<16 x float> %old, <16 x float> %x, <16 x i32> %table, i32 %flags, i16 %mask, i32 %rounding) alwaysinline {
  %bits = bitcast <16 x float> %x to <16 x i32>
  %below = icmp slt <16 x i32> %bits, zeroinitializer
  %c0 = select <16 x i1> %below, <16 x i32> splat (i32 24), <16 x i32> splat (i32 28)
  %inf = fcmp oeq <16 x float> %x, splat (float 0x7FF0000000000000)
  %c1 = select <16 x i1> %inf, <16 x i32> splat (i32 20), <16 x i32> %c0
  %least = fcmp oeq <16 x float> %x, splat (float 0xFFF0000000000000)
  %c2 = select <16 x i1> %least, <16 x i32> splat (i32 16), <16 x i32> %c1
  %one = fcmp oeq <16 x float> %x, splat (float 1.0)
  %c3 = select <16 x i1> %one, <16 x i32> splat (i32 12), <16 x i32> %c2
  %zero = fcmp oeq <16 x float> %x, zeroinitializer
  %c4 = select <16 x i1> %zero, <16 x i32> splat (i32 8), <16 x i32> %c3
  %nan = fcmp uno <16 x float> %x, %x
  %quietbit = and <16 x i32> %bits, splat (i32 4194304)
  %loud = icmp eq <16 x i32> %quietbit, zeroinitializer
  %which = select <16 x i1> %loud, <16 x i32> splat (i32 4), <16 x i32> zeroinitializer
  %c = select <16 x i1> %nan, <16 x i32> %which, <16 x i32> %c4
  %t = lshr <16 x i32> %table, %c
  %answer = and <16 x i32> %t, splat (i32 15)
  %is0 = icmp eq <16 x i32> %answer, zeroinitializer
  %r0 = select <16 x i1> %is0, <16 x float> %old, <16 x float> %x
  %is2 = icmp eq <16 x i32> %answer, splat (i32 2)
  %is3 = icmp eq <16 x i32> %answer, splat (i32 3)
  %isnan = or <16 x i1> %is2, %is3
  %r1 = select <16 x i1> %isnan, <16 x float> splat (float 0x7FF8000000000000), <16 x float> %r0
  %is4 = icmp eq <16 x i32> %answer, splat (i32 4)
  %r2 = select <16 x i1> %is4, <16 x float> splat (float 0xFFF0000000000000), <16 x float> %r1
  %is5 = icmp eq <16 x i32> %answer, splat (i32 5)
  %r3 = select <16 x i1> %is5, <16 x float> splat (float 0x7FF0000000000000), <16 x float> %r2
  ret <16 x float> %r3
}
; x * 2^floor(n), rounded once: doubles hold it before that.
define internal <16 x float> @heal.x86.avx512.mask.scalef.ps.512(<16 x float> %x, <16 x float> %n, <16 x float> %old, i16 %mask, i32 %rounding) alwaysinline {
  %nan = fcmp uno <16 x float> %n, %n
  %low = fcmp olt <16 x float> %n, splat (float -400.0)
  %k0 = select <16 x i1> %low, <16 x float> splat (float -400.0), <16 x float> %n
  %high = fcmp ogt <16 x float> %k0, splat (float 400.0)
  %k1 = select <16 x i1> %high, <16 x float> splat (float 400.0), <16 x float> %k0
  %k2 = select <16 x i1> %nan, <16 x float> zeroinitializer, <16 x float> %k1
  %cut = fptosi <16 x float> %k2 to <16 x i32>
  %back = sitofp <16 x i32> %cut to <16 x float>
  %above = fcmp ogt <16 x float> %back, %k2
  %one = zext <16 x i1> %above to <16 x i32>
  %k3 = sub <16 x i32> %cut, %one
  %k = sext <16 x i32> %k3 to <16 x i64>
  %e = add <16 x i64> %k, splat (i64 1023)
  %b = shl <16 x i64> %e, splat (i64 52)
  %factor = bitcast <16 x i64> %b to <16 x double>
  %wide = fpext <16 x float> %x to <16 x double>
  %p = fmul <16 x double> %wide, %factor
  %r = fptrunc <16 x double> %p to <16 x float>
  %up = fcmp oeq <16 x float> %n, splat (float 0x7FF0000000000000)
  %xinf = fmul <16 x float> %x, splat (float 0x7FF0000000000000)
  %r1 = select <16 x i1> %up, <16 x float> %xinf, <16 x float> %r
  %away = fcmp oeq <16 x float> %n, splat (float 0xFFF0000000000000)
  %xzero = fmul <16 x float> %x, zeroinitializer
  %r2 = select <16 x i1> %away, <16 x float> %xzero, <16 x float> %r1
  %r3 = select <16 x i1> %nan, <16 x float> %n, <16 x float> %r2
  ret <16 x float> %r3
}
; The same for doubles, in three products. All but the last are exact, or what comes out is 0: after a product that is too small to be exact there
; are more than 53 powers of two to take off.
define internal <8 x double> @heal.x86.avx512.mask.scalef.pd.512(<8 x double> %x, <8 x double> %n, <8 x double> %old, i8 %mask, i32 %rounding) alwaysinline {
  %nan = fcmp uno <8 x double> %n, %n
  %low = fcmp olt <8 x double> %n, splat (double -2200.0)
  %k0 = select <8 x i1> %low, <8 x double> splat (double -2200.0), <8 x double> %n
  %high = fcmp ogt <8 x double> %k0, splat (double 2200.0)
  %k1 = select <8 x i1> %high, <8 x double> splat (double 2200.0), <8 x double> %k0
  %k2 = select <8 x i1> %nan, <8 x double> zeroinitializer, <8 x double> %k1
  %cut = fptosi <8 x double> %k2 to <8 x i64>
  %back = sitofp <8 x i64> %cut to <8 x double>
  %above = fcmp ogt <8 x double> %back, %k2
  %one = zext <8 x i1> %above to <8 x i64>
  %k = sub <8 x i64> %cut, %one
  %afar = icmp slt <8 x i64> %k, splat (i64 -1022)
  %amuch = icmp sgt <8 x i64> %k, splat (i64 1023)
  %a0 = select <8 x i1> %amuch, <8 x i64> splat (i64 1023), <8 x i64> %k
  %a = select <8 x i1> %afar, <8 x i64> splat (i64 -969), <8 x i64> %a0
  %rest = sub <8 x i64> %k, %a
  %bfar = icmp slt <8 x i64> %rest, splat (i64 -1022)
  %bmuch = icmp sgt <8 x i64> %rest, splat (i64 1023)
  %b0 = select <8 x i1> %bmuch, <8 x i64> splat (i64 1023), <8 x i64> %rest
  %b = select <8 x i1> %bfar, <8 x i64> splat (i64 -969), <8 x i64> %b0
  %c0 = sub <8 x i64> %rest, %b
  %far = icmp slt <8 x i64> %c0, splat (i64 -1022)
  %c = select <8 x i1> %far, <8 x i64> splat (i64 -1022), <8 x i64> %c0
  %ae = add <8 x i64> %a, splat (i64 1023)
  %ab = shl <8 x i64> %ae, splat (i64 52)
  %af = bitcast <8 x i64> %ab to <8 x double>
  %ap = fmul <8 x double> %x, %af
  %be = add <8 x i64> %b, splat (i64 1023)
  %bb = shl <8 x i64> %be, splat (i64 52)
  %bf = bitcast <8 x i64> %bb to <8 x double>
  %bp = fmul <8 x double> %ap, %bf
  %ce = add <8 x i64> %c, splat (i64 1023)
  %cb = shl <8 x i64> %ce, splat (i64 52)
  %cf = bitcast <8 x i64> %cb to <8 x double>
  %cp = fmul <8 x double> %bp, %cf
  %up = fcmp oeq <8 x double> %n, splat (double 0x7FF0000000000000)
  %xinf = fmul <8 x double> %x, splat (double 0x7FF0000000000000)
  %r1 = select <8 x i1> %up, <8 x double> %xinf, <8 x double> %cp
  %away = fcmp oeq <8 x double> %n, splat (double 0xFFF0000000000000)
  %xzero = fmul <8 x double> %x, zeroinitializer
  %r2 = select <8 x i1> %away, <8 x double> %xzero, <8 x double> %r1
  %r3 = select <8 x i1> %nan, <8 x double> %n, <8 x double> %r2
  ret <8 x double> %r3
}
; The chosen elements of x at the beginning, with those of y behind them.
define internal <16 x i32> @heal.x86.avx512.mask.compress.v16i32(<16 x i32> %x, <16 x i32> %y, <16 x i1> %m) alwaysinline {
  %e0 = extractelement <16 x i32> %x, i32 0
  %m0 = extractelement <16 x i1> %m, i32 0
  %p0 = insertelement <16 x i32> %y, i32 %e0, i32 0
  %r0 = select i1 %m0, <16 x i32> %p0, <16 x i32> %y
  %c0 = zext i1 %m0 to i32
  %a0 = add i32 0, %c0
  %e1 = extractelement <16 x i32> %x, i32 1
  %m1 = extractelement <16 x i1> %m, i32 1
  %p1 = insertelement <16 x i32> %r0, i32 %e1, i32 %a0
  %r1 = select i1 %m1, <16 x i32> %p1, <16 x i32> %r0
  %c1 = zext i1 %m1 to i32
  %a1 = add i32 %a0, %c1
  %e2 = extractelement <16 x i32> %x, i32 2
  %m2 = extractelement <16 x i1> %m, i32 2
  %p2 = insertelement <16 x i32> %r1, i32 %e2, i32 %a1
  %r2 = select i1 %m2, <16 x i32> %p2, <16 x i32> %r1
  %c2 = zext i1 %m2 to i32
  %a2 = add i32 %a1, %c2
  %e3 = extractelement <16 x i32> %x, i32 3
  %m3 = extractelement <16 x i1> %m, i32 3
  %p3 = insertelement <16 x i32> %r2, i32 %e3, i32 %a2
  %r3 = select i1 %m3, <16 x i32> %p3, <16 x i32> %r2
  %c3 = zext i1 %m3 to i32
  %a3 = add i32 %a2, %c3
  %e4 = extractelement <16 x i32> %x, i32 4
  %m4 = extractelement <16 x i1> %m, i32 4
  %p4 = insertelement <16 x i32> %r3, i32 %e4, i32 %a3
  %r4 = select i1 %m4, <16 x i32> %p4, <16 x i32> %r3
  %c4 = zext i1 %m4 to i32
  %a4 = add i32 %a3, %c4
  %e5 = extractelement <16 x i32> %x, i32 5
  %m5 = extractelement <16 x i1> %m, i32 5
  %p5 = insertelement <16 x i32> %r4, i32 %e5, i32 %a4
  %r5 = select i1 %m5, <16 x i32> %p5, <16 x i32> %r4
  %c5 = zext i1 %m5 to i32
  %a5 = add i32 %a4, %c5
  %e6 = extractelement <16 x i32> %x, i32 6
  %m6 = extractelement <16 x i1> %m, i32 6
  %p6 = insertelement <16 x i32> %r5, i32 %e6, i32 %a5
  %r6 = select i1 %m6, <16 x i32> %p6, <16 x i32> %r5
  %c6 = zext i1 %m6 to i32
  %a6 = add i32 %a5, %c6
  %e7 = extractelement <16 x i32> %x, i32 7
  %m7 = extractelement <16 x i1> %m, i32 7
  %p7 = insertelement <16 x i32> %r6, i32 %e7, i32 %a6
  %r7 = select i1 %m7, <16 x i32> %p7, <16 x i32> %r6
  %c7 = zext i1 %m7 to i32
  %a7 = add i32 %a6, %c7
  %e8 = extractelement <16 x i32> %x, i32 8
  %m8 = extractelement <16 x i1> %m, i32 8
  %p8 = insertelement <16 x i32> %r7, i32 %e8, i32 %a7
  %r8 = select i1 %m8, <16 x i32> %p8, <16 x i32> %r7
  %c8 = zext i1 %m8 to i32
  %a8 = add i32 %a7, %c8
  %e9 = extractelement <16 x i32> %x, i32 9
  %m9 = extractelement <16 x i1> %m, i32 9
  %p9 = insertelement <16 x i32> %r8, i32 %e9, i32 %a8
  %r9 = select i1 %m9, <16 x i32> %p9, <16 x i32> %r8
  %c9 = zext i1 %m9 to i32
  %a9 = add i32 %a8, %c9
  %e10 = extractelement <16 x i32> %x, i32 10
  %m10 = extractelement <16 x i1> %m, i32 10
  %p10 = insertelement <16 x i32> %r9, i32 %e10, i32 %a9
  %r10 = select i1 %m10, <16 x i32> %p10, <16 x i32> %r9
  %c10 = zext i1 %m10 to i32
  %a10 = add i32 %a9, %c10
  %e11 = extractelement <16 x i32> %x, i32 11
  %m11 = extractelement <16 x i1> %m, i32 11
  %p11 = insertelement <16 x i32> %r10, i32 %e11, i32 %a10
  %r11 = select i1 %m11, <16 x i32> %p11, <16 x i32> %r10
  %c11 = zext i1 %m11 to i32
  %a11 = add i32 %a10, %c11
  %e12 = extractelement <16 x i32> %x, i32 12
  %m12 = extractelement <16 x i1> %m, i32 12
  %p12 = insertelement <16 x i32> %r11, i32 %e12, i32 %a11
  %r12 = select i1 %m12, <16 x i32> %p12, <16 x i32> %r11
  %c12 = zext i1 %m12 to i32
  %a12 = add i32 %a11, %c12
  %e13 = extractelement <16 x i32> %x, i32 13
  %m13 = extractelement <16 x i1> %m, i32 13
  %p13 = insertelement <16 x i32> %r12, i32 %e13, i32 %a12
  %r13 = select i1 %m13, <16 x i32> %p13, <16 x i32> %r12
  %c13 = zext i1 %m13 to i32
  %a13 = add i32 %a12, %c13
  %e14 = extractelement <16 x i32> %x, i32 14
  %m14 = extractelement <16 x i1> %m, i32 14
  %p14 = insertelement <16 x i32> %r13, i32 %e14, i32 %a13
  %r14 = select i1 %m14, <16 x i32> %p14, <16 x i32> %r13
  %c14 = zext i1 %m14 to i32
  %a14 = add i32 %a13, %c14
  %e15 = extractelement <16 x i32> %x, i32 15
  %m15 = extractelement <16 x i1> %m, i32 15
  %p15 = insertelement <16 x i32> %r14, i32 %e15, i32 %a14
  %r15 = select i1 %m15, <16 x i32> %p15, <16 x i32> %r14
  ret <16 x i32> %r15
}
define internal <8 x i64> @heal.x86.avx512.mask.compress.v8i64(<8 x i64> %x, <8 x i64> %y, <8 x i1> %m) alwaysinline {
  %e0 = extractelement <8 x i64> %x, i32 0
  %m0 = extractelement <8 x i1> %m, i32 0
  %p0 = insertelement <8 x i64> %y, i64 %e0, i32 0
  %r0 = select i1 %m0, <8 x i64> %p0, <8 x i64> %y
  %c0 = zext i1 %m0 to i32
  %a0 = add i32 0, %c0
  %e1 = extractelement <8 x i64> %x, i32 1
  %m1 = extractelement <8 x i1> %m, i32 1
  %p1 = insertelement <8 x i64> %r0, i64 %e1, i32 %a0
  %r1 = select i1 %m1, <8 x i64> %p1, <8 x i64> %r0
  %c1 = zext i1 %m1 to i32
  %a1 = add i32 %a0, %c1
  %e2 = extractelement <8 x i64> %x, i32 2
  %m2 = extractelement <8 x i1> %m, i32 2
  %p2 = insertelement <8 x i64> %r1, i64 %e2, i32 %a1
  %r2 = select i1 %m2, <8 x i64> %p2, <8 x i64> %r1
  %c2 = zext i1 %m2 to i32
  %a2 = add i32 %a1, %c2
  %e3 = extractelement <8 x i64> %x, i32 3
  %m3 = extractelement <8 x i1> %m, i32 3
  %p3 = insertelement <8 x i64> %r2, i64 %e3, i32 %a2
  %r3 = select i1 %m3, <8 x i64> %p3, <8 x i64> %r2
  %c3 = zext i1 %m3 to i32
  %a3 = add i32 %a2, %c3
  %e4 = extractelement <8 x i64> %x, i32 4
  %m4 = extractelement <8 x i1> %m, i32 4
  %p4 = insertelement <8 x i64> %r3, i64 %e4, i32 %a3
  %r4 = select i1 %m4, <8 x i64> %p4, <8 x i64> %r3
  %c4 = zext i1 %m4 to i32
  %a4 = add i32 %a3, %c4
  %e5 = extractelement <8 x i64> %x, i32 5
  %m5 = extractelement <8 x i1> %m, i32 5
  %p5 = insertelement <8 x i64> %r4, i64 %e5, i32 %a4
  %r5 = select i1 %m5, <8 x i64> %p5, <8 x i64> %r4
  %c5 = zext i1 %m5 to i32
  %a5 = add i32 %a4, %c5
  %e6 = extractelement <8 x i64> %x, i32 6
  %m6 = extractelement <8 x i1> %m, i32 6
  %p6 = insertelement <8 x i64> %r5, i64 %e6, i32 %a5
  %r6 = select i1 %m6, <8 x i64> %p6, <8 x i64> %r5
  %c6 = zext i1 %m6 to i32
  %a6 = add i32 %a5, %c6
  %e7 = extractelement <8 x i64> %x, i32 7
  %m7 = extractelement <8 x i1> %m, i32 7
  %p7 = insertelement <8 x i64> %r6, i64 %e7, i32 %a6
  %r7 = select i1 %m7, <8 x i64> %p7, <8 x i64> %r6
  ret <8 x i64> %r7
}
