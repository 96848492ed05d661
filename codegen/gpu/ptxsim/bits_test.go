package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"healc/codegen/gpu/ptx"
)

func TestBits(t *testing.T) {
	for _, ty := range untyped {
		n := ty.Bits()
		two := []ptx.Type{ty, ty}
		check(t, fmt.Sprintf("and.%s $0, $1, $2;", ty), ty, two, func(x []uint64) uint64 { return x[0] & x[1] })
		check(t, fmt.Sprintf("or.%s $0, $1, $2;", ty), ty, two, func(x []uint64) uint64 { return x[0] | x[1] })
		check(t, fmt.Sprintf("xor.%s $0, $1, $2;", ty), ty, two, func(x []uint64) uint64 { return x[0] ^ x[1] })
		check(t, fmt.Sprintf("not.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 { return ^x[0] & mask(n) })
		check(t, fmt.Sprintf("cnot.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 { return boolean(x[0] == 0) })
		check(t, fmt.Sprintf("selp.%s $0, $1, $2, $3;", ty), ty, []ptx.Type{ty, ty, ptx.Pred}, func(x []uint64) uint64 {
			return x[1-x[2]]
		})
		if n == 16 {
			continue
		}
		check(t, fmt.Sprintf("popc.%s $0, $1;", ty), ptx.U32, two[:1], func(x []uint64) uint64 {
			return uint64(strings.Count(fmt.Sprintf("%b", x[0]), "1"))
		})
		check(t, fmt.Sprintf("clz.%s $0, $1;", ty), ptx.U32, two[:1], func(x []uint64) uint64 {
			if x[0] == 0 {
				return uint64(n)
			}
			return uint64(n - len(fmt.Sprintf("%b", x[0])))
		})
		check(t, fmt.Sprintf("brev.%s $0, $1;", ty), ty, two[:1], func(x []uint64) uint64 {
			var r uint64
			for i := range n {
				r |= x[0] >> i & 1 << (n - 1 - i)
			}
			return r
		})
		check(t, fmt.Sprintf("bfi.%s $0, $1, $2, $3, 7;", ty), ty, []ptx.Type{ty, ty, ptx.U32},
			func(x []uint64) uint64 {
				v, pos := x[1], int(x[2]&255)
				for i := 0; i < 7 && pos+i < n; i++ {
					v = v&^(1<<(pos+i)) | x[0]>>i&1<<(pos+i)
				}
				return v
			})
	}
	for _, ty := range []ptx.Type{ptx.U32, ptx.S32, ptx.U64, ptx.S64} {
		n := ty.Bits()
		for _, size := range []int{0, 1, 8, 31, 32, 33, 63, 64, 65, 255, 256} {
			check(t, fmt.Sprintf("bfe.%s $0, $1, $2, %d;", ty, size), ty, []ptx.Type{ty, ptx.U32},
				func(x []uint64) uint64 {
					// the value as an integer of unlimited width, shifted and cut
					k, pos := size&255, uint(x[1]&255)
					if k == 0 {
						return 0
					}
					v := new(big.Int).Rsh(integer(ty, x[0]), pos)
					v.Mod(v, new(big.Int).Lsh(big.NewInt(1), uint(k)))
					if ty.Signed() && v.Bit(k-1) != 0 {
						v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(k)))
					}
					return wrap(v, n)
				})
		}
		check(t, fmt.Sprintf("bfind.%s $0, $1;", ty), ptx.U32, []ptx.Type{ty}, func(x []uint64) uint64 {
			v := integer(ty, x[0])
			if v.Sign() < 0 {
				v.Not(v)
			}
			return uint64(uint32(v.BitLen() - 1))
		})
	}
	three := []ptx.Type{ptx.B32, ptx.B32, ptx.B32}
	for _, table := range []int{0, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1d, 255} {
		check(t, fmt.Sprintf("lop3.b32 $0, $1, $2, $3, %d;", table), ptx.B32, three, func(x []uint64) uint64 {
			var r uint64
			for i := range 32 {
				k := x[0]>>i&1<<2 | x[1]>>i&1<<1 | x[2]>>i&1
				r |= uint64(table>>k&1) << i
			}
			return r
		})
	}
	concat := func(x []uint64) *big.Int { return new(big.Int).SetUint64(x[1]<<32 | x[0]) }
	check(t, "shf.l.wrap.b32 $0, $1, $2, $3;", ptx.B32, three, func(x []uint64) uint64 {
		return wrap(new(big.Int).Rsh(new(big.Int).Lsh(concat(x), uint(x[2]%32)), 32), 32)
	})
	check(t, "shf.r.wrap.b32 $0, $1, $2, $3;", ptx.B32, three, func(x []uint64) uint64 {
		return wrap(new(big.Int).Rsh(concat(x), uint(x[2]%32)), 32)
	})
	check(t, "shf.l.clamp.b32 $0, $1, $2, $3;", ptx.B32, three, func(x []uint64) uint64 {
		return wrap(new(big.Int).Rsh(new(big.Int).Lsh(concat(x), uint(min(x[2], 32))), 32), 32)
	})
	check(t, "shf.r.clamp.b32 $0, $1, $2, $3;", ptx.B32, three, func(x []uint64) uint64 {
		return wrap(new(big.Int).Rsh(concat(x), uint(min(x[2], 32))), 32)
	})
	check(t, "prmt.b32 $0, $1, $2, $3;", ptx.B32, three, func(x []uint64) uint64 {
		var src [8]byte
		binary.LittleEndian.PutUint64(src[:], x[1]<<32|x[0])
		var dst [4]byte
		for i := range dst {
			k := x[2] >> (4 * i) & 15
			dst[i] = src[k&7]
			if k >= 8 {
				dst[i] = byte(int8(src[k&7]) >> 7)
			}
		}
		return uint64(binary.LittleEndian.Uint32(dst[:]))
	})
	// the modes of prmt, from the table in the ISA: the sources of bytes 3, 2, 1, 0
	for mode, table := range map[string][4]uint64{
		"f4e": {0x3210, 0x4321, 0x5432, 0x6543}, "b4e": {0x5670, 0x6701, 0x7012, 0x0123},
		"rc8": {0x0000, 0x1111, 0x2222, 0x3333},
		"ecl": {0x3210, 0x3211, 0x3222, 0x3333}, "ecr": {0x0000, 0x1110, 0x2210, 0x3210},
		"rc16": {0x1010, 0x1010, 0x3232, 0x3232},
	} {
		check(t, fmt.Sprintf("prmt.b32.%s $0, $1, $2, $3;", mode), ptx.B32, three, func(x []uint64) uint64 {
			var r uint64
			for i := range 4 {
				k := table[x[2]&3] >> (4 * i) & 15
				r |= (x[1]<<32 | x[0]) >> (8 * k) & 255 << (8 * i)
			}
			return r
		})
	}
	check(t, "mov.b64 $0, {$1, $2};", ptx.B64, []ptx.Type{ptx.B32, ptx.B32},
		func(x []uint64) uint64 { return x[0] | x[1]<<32 })
	check(t, "{ .reg .b32 %lo; mov.b64 {%lo, $0}, $1; }", ptx.B32, []ptx.Type{ptx.B64}, func(x []uint64) uint64 {
		return x[0] >> 32
	})
	check(t, "{ .reg .b16 %k; mov.b32 {$0, _}, $1; }", ptx.B16, []ptx.Type{ptx.B32}, func(x []uint64) uint64 {
		return x[0] & 0xffff
	})
	check(t, "and.pred $0, $1, !$2;", ptx.Pred, []ptx.Type{ptx.Pred, ptx.Pred},
		func(x []uint64) uint64 { return x[0] &^ x[1] })
	check(t, "xor.pred $0, $1, $2;", ptx.Pred, []ptx.Type{ptx.Pred, ptx.Pred},
		func(x []uint64) uint64 { return x[0] ^ x[1] })
	check(t, "or.pred $0, $1, $2;", ptx.Pred, []ptx.Type{ptx.Pred, ptx.Pred},
		func(x []uint64) uint64 { return x[0] | x[1] })
	check(t, "not.pred $0, $1;", ptx.Pred, []ptx.Type{ptx.Pred}, func(x []uint64) uint64 { return 1 - x[0] })
	check(t, "mov.pred $0, $1;", ptx.Pred, []ptx.Type{ptx.Pred}, func(x []uint64) uint64 { return x[0] })
}
