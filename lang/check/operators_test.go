package check

import (
	"testing"

	"healc/lang/diag"
	"healc/lang/parser"
)

// TestConversionsOfOperands: operands of two types are answered with a conversion to a type that the function takes.
func TestConversionsOfOperands(t *testing.T) {
	for source, want := range map[string]string{
		"fn f(x: f32, y: i64) -> i64 = mod(x, y)":       "write `x as i64`",
		"fn f(x: i64, y: f64) -> i64 = mod(x, y)":       "write `y as i64`",
		"fn f(x: i64, y: i32) -> i64 = mod(x, y)":       "write `y as i64`",
		"fn f(x: i16, y: i32) -> i32 = modneg(x, y)":    "write `x as i32`",
		"fn f(x: f32, y: f64) -> i64 = modneg(x, y)":    "",
		"fn f(x: f64, y: i32) -> f64 = atan2(x, y)":     "write `y as f64`",
		"fn f(x: f32, y: u8) -> u8 = shl(x, y)":         "write `x as u8`",
		"fn f(x: f32[2], y: i32[2]) -> f32[2] = x .+ y": "write `y as f32`",
	} {
		file, list := parser.Parse(diag.NewFile("test.heal", source))
		if !list.HasErrors() {
			_, list = Check(file)
		}
		if len(list.Items) != 1 || list.Items[0].Code != diag.CodeOperands || list.Items[0].Help != want {
			t.Errorf("%s:\n%v\nwant the help %q", source, list, want)
		}
	}
}
