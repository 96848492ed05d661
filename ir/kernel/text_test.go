package kernel

import (
	"errors"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/tests/claims"
)

// good holds every construct of the text form, as Print writes it.
const good = `kernels "every construct"[M, N]

site 0 "divide_by_zero" at "f.heal":3:5 op "div" text "let x = a / b" called at "g.heal":7:1 text "f.g(1)" called at "h.heal":9:20 text "g.h(%)"
site 1 "recursion" at "":0:0 op "call" text "\"quoted\""

func @fact(%0: i32, %1: f64) -> (i32, f64) site 1 {
  %2: i32 = const 1
  %3: bool = le %0, %2
  %4: i32, %5: f64 = if %3 {
    yield %2, %1
  } else {
    %6: i32 = sub %0, %2
    %7: i32, %8: f64 = call @fact %6, %1
    %9: i32 = mul %0, %7
    yield %9, %8
  }
  return %4, %5
}

func @"odd name"(%0: bool) -> () {
  return
}

kernel @rows(in x: f32[M, N], out y: f32[M]) over %0 in 0..M {
  note "reduce_sum %2"
  note "sqrt"
  %1: f32 = reduce sum lanes %2 in 0..N {
    %3: f32 = load x[N*%0 + %2]
    %4: f32 = mul %3, %3
    yield %4
  }
  %5: f32 = sqrt %1
  store y[%0], %5
}

kernel @parts(in x: f64[M*N], out y: f64[ceildiv(M*N, 4096)]) over %0 in 0..ceildiv(M*N, 4096) {
  %1: f64 = reduce prod lanes %2 in 0..M, %3 in 0..N chunk %0 {
    %4: f64 = load x[N*%2 + %3]
    yield %4
  }
  store y[%0], %1
}

kernel @all(in a.1: i64[M+1, 2] strides [3, -1], in s: f32[], out o: i64[4, N], out p: bool[]) {
  %0: i64 = dim M*N-3
  %1: i64 = const 0
  %2: f32 = const nan
  %3: f32 = load s[0]
  parallel %4 in 0..4 {
    %5: i64, %6: f32 = loop %7 in 1..N carry %8: i64 = %1, %9: f32 = %2 {
      %10: i64 = load a.1[3*%7 + -1*%4 + (M+1)*%8 + (M-1)]
      %11: i64 = add %8, %10
      %12: bool = ne %11, %1
      check divide_by_zero %12 site 0
      check index %12, %11, %0 site 1
      if %12 {
        store o[N*%4 + %7], %11
      } else {
      }
      next %11, %9
    }
    loop %13 in 0..N {
      store o[%13 + 6], %5
    }
  }
  %14: i64 = reduce argmax any %15 in 0..N {
    %16: i64 = load a.1[%15 + 7]
    yield %16
  }
  %17: bool = lt %14, %0
  store p[0], %17
}

kernel @collatz(in x: i64[], in n: i64[], out y: i64[], out z: i64[]) {
  %0: i64 = load x[0]
  %1: i64 = load n[0]
  %2: i64 = const 1
  %3: i64 = iterate %4 upto %1 carry %5: i64 = %0 {
    %6: i64 = add %5, %4
    %7: bool = eq %6, %2
    next %6
    until %7
  }
  iterate %8 upto %3 {
    store y[0], %8
    %9: bool = eq %8, %2
    until %9
  }
  iterate %10 upto %1 {
    store z[0], %10
  }
}

kernel @count(in x: i64[N], work y: i64[M]) {
  loop %0 in 0..N {
    %1: i64 = load x[%0]
    %2: i64 = load y[%1]
    %3: i64 = add %2, %1
    store y[%1], %3
  }
}

kernel @bump(in x: f32[N], inplace y: f32[N]) over %0 in 0..N {
  %1: f32 = load y[%0]
  %2: f32 = load x[0]
  %3: f32 = add %1, %2
  store y[%0], %3
}

kernel @stages(in w: i64[8, 64], in p: i64[8], work x: i64[8, 64], work t: i64[8, 32]) over %0 in 0..8 {
  %1: i64 = load p[%0]
  %2: bool = transform 64 to x[64*%0] of w[64*%0] by w[64*%0] with t[32*%0] modulo %1
  %3: bool = transform inverse 64 to x[64*%0] of x[64*%0] times w[0] by w[64*%0] with t[32*%0] modulo %1 scale %1
}

kernel @sorted(in x: f32[8, N], work y: f32[8, N], work t: u32[8, N]) over %0 in 0..8 {
  sort N to y[N*%0] of x[N*%0] with t[N*%0]
  sort 5 to y[N*%0] of y[N*%0] with t[N*%0]
  %1: i64 = dim N
  sort N to y[N*%0] of y[N*%0] with t[N*%0] ranks %0 to %1
  sort N to y[N*%0] of y[N*%0] with t[N*%0] ranks %0 to %0 and %0 to %1
}

kernel @places(in x: u64[8, N], work y: u64[8, N], work t: u64[8, N]) over %0 in 0..8 {
  sort positions N to y[N*%0] of x[N*%0] with t[N*%0]
}

kernel @product(in x: f32[8, N], in y: f32[N, M], out z: f32[8, M]) over %0 in 0..8, %1 in 0..M {
  contract %7 by %8 rows %0 columns %1 along %4
  note "matmul"
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..N carry %5: f32 = %2 {
    %6: f32 = load x[N*%0 + %4]
    %7: f32 = neg %6
    %8: f32 = load y[M*%4 + %1]
    %9: f32 = fma %8, %7, %5
    next %9
  }
  store z[M*%0 + %1], %3
}

kernel @scheduled(in x: f32[8, 100], in c: f32[100], out stream y: f32[8, 100]) over %0 in 0..8 {
  note "add"
  parallel %1 in 0..100 {
    %2: f32 = load x[100*%0 + %1]
    %3: f32 = load c[%1]
    %4: f32 = add %2, %3
    %5: bool = lt %2, %3
    %6: f32 = if %5 {
      yield %2
    } else {
      yield %4
    }
    store y[100*%0 + %1], %6
  }
  schedule {
    unswitch %5 {
      then {
        jam %0 rows 4 {
          vector %1 width 32 {
            stream y
            prefetch x ahead 4096 level 1
            mask
          }
        }
        split %1 at 3 at 50 {
          part {
            vector %1 width 16
          }
          part
          part
        }
      }
      else
    }
    threads align 16
  }
}
`

