package llvm

import (
	"fmt"
	"strings"
	"testing"

	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/lang/diag"
)

// TestRowsTogether has kernels whose rows go side by side: with an inner loop and with two axes, several outputs, in
// place, numbers of rows as scalars, rows past the caches that begin at a line and anywhere; any part of the rows, and
// more of them than a group or fewer.
func TestRowsTogether(t *testing.T) {
	const m, n = 21, 2113
	text := fmt.Sprintf(`kernels "t"
kernel @inner(in x: f32[%[1]d, %[2]d], in a: f32[%[2]d], in c: f32[%[2]d], in b: f32[%[1]d], out y: f32[%[1]d, %[2]d]) over %%0 in 0..%[1]d {
  %%1: f32 = load b[%%0]
  %%2: f32 = cast %%0
  parallel %%3 in 0..%[2]d {
    %%4: f32 = load x[%[2]d*%%0 + %%3]
    %%5: f32 = load a[%%3]
    %%6: f32 = mul %%4, %%5
    %%7: f32 = add %%6, %%1
    %%8: f32 = load c[%%3]
    %%9: f32 = mul %%7, %%8
    %%10: f32 = add %%9, %%2
    store y[%[2]d*%%0 + %%3], %%10
  }
}
kernel @axes(in x: f32[%[1]d, %[2]d], in a: f32[%[2]d], out y: f32[%[1]d, %[2]d], out z: f64[%[1]d, %[2]d]) over %%0 in 0..%[1]d, %%1 in 0..%[2]d {
  %%2: f32 = load x[%[2]d*%%0 + %%1]
  %%3: f32 = load a[%%1]
  %%4: f32 = mul %%2, %%3
  store y[%[2]d*%%0 + %%1], %%4
  %%5: f64 = cast %%4
  store z[%[2]d*%%0 + %%1], %%5
}
kernel @place(in a: f32[%[2]d], inplace y: f32[%[1]d, %[2]d]) over %%0 in 0..%[1]d, %%1 in 0..%[2]d {
  %%2: f32 = load y[%[2]d*%%0 + %%1]
  %%3: f32 = load a[%%1]
  %%4: f32 = add %%2, %%3
  store y[%[2]d*%%0 + %%1], %%4
}
kernel @lines(in x: f32[%[1]d, %[2]d], in a: f32[%[2]d], out stream y: f32[%[1]d, 2112]) over %%0 in 0..%[1]d, %%1 in 0..2112 {
  %%2: f32 = load x[%[2]d*%%0 + %%1]
  %%3: f32 = load a[%%1]
  %%4: f32 = add %%2, %%3
  store y[2112*%%0 + %%1], %%4
}
kernel @anywhere(in x: f32[%[1]d, %[2]d], in a: f32[%[2]d], out stream y: f32[%[1]d, %[2]d]) over %%0 in 0..%[1]d, %%1 in 0..%[2]d {
  %%2: f32 = load x[%[2]d*%%0 + %%1]
  %%3: f32 = load a[%%1]
  %%4: f32 = add %%2, %%3
  store y[%[2]d*%%0 + %%1], %%4
}`, m, n)
	x, a, b, c := noise(m*n), noise(n), noise(m), noise(2 * n)[n:]
	for _, cpu := range levels {
		run := loadFor(t, cpu, text)
		for _, part := range [][2]int64{{0, m}, {0, 8}, {3, 10}, {5, 21}, {20, 21}, {4, 4}} {
			const guard = 16
			width := map[string]int{"lines": n - 1}
			for _, name := range []string{"inner", "axes", "place", "lines", "anywhere"} {
				w := n
				if width[name] > 0 {
					w = width[name]
				}
				for _, offset := range []int{0, 1} {
					y, z := make([]float32, m*w+3*guard), make([]float64, m*w)
					for i := range y {
						y[i] = float32(i % 9)
					}
					out := y[guard+offset:]
					switch name {
					case "inner":
						run(name, nil, part[0], part[1], ptr(x), ptr(a), ptr(c), ptr(b), ptr(out))
					case "axes":
						run(name, nil, part[0], part[1], ptr(x), ptr(a), ptr(out), ptr(z))
					case "place":
						run(name, nil, part[0], part[1], ptr(a), ptr(out))
					default:
						run(name, nil, part[0], part[1], ptr(x), ptr(a), ptr(out))
					}
					for at, got := range y {
						k := at - guard - offset
						want := float32(at % 9)
						if i := k / w; k >= 0 && k < m*w && int64(i) >= part[0] && int64(i) < part[1] {
							j := k % w
							switch name {
							case "inner":
								want = float32(x[i*n+j]*a[j]) + b[i]
								want = float32(want*c[j]) + float32(i)
							case "axes":
								want = x[i*n+j] * a[j]
								if z[k] != float64(want) {
									t.Fatalf("%s, rows %v: z[%d, %d] is %v, want %v", cpu, part, i, j, z[k], want)
								}
							case "place":
								want += a[j]
							default:
								want = x[i*n+j] + a[j]
							}
						}
						if got != want {
							t.Fatalf("%s, %s, rows %v, offset %d: element %d is %v, want %v", cpu, name, part, offset,
								k, got, want)
						}
					}
				}
			}
		}
	}
	km, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	for _, is := range []struct {
		target.Machine
		width, rows int
	}{{target.Machine{}, 64, 8}, {target.Machine{VectorBits: 256, Registers: 16}, 32, 2}} {
		for _, k := range Scheduled(km, is.Machine, nil).Kernels {
			d := kernel.Directives(k.Schedule.Directives).OfKind("jam")
			if jammed := k.Name != "anywhere"; jammed != (d != nil) || jammed && d.Get("rows") != int64(is.rows) {
				t.Errorf("%s, rows %d:\n%s", k.Name, is.rows, strings.Join(k.ScheduleLines(), "\n"))
			}
		}
		ll, err := Generate(km, Options{Machine: is.Machine})
		if err != nil {
			t.Fatal(err)
		}
		stores := map[string]int{}
		for _, k := range km.Kernels {
			body := ll[strings.Index(ll, "@"+k.Name+".body("):]
			body = body[:strings.Index(body, "\n}\n")]
			stores[k.Name] = strings.Count(body, fmt.Sprintf("store <%d x float>", is.width))
		}
		for _, together := range []string{"inner", "place", "lines"} {
			if n := stores[together]; n < is.rows || together == "lines" && n < stores["anywhere"]+is.rows {
				t.Errorf("%s has %d stores of %d elements, %d rows want to go together", together, n, is.width, is.rows)
			}
		}
		if n := stores["anywhere"]; n >= is.rows && is.rows > 2 {
			t.Errorf("anywhere has %d stores of %d elements; its rows go one by one", n, is.width)
		}
	}
}
