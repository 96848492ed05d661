package driver

import (
	"bytes"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/engine"
)

// TestDot: the graph has a box for each kernel and names the buffers that it is connected to.
func TestDot(t *testing.T) {
	source := "fn f[N](a: f32[N], c: bool) -> f32[N] = if c { a + 1.0 } else { a * 2.0 }"
	m, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Dot(&out, km); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{`digraph "f" {`, "f0_b0 -> f0_s", `label="result 0"`, `input\lf32[N]`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the graph:\n%s", want, text)
		}
	}
	if strings.Count(text, "{") != strings.Count(text, "}") {
		t.Errorf("braces do not pair:\n%s", text)
	}
	if got := quoteDot("a \"b\"\n\\"); got != `"a \"b\"\l\\"` {
		t.Errorf("quoted: %s", got)
	}
}