func parseGood(t testing.TB, text string) *Module {
	t.Helper()
	m, list := Parse(diag.NewFile("test.kernels", text))
	if list.HasErrors() {
		t.Fatal(list.Error())
	}
	return m
}

func TestPrintParse(t *testing.T) {
	m := parseGood(t, good)
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != good {
		t.Errorf("printing what was parsed gives other text:\n%s", got)
	}
}

func TestParseErrors(t *testing.T) {
	k := func(body string) string {
		return "kernels \"m\"\nkernel @k(in x: f32[4], out y: f32[4]) {\n" + body + "\n}\n"
	}
	for _, c := range []struct{ text, want string }{
		{"", "expected `kernels`"},
		{"kernels \"m\" site 1", "expected site 0"},
		{"kernels \"m\" frob", "expected `site`, `func` or `kernel`"},
		{k("store y[0], %1"), "%1 is not defined here"},
		{k("%1: f32 = load z[0]"), `there is no buffer "z"`},
		{k("%1: f32 = frob %1"), `there is no statement "frob"`},
		{k("%1: f32 = const 1.0\n%1: f32 = const 2.0"), "%1 is already defined"},
		{k("store y[%0 + ], %1"), "%0 is not defined here"},
		{k("%1: f32, %2: f32 = load x[0]"), "load has 1 results"},
		{k("%1: f32 = reduce sum sideways %2 in 0..4 {"), "there is no reduction"},
		{k("%1: f32 = reduce sum lanes %2 in 0..4 {\n}"), "yields one value"},
		{k("%1: i64 = loop %2 in 0..4 { next %2 }\nstore y[%2], %1"), "%2 is not defined here"},
		{k("check frob %1 site 0"), `there is no check "frob"`},
		{k("yield %1"), `there is no statement "yield"`},
		{k("schedule { frob %1 }"), `there is no directive "frob"`},
		{k("schedule { vector %1 width 4 }"), "%1 is not defined in the kernel"},
		{k("schedule { stream z }"), `there is no buffer "z"`},
		{k("contract %1 by %2 columns %3 along %4"), "%1 is not defined in the kernel"},
		{k("contract %1 by %2 along %4"), "expected `columns`"},
		{k("schedule { mask }\n%1: f32 = load x[0]"), `expected "}"`},
	} {
		_, list := Parse(diag.NewFile("test.kernels", c.text))
		if !list.HasErrors() || !strings.Contains(list.Error(), c.want) {
			t.Errorf("no %q in the errors of:\n%s\n%s", c.want, c.text, list.Error())
		}
	}
}

