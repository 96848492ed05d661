package suite

import (
	"testing"

	"healc/lang/diag"
)

// FuzzDirectives: the head of a test file is read or refused, whatever it is.
func FuzzDirectives(f *testing.F) {
	for _, text := range []string{"# expect exit 1", "# expect stdout \"\\u{41}\"", "# args 'a b' \"\\\"",
		"# backend cpu", "# expect", "#", "# expect error E0203\r\n# x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := expectations(diag.NewFile("f.heal", text))
		if err == nil && x.lines == 0 && (x.exit != 0 || x.stdout != nil || x.args != nil || x.mustNotCompile() ||
			x.runtime != "") {
			t.Errorf("without a directive %+v is expected", x)
		}
	})
}
