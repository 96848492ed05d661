package lsp_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkKey is a letter that is typed in a file of so many lines, and the answer to what is pointed at then.
func BenchmarkKey(b *testing.B) {
	for _, lines := range []int{1000, 10000} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			var text strings.Builder
			for i := range lines / 10 {
				fmt.Fprintf(&text, `# Number %d.
pub fn f%d[N](x: f32[N, 3], y: f32[3]) -> f32[N] = {
  let scaled = x .* y;
  let shifted = scaled .- sum(scaled, axis = 1, keep = true) ./ 3.0;
  let rows = sum(shifted .* shifted, axis = 1);
  let roots = sqrt(rows .+ 1e-6);
  let most = max/(roots);
  let picked = map(|r| if r > most / 2.0 { r } else { 0.0 }, roots);
  picked ./ (most + 1.0)
}
`, i, i)
			}
			e := start(b, b.TempDir())
			e.open("a.heal", text.String())
			at := strings.Index(text.String(), "scaled = ")
			e.files["a.heal"].marks["here"] = at
			e.do("hover a.heal here")
			for b.Loop() {
				e.change("a.heal", at, at+1, "s")
				if got := e.do("hover a.heal here"); !strings.Contains(got, "f32[N, 3]") {
					b.Fatal(got)
				}
			}
			b.StopTimer()
			e.stop()
		})
	}
}