// Every property that Verify lists has a kernel that breaks it, and the error is shown under its line.
func TestVerify(t *testing.T) {
	const head = "kernels \"m\"[N]\nsite 0 \"index\" at \"\":0:0 op \"\" text \"\"\nfunc @g(%0: i32) -> (f32) {\n" +
		"  %1: f32 = const 1.0\n  return %1\n}\n"
	k := func(body string) string {
		return head + "kernel @k(in x: f32[4], in n: i32[4], out y: f32[4]) over %0 in 0..N {\n" + body + "\n}\n"
	}
	place := func(body string) string {
		return "kernels \"m\"\nkernel @k(inplace x: f32[4]) over %0 in 0..4 {\n" + body + "\n}\n"
	}
	stages := func(body string) string {
		return "kernels \"m\"\n" +
			"kernel @k(in w: i64[64], in n: i32[64], work x: i64[64], work t: i64[32]) over %0 in 1..4 {\n" + body +
			"\n}\n"
	}
	sorts := func(body string) string {
		return "kernels \"m\"\nkernel @k(in x: f32[4], out o: f32[4], work y: f32[4], work t: u32[4], " +
			"work d: f64[4], work h: f16[4]) {\n" + body + "\n}\n"
	}
	product := func(contract, begin, first, step string) string {
		return "kernels \"m\"\n" +
			"kernel @k(in x: f32[4, 5], in y: f32[5, 6], out z: f32[4, 6]) over %0 in 0..4, %1 in 0..6 {\n" + contract +
			"%2: f32 = const " + first + "\n%3: f32 = loop %4 in " + begin + "..5 carry %5: f32 = %2 {\n" +
			"%6: f32 = load x[5*%0 + %4]\n%7: f32 = load y[6*%4 + %1]\n" + step +
			"next %8\n}\nstore z[6*%0 + %1], %3\n}\n"
	}
	const contract, fma = "contract %6 by %7 rows %0 columns %1 along %4\n", "%8: f32 = fma %6, %7, %5\n"
	if err := Verify(parseGood(t, product(contract, "0", "0.0", fma))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"columns elsewhere", product("contract %6 by %7 rows %1 columns %0 along %4\n", "0", "0.0", fma),
			"the columns of a contract are the last axis"},
		{"rows elsewhere", product("contract %6 by %7 rows %1 columns %1 along %4\n", "0", "0.0", fma),
			"the rows of a contract are the axis before"},
		{"a contract along no loop", product("contract %6 by %7 rows %0 columns %1 along %0\n", "0", "0.0", fma),
			"goes along a loop of the kernel"},
		{"late chains", product(contract, "1", "0.0", fma), "begin at 0"},
		{"chains from 1", product(contract, "0", "1.0", fma), "start at the constant 0"},
		{"chains from an index", strings.Replace(product(contract, "0", "0.0", fma), "const 0.0", "cast %0", 1),
			"start at the constant 0"},
		{"no multiply-add", product(contract, "0", "0.0", "%8: f32 = add %6, %5\n"), "ends with a multiply-add"},
		{"another multiply-add", product(contract, "0", "0.0", "%9: f32 = neg %6\n%8: f32 = fma %9, %7, %5\n"),
			"are what the multiply-add multiplies"},
		{"factors the other way round", product("contract %7 by %6 rows %0 columns %1 along %4\n", "0", "0.0", fma),
			"the first factor of a contract is the same for all columns"},
		{"a loop in the chains", product(contract, "0", "0.0", "loop %10 in 0..4 {\n}\n"+fma),
			"compute scalars alone"},
		{"a check of each element",
			strings.NewReplacer("%2: f32", "%9: bool = eq %0, %1\ncheck index %9, %0, %1 site 0\n%2: f32", "\"m\"\n",
				"\"m\" site 0 \"index\" at \"\":0:0 op \"\" text \"\"\n").Replace(product(contract, "0", "0.0", fma)),
			"a check before the chains"},
		{"functions twice", head + "func @g() -> () {\n return\n}", "function @g is defined twice"},
		{"kernels twice", k("") + "kernel @k() {\n}", "kernel @k is defined twice"},
		{"buffer twice", "kernels \"m\"\nkernel @k(in x: f32[], in x: f32[]) {\n}", "is there twice"},
		{"strides", "kernels \"m\"\nkernel @k(in x: f32[2] strides [1, 2]) {\n}", "2 strides for 1 axes"},
		{"shape parameter", "kernels \"m\"\nkernel @k(in x: f32[K]) {\n}", "K is no shape parameter"},
		{"operand types", k("%1: f32 = load x[%0]\n%2: i32 = load n[%0]\n%3: f32 = add %1, %2"), "operand"},
		{"result type", k("%1: f32 = load x[%0]\n%2: f64 = neg %1"), "neg"},
		{"loaded type", k("%1: f64 = load x[%0]"), "the result is f64, not f32"},
		{"dim type", k("%1: i32 = dim N"), "the result is i32, not i64"},
		{"access variable", k("%1: i32 = load n[%0]\n%2: f32 = load x[%1]"), "the variable of an access is i32"},
		{"stored type", k("%1: i32 = load n[%0]\nstore y[%0], %1"), "the stored value is i32, not f32"},
		{"in place, read elsewhere", place("%1: f32 = load x[0]\nstore x[%0], %1"),
			"written elsewhere than it is read"},
		{"in place, read twice", place("%1: f32 = load x[%0]\n%2: f32 = load x[0]\nstore x[%0], %1"),
			"read at two places"},
		{"in place, read late", place("%1: f32 = const 1.0\nstore x[%0], %1\n%2: f32 = load x[%0]"),
			"read after it was written"},
		{"in place, written twice", place("%1: f32 = const 1.0\nstore x[%0], %1\nstore x[%0], %1"), "written twice"},
		{"transform of an odd size", stages("%1: bool = transform 65 to x[0] of x[0] by w[0] with t[0] modulo %0"),
			"there is no transform of 65 elements"},
		{"result of a transform", stages("%1: i64 = transform 64 to x[0] of x[0] by w[0] with t[0] modulo %0"),
			"the result is i64, not bool"},
		{"transform of an input", stages("%1: bool = transform 64 to w[0] of w[0] by x[0] with t[0] modulo %0"),
			"buffer w is no work memory"},
		{"transform of another type", stages("%1: bool = transform 64 to x[0] of x[0] by n[0] with t[0] modulo %0"),
			"buffer n is i32, not i64"},
		{"transform of products of another type",
			stages("%1: bool = transform 64 to x[0] of x[0] times n[0] by w[0] with t[0] modulo %0"),
			"buffer n is i32, not i64"},
		{"transform modulo a bool",
			stages("%1: bool = eq %0, %0\n%2: bool = transform 64 to x[0] of x[0] by w[0] with t[0] modulo %1"),
			"the modulus is bool, not i64"},
		{"sort into an input", sorts("sort 4 to x[0] of x[0] with t[0]"), "buffer x is no work memory"},
		{"sort of an output", sorts("sort 4 to y[0] of o[0] with t[0]"), "output o is read"},
		{"sort of narrow elements", sorts("sort 4 to h[0] of h[0] with h[0]"), "elements of f16 are too narrow"},
		{"sort into another type", sorts("sort 4 to y[0] of t[0] with t[0]"), "y is f32, t is u32 and t is u32"},
		{"sort with wider memory", sorts("sort 4 to y[0] of x[0] with d[0]"), "y is f32, x is f32 and d is f64"},
		{"ranks that are no i64", sorts("%0: f32 = const 1.0\nsort 4 to y[0] of x[0] with t[0] ranks %0 to %0"),
			"a rank is f32, not i64"},
		{"positions of floats", sorts("sort positions 4 to y[0] of x[0] with t[0]"),
			"positions of x go to y, which is f32"},
		{"output read", k("%1: f32 = load y[%0]"), "output y is read"},
		{"input written", k("%1: f32 = load x[%0]\nstore x[%0], %1"), "input x is written"},
		{"carried type", k("%1: f32 = load x[0]\n%2: i64 = loop %3 in 0..4 carry %4: i64 = %1 {\nnext %4\n}"),
			"the result is i64, not f32"},
		{"next missing", k("%1: f32 = load x[0]\n%2: f32 = loop %3 in 0..4 carry %4: f32 = %1 {\n}"),
			"the next values are []"},
		{"results missing", k("%1: f32 = load x[0]\nloop %3 in 0..4 carry %4: f32 = %1 {\nnext %4\n}"),
			"0 values are defined, of 1"},
		{"steps that are no i64", k("%1: f32 = load x[0]\niterate %2 upto %1 {\n}"), "the count is f32, not i64"},
		{"a step that is stored", k("%1: i64 = const 3\niterate %2 upto %1 {\nstore y[0], %2\n}"),
			"the stored value is i64, not f32"},
		{"iterated type",
			k("%1: i64 = const 3\n%2: f32 = load x[0]\n%3: f32 = iterate %4 upto %1 carry %5: f32 = %2 {\nnext %4\n}"),
			"the next values are [i64]"},
		{"end that is no bool", k("%1: i64 = const 3\niterate %2 upto %1 {\nuntil %2\n}"),
			"what ends the loop is i64, not bool"},
		{"parallel state", k("%1: f32 = load x[0]\n%2: f32 = parallel %3 in 0..4 carry %4: f32 = %1 {\nnext %4\n}"),
			"a parallel loop carries values"},
		{"condition", k("%1: f32 = load x[0]\nif %1 {\n} else {\n}"), "the condition is f32, not bool"},
		{"arms", k("%1: bool = const true\n%2: f32 = load x[0]\n%3: f32 = if %1 {\nyield %2\n} else {\n}"),
			"one arm gives [f32], the other []"},
		{"order", k("%1: f32 = reduce sum any %2 in 0..4 {\n%3: f32 = load x[%2]\nyield %3\n}"),
			"the order any does not fit a sum of f32"},
		{"order of integers", k("%1: i32 = reduce sum lanes %2 in 0..4 {\n%3: i32 = load n[%2]\nyield %3\n}"),
			"does not fit"},
		{"reduction type", k("%1: f32 = reduce and any %2 in 0..4 {\n%3: f32 = load x[%2]\nyield %3\n}"),
			"there is no reduction and of f32"},
		{"position type", k("%1: f32 = reduce argmax any %2 in 0..4 {\n%3: f32 = load x[%2]\nyield %3\n}"),
			"the result is f32, not i64"},
		{"chunk type",
			k(
				"%4: f32 = load x[0]\n%1: f32 = reduce sum lanes %2 in 0..4 chunk %4 {\n%3: f32 = load x[%2]\n" +
					"yield %3\n}"), "the chunk is f32"},
		{"call arguments", k("%1: f32 = call @g %0"), "@g takes [i32], not [i64]"},
		{"callee", k("%1: f32 = call @h"), "there is no function @h"},
		{"function results", "kernels \"m\"\nfunc @g(%0: i32) -> (f32) {\n  return %0\n}", "returns [i32], not [f32]"},
		{"site", k("%1: bool = const true\ncheck index %1, %0, %0 site 1"), "there is no site 1"},
		{"vectors along no loop", k("%1: i64 = dim N\nschedule { vector %1 width 8 }"), "this is the variable of none"},
		{"vectors without a width", k("schedule { vector %0 }"), "vector needs width, 4 to 128 iterations"},
		{"vectors too wide", k("schedule { vector %0 width 2048 }"), "width is 2048, and has to be from 4 to 128"},
		{"a width twice", k("schedule { vector %0 width 8 width 16 }"), "width 16 stands behind width 8"},
		{"cuts in no order", k("schedule { split %0 at 8 at 3 }"), "at 3 stands behind at 8"},
		{"no power of two", k("schedule { interleave %0 width 12 }"), "width is 12, and has to be a power of two"},
		{"unswitched number", k("schedule { unswitch %0 }"), "unswitch speaks of a condition, a bool"},
		{"inside of what has no inside", k("schedule { mask { mask } }"), "nothing stands inside of mask"},
		{"negative begin", "kernels \"m\"\nkernel @k() over %0 in -1..4 {\n}", "begins at -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Verify(parseGood(t, c.text))
			var v *ir.VerifyError
			if !errors.As(err, &v) || !strings.Contains(v.Text, "// ^ error: ") || !strings.Contains(v.Text, c.want) {
				t.Errorf("no %q in: %v", c.want, err)
			}
		})
	}
}

// What the text form cannot express is found as well.
func TestVerifyBuilt(t *testing.T) {
	lit := func(id Ref) *Let {
		return &Let{ID: id, In: scalar.Instr{Op: scalar.Const, Type: types.I64,
			Args: [3]Ref{scalar.None, scalar.None, scalar.None}}}
	}
	build := func(stmts ...Stmt) *Module {
		return &Module{Name: "m", Kernels: []*Kernel{{Name: "k", Types: []types.DType{types.I64, types.I64},
			Body: &Block{Stmts: stmts}}}}
	}
	inner := &Block{Stmts: []Stmt{lit(0)}}
	cond := &Let{ID: 0, In: scalar.Instr{Op: scalar.Eq, Type: types.Bool, Args: [3]Ref{1, 1, scalar.None}}}
	for name, m := range map[string]*Module{
		"defined twice":       build(lit(0), lit(0)),
		"there is no value 7": build(lit(7)),
		"not defined here": build(&Loop{Axis: Axis{Var: 1, Extent: abi.Extent{Dim: types.Lit(2)}}, Body: inner},
			&Let{ID: 1, In: scalar.Instr{Op: scalar.Neg, Type: types.I64, Args: [3]Ref{0, scalar.None, scalar.None}}}),
		"there is no buffer 0": build(lit(0), &Store{Val: 0}),
		"no parameters that are": build(&Let{ID: 0, In: scalar.Instr{Op: scalar.Param, Type: types.I64,
			Args: [3]Ref{scalar.None, scalar.None, scalar.None}}}),
		"the result is i64, not": build(lit(1), cond),
		"at least one axis": build(lit(0), &Reduce{ID: 1, Kind: ir.ReduceMax, Type: types.I64, Body: &Block{},
			Val: 0, Chunk: scalar.None}),
	} {
		if err := Verify(m); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("no %q in: %v", name, err)
		}
	}
}

func TestPrintPlan(t *testing.T) {
	n := types.Param("N")
	ext := []abi.Extent{{Dim: n}}
	view := abi.View{Buffer: 2, Shape: []types.Dim{n}, Strides: []types.Dim{types.Lit(1)}}
	m := &Module{Name: "m", Plan: &abi.Program{Name: "f", Funcs: []*abi.Function{{
		Name: "f",
		Buffers: []abi.Buffer{
			{Kind: abi.Input, DType: types.F32, Shape: ext, Strides: []types.Dim{types.Lit(2)}},
			{Kind: abi.Temp, DType: types.F32, Shape: ext, First: 0, Last: 1},
			{Kind: abi.Output, DType: types.F32, Shape: ext},
			{Kind: abi.Data, DType: types.String, Str: "out.npy"},
		},
		Params: []int{0},
		Steps: []abi.Step{
			{Launch: &abi.Launch{Kernel: "k0", Args: []int{0, 1}, Outer: abi.Extent{Dim: n, Div: 256}, Work: 3}},
			{If: &abi.If{Cond: 1, Then: []abi.Step{{Copy: &abi.Copy{From: view, To: 2}}},
				Else: []abi.Step{{Fail: &abi.Fail{Where: types.Shape{types.Param("N")}}}}}},
			{Host: &abi.HostCall{Name: "save_npy", Args: []abi.View{view},
				Attrs: map[string]string{"b": "2", "a": "1"}}},
			{Call: &abi.Call{Func: 0, Args: []abi.View{view}, Out: []int{2}}},
		},
		Results: []abi.View{view},
	}}}}
	text := m.String()
	for _, want := range []string{
		"// plan \"f\"\n", "//   buffer 0: input f32[N] strides [2]\n", "//   buffer 1: temp f32[N], alive 0..1\n",
		"//   buffer 3: data string \"out.npy\"\n", "//   0: launch @k0(0, 1) over ceildiv(N, 256)",
		"//   1: if 1\n//     2: copy 2[N]:[1] -> 2\n",
		"//   else\n//     3: fail where [N], site 0\n", "//   4: host save_npy(2[N]:[1]) a=\"1\" b=\"2\"\n",
		"//   5: call function 0(2[N]:[1]) -> 2\n", "//   return 2[N]:[1]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if got := parseGood(t, text); len(got.Kernels) != 0 {
		t.Error("the plan is read as code")
	}
}

// FuzzParse: the parser never panics, and a module that parses and verifies prints and parses as itself.
func FuzzParse(f *testing.F) {
	f.Add(good)
	for _, k := range strings.Split(good, "\n\n")[1:] {
		f.Add("kernels \"m\"[M, N]\n" + k)
	}
	f.Fuzz(func(t *testing.T, text string) {
		enough := claims.Within(t, len(text), 16<<20, 1000)
		m, list := Parse(diag.NewFile("fuzz", text))
		enough()
		if list.HasErrors() || Verify(m) != nil {
			return
		}
		once := m.String()
		again := parseGood(t, once)
		if err := Verify(again); err != nil {
			t.Fatalf("%v\nfrom:\n%s", err, once)
		}
		if twice := again.String(); twice != once {
			t.Fatalf("printed:\n%s\nand again:\n%s", once, twice)
		}
	})
}
